"""What a provider would refuse, judged without any code of ours: plain dicts, each wire's own rules."""

from __future__ import annotations

import json
from typing import Any

Said = dict[str, Any]


def faults(wire: str, body: bytes) -> list[str]:
    """Everything wrong with a request's body; empty for one that its provider takes."""
    try:
        sent = json.loads(body)
    except ValueError as error:
        return [f"no JSON: {error}"]
    if not isinstance(sent, dict):
        return ["no object"]
    match wire:
        case "openai-chat":
            return _chat(sent.get("messages"))
        case "anthropic":
            return _anthropic(sent)
    return _responses(sent.get("input"))


def _chat(messages: Any) -> list[str]:
    if not isinstance(messages, list) or not messages:
        return ["no messages"]
    found: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for place, said in enumerate(messages):
        role = said.get("role")
        if role == "tool":
            if said.get("tool_call_id") not in waiting:
                found.append(f"{place}: result without its call before it")
            else:
                waiting.remove(said["tool_call_id"])
            continue
        if waiting:
            found.append(f"{place}: calls {waiting} have no result")
            waiting = []
        if role not in ("system", "developer", "user", "assistant"):
            found.append(f"{place}: role {role!r}")
        calls = said.get("tool_calls") or []
        if role == "assistant" and not calls and not said.get("content") and not said.get("function_call"):
            found.append(f"{place}: empty")
        if role == "user" and not said.get("content"):
            found.append(f"{place}: the user says nothing")
        for call in calls:
            try:
                json.loads(call["function"]["arguments"] or "{}")
            except ValueError:
                found.append(f"the arguments of {call['id']} are no JSON")
            if call["id"] in seen:
                found.append(f"{place}: id {call['id']!r} twice")
            seen.add(call["id"])
            waiting.append(call["id"])
    if waiting:
        found.append(f"end: calls {waiting} have no result")
    return found


def _anthropic(sent: Said) -> list[str]:
    messages = sent.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["no messages"]
    found: list[str] = []
    seen: set[str] = set()
    if messages[0].get("role") != "user":
        found.append("0: the first is not the user's")
    joined: list[tuple[str, list[Said]]] = []
    for place, said in enumerate(messages):
        if said.get("role") not in ("user", "assistant"):
            found.append(f"{place}: role {said.get('role')!r}")
        content = said.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if not blocks:
            found.append(f"{place}: empty")
        texts = [block["text"] for block in blocks if block.get("type") == "text"]
        # Beside thinking a blank text is a separator, which has to go back as it came.
        thinks = any(block.get("type") in ("thinking", "redacted_thinking") for block in blocks)
        found += [f"{place}: blank text" for text in texts if not text.strip() and not thinks]
        if joined and joined[-1][0] == said.get("role"):
            joined[-1][1].extend(blocks)
        else:
            joined.append((said.get("role", ""), list(blocks)))
    waiting: list[str] = []
    for place, (_, blocks) in enumerate(joined):
        results = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        kinds = [block.get("type") == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            found.append(f"run {place}: a result stands after other blocks")
        if sorted(map(str, results)) != sorted(waiting):
            found.append(f"run {place}: results of {results} where calls {waiting} wait")
        waiting = []
        for block in blocks:
            if block.get("type") == "tool_use":
                if block["id"] in seen:
                    found.append(f"run {place}: id {block['id']!r} twice")
                seen.add(block["id"])
                waiting.append(block["id"])
    if waiting:
        found.append(f"end: calls {waiting} have no result")
    marks = _breakpoints([*(sent.get("tools") or []), sent.get("system"), messages])
    if marks > 4:
        found.append(f"{marks} cache breakpoints")
    return found


def _breakpoints(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_breakpoints, value))
    if isinstance(value, dict):
        return bool(value.get("cache_control")) + sum(map(_breakpoints, value.values()))
    return 0


def _responses(items: Any) -> list[str]:
    if isinstance(items, str):
        return [] if items else ["no input"]
    if not isinstance(items, list) or not items:
        return ["no input"]
    found: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for place, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            if item["call_id"] in seen:
                found.append(f"{place}: call id {item['call_id']!r} twice")
            seen.add(item["call_id"])
            waiting.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in waiting:
                found.append(f"{place}: output without its call")
            else:
                waiting.remove(item["call_id"])
        elif kind == "message" and item.get("role") not in ("system", "developer", "user", "assistant"):
            found.append(f"{place}: role {item.get('role')!r}")
    if waiting:
        found.append(f"end: calls {waiting} have no output")
    return found
