"""
A tool that lets the model read back what was shortened, offered and answered by the proxy itself.

The client never sees it: an answer that calls it is answered here, and what the model says then is
passed on. So a stream is held until it is known to be the client's, but only where something of the
history is shortened: else there is nothing to read back. What cannot be answered is `withheld`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sash.errors import SashError
from sash.fitting import Fitted
from sash.server.proxy.frames import Frames, payload
from sash.thread.tools import EXPAND, read_expand
from sash.wire import json_text, wire_named

MOST_ROUNDS = 6
"""How often a model may read back before it has to answer."""
LEAST_CHARS = 2_000
NOT_RUN = "Not run: call it again when you have read what you asked for."


class Call(msgspec.Struct, frozen=True):
    """A call in an answer."""

    id: str
    name: str
    arguments: str


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer, read: what it said, as its wire wants it back, and what it called."""

    said: list[Any]
    """Messages or items."""
    calls: tuple[Call, ...]

    @property
    def expands(self) -> bool:
        """Whether it asks to read something back."""
        return any(call.name == EXPAND.name for call in self.calls)


def offered(body: bytes, wire: str) -> bytes:
    """The body with our tool behind the client's own: always there, so that the head of the prompt stays the same."""
    fields = dict(json_text.fields(body))
    given = fields.get("tools", json_text.ABSENT)
    own = json_text.items(given) if json_text.present(given) else []
    fields["tools"] = msgspec.Raw(json_text.list_of([*own, wire_named(wire).write_tool(EXPAND)]))
    return json_text.object_of(fields)


def withdrawn(body: bytes, wire: str) -> bytes:
    """The body without our tool; the only one stays, for calls of it are told of, and may not be used."""
    fields = dict(json_text.fields(body))
    ours = wire_named(wire).write_tool(EXPAND)
    own = [tool for tool in json_text.items(fields["tools"]) if bytes(tool) != ours]
    if own:
        fields["tools"] = msgspec.Raw(json_text.list_of(own))
    else:
        fields["tool_choice"] = msgspec.Raw(b'{"type":"none"}' if wire == "anthropic" else b'"none"')
    return json_text.object_of(fields)


def read_answer(body: bytes, wire: str, *, streamed: bool) -> Answered | None:
    """What an answer says and calls; None where it cannot be read, which is the client's to deal with."""
    try:
        events = _events(body) if streamed else [msgspec.json.decode(body)]
        match wire:
            case "anthropic":
                return _anthropic(events if streamed else None, events[0])
            case "openai-responses":
                done = [event["response"] for event in events if event.get("type") == "response.completed"]
                return _responses(done[0] if streamed else events[0])
            case _:
                return _chat(events)
    except (msgspec.DecodeError, KeyError, IndexError, TypeError, AttributeError, ValueError):
        return None


def _events(body: bytes) -> list[Any]:
    frames = Frames(longest=len(body) + 1)
    whole = [piece for piece, _ in frames.feed(body)] + [frames.rest()]
    told = [payload(frame)[1] for frame in whole]
    return [msgspec.json.decode(data) for data in told if data and data != b"[DONE]"]


def _chat(events: list[Any]) -> Answered:
    text = ""
    calls: dict[int, dict[str, str]] = {}
    for event in events:
        for choice in event["choices"][:1]:
            part = choice.get("message") or choice.get("delta") or {}
            text += part.get("content") or ""
            for place, called in enumerate(part.get("tool_calls") or ()):
                call = calls.setdefault(called.get("index", place), {"id": "", "name": "", "arguments": ""})
                call["id"] = called.get("id") or call["id"]
                function = called.get("function") or {}
                call["name"] += function.get("name") or ""
                call["arguments"] += function.get("arguments") or ""
    made = tuple(Call(call["id"], call["name"], call["arguments"]) for call in calls.values())
    tools = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in made
    ]
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    return Answered(said=[said | ({"tool_calls": tools} if tools else {})], calls=made)


def _anthropic(events: list[Any] | None, whole: Any) -> Answered:
    blocks: list[dict[str, Any]] = [] if events is not None else whole["content"]
    written: dict[int, str] = {}
    for event in events or ():
        match event.get("type"):
            case "content_block_start":
                blocks.append(dict(event["content_block"]))
            case "content_block_delta":
                delta, block = event["delta"], blocks[event["index"]]
                if delta["type"] == "input_json_delta":
                    written[event["index"]] = written.get(event["index"], "") + delta["partial_json"]
                for name in ("text", "thinking", "signature"):
                    if name in delta:
                        block[name] = block.get(name, "") + delta[name]
    for place, text in written.items():
        blocks[place]["input"] = msgspec.json.decode(text or "{}")
    calls = tuple(
        Call(block["id"], block["name"], msgspec.json.encode(block["input"]).decode())
        for block in blocks
        if block["type"] == "tool_use"
    )
    return Answered(said=[{"role": "assistant", "content": blocks}], calls=calls)


def _responses(whole: Any) -> Answered:
    items = whole["output"]
    calls = tuple(
        Call(item["call_id"], item["name"], item["arguments"]) for item in items if item["type"] == "function_call"
    )
    return Answered(said=items, calls=calls)


def continued(body: bytes, wire: str, answered: Answered, fitted: Fitted) -> bytes:
    """The request that goes on from an answer: what it said, and what it asked to read back."""
    # What is left of the window, at a cautious three characters a token, for all that is read back at once.
    room = 3 * max(0, fitted.fold.limits.room - fitted.tokens.value) // max(1, len(answered.calls))
    results = [(call.id, _read_back(call, fitted, max(LEAST_CHARS, room))) for call in answered.calls]
    match wire:
        case "anthropic":
            blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results]
            told: list[Any] = [{"role": "user", "content": blocks}]
        case "openai-responses":
            told = [{"type": "function_call_output", "call_id": call, "output": text} for call, text in results]
        case _:
            told = [{"role": "tool", "tool_call_id": call, "content": text} for call, text in results]
    fields, field = dict(json_text.fields(body)), wire_named(wire).MESSAGES
    listed = fields[field]
    items = json_text.items(listed) if bytes(listed).lstrip()[:1] == b"[" else [_one(bytes(listed))]
    new = [msgspec.json.encode(one) for one in (*answered.said, *told)]
    fields[field] = msgspec.Raw(json_text.list_of([*items, *new]))
    return json_text.object_of(fields)


def _one(text: bytes) -> bytes:
    return b'{"role":"user","content":' + text + b"}"


def _read_back(call: Call, fitted: Fitted, most: int) -> str:
    if call.name != EXPAND.name:
        return NOT_RUN
    try:
        asked = read_expand(call.arguments or "{}")
        text = fitted.expand(asked.handle, lines=asked.lines, grep=asked.pattern)
    except SashError as error:
        return str(error)
    except msgspec.DecodeError as error:
        return f"These are no arguments of {EXPAND.name}: {error}."
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut at {most:,} of {len(text):,} characters: ask for some lines of it, or use grep]"
