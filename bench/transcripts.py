"""
Real sessions as OpenAI chat messages, for replays: files of pi, Claude Code, SWE-agent, OpenHands and tau-bench.

A compact reader for benchmarks only. It keeps what was said in the main conversation, in the order it was said, and
leaves out thinking, pictures and the tools' own compaction summaries: what is replayed is the whole log.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.histories import Said

DATA = Path(os.environ.get("SASH_DATA", Path(__file__).parents[2] / "shared" / "data"))


def sessions() -> dict[str, list[Said]]:
    """Every session at hand, by file name; empty where there is no data."""
    found = {}
    for tool, reader in (("pi", _pi), ("claude-code", _claude_code)):
        for path in sorted((DATA / tool).glob("*.jsonl")):
            said = _settled(list(reader(path)))
            if said:
                found[path.stem] = said
    return found


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # A torn tail.
        if isinstance(entry, dict):
            yield entry


def _pi(path: Path) -> Iterator[Said]:
    for entry in _branch(list(_entries(path))):
        message = entry.get("message") or {}
        match message.get("role"):
            case "user":
                yield {"role": "user", "content": _words(message.get("content"))}
            case "assistant":
                yield _assistant(message.get("content"))
            case "toolResult":
                words = _words(message.get("content"))
                yield {"role": "tool", "tool_call_id": message["toolCallId"], "content": words}


def _branch(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries from the root to the newest leaf; of a file without ids, all of them."""
    by_id = {entry["id"]: entry for entry in entries if entry.get("id") and entry.get("type") != "session"}
    if not by_id:
        return entries
    path, here = [], entries[-1] if entries[-1].get("id") else None
    while here is not None:
        path.append(here)
        here = by_id.get(here.get("parentId") or "")
    return path[::-1]


def _claude_code(path: Path) -> Iterator[Said]:
    for entry in _entries(path):
        message = entry.get("message")
        if entry.get("isSidechain") or entry.get("isCompactSummary") or not isinstance(message, dict):
            continue
        if entry.get("type") == "assistant":
            yield _assistant(message.get("content")) | {"id": message.get("id")}
        elif entry.get("type") == "user":
            content = message.get("content")
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_result":
                    words = _words(block.get("content"))
                    yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": words}
            words = _words(content)
            if words:
                yield {"role": "user", "content": words}


def _assistant(content: Any) -> Said:
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {
                "name": block["name"],
                "arguments": json.dumps(
                    block.get("input") or block.get("arguments") or {}, separators=(",", ":"), ensure_ascii=False
                ),
            },
        }
        for block in (content if isinstance(content, list) else ())
        if block.get("type") in {"tool_use", "toolCall"}
    ]
    said: Said = {"role": "assistant", "content": _words(content)}
    return said | {"tool_calls": calls} if calls else said


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block.get("text") or "" for block in blocks if block.get("type") == "text")


def _settled(messages: list[Said]) -> list[Said]:
    """
    Steps in the order in which a provider takes them.

    Lines of one answer become one message, each call is followed by its result, and what was left
    without its other half, or without words, is left out: the peers do not repair, and this compares costs.
    """
    joined: list[Said] = []
    by_id: dict[str, Said] = {}
    for said in messages:
        earlier = by_id.get(said.get("id") or "")
        if earlier is not None:
            earlier["content"] = "\n".join(filter(None, (earlier["content"], said["content"])))
            calls = [*earlier.get("tool_calls", ()), *said.get("tool_calls", ())]
            if calls:
                earlier["tool_calls"] = calls
            continue
        if said.get("id"):
            by_id[said["id"]] = said
        joined.append(said)
    results = {said["tool_call_id"]: said for said in joined if said["role"] == "tool"}
    settled: list[Said] = []
    for said in joined:
        said.pop("id", None)
        if said["role"] == "tool":
            continue
        calls = [call for call in said.get("tool_calls", ()) if call["id"] in results]
        said.pop("tool_calls", None)
        if calls:
            said["tool_calls"] = calls
        if not calls and not said["content"]:
            continue
        settled.append(said)
        settled += [results.pop(call["id"]) for call in calls]
    return settled


def agents() -> dict[str, list[Said]]:
    """Sessions of all agents at hand: those above, and SWE-agent's, OpenHands' and tau-bench's."""
    found = sessions()
    for path in sorted((DATA / "swe-agent").glob("*.traj")):
        found[path.stem] = _settled([_plain(said) for said in json.loads(path.read_text())["history"]])
    for path in sorted((DATA / "openhands-llm-logs").glob("*.json")):
        logged = json.loads(path.read_text())
        if isinstance(logged, dict) and isinstance(logged.get("messages"), list):
            found[path.stem] = _settled([_plain(said) for said in logged["messages"]])
    for path in sorted((DATA / "openai").glob("*.json")):
        for number, session in enumerate(json.loads(path.read_text())):
            found[f"{path.stem}-{number}"] = _settled([_plain(said) for said in session["traj"]])
    return found


def _plain(said: dict[str, Any]) -> Said:
    plain: Said = {"role": said["role"], "content": _words(said.get("content"))}
    if said["role"] == "tool":
        plain["tool_call_id"] = said.get("tool_call_id") or said["tool_call_ids"][0]
    if said.get("tool_calls"):
        plain["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {k: call["function"][k] for k in ("name", "arguments")}}
            for call in said["tool_calls"]
        ]
    return plain
