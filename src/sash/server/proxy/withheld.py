"""
What a client is not shown: calls of the tool that only the proxy has offered.

Where a model may still be answered, its call is answered (`expanding`). Where it may not, because it
has read back often enough or because the answer is streamed while nothing is shortened, the call is
taken out of the answer, and what is left of it goes on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sash.server.proxy.frames import payload
from sash.thread.tools import EXPAND

_NAME = EXPAND.name.encode()
_CALLS = (b"tool_calls", b"tool_use", b"function_call", _NAME)
_STOPS = {"tool_calls": "stop", "tool_use": "end_turn"}
"""What an answer stops for when none of its calls is left."""


class Withheld:
    """Takes our calls out of one answer, frame by frame or whole. Bytes without any pass as they are."""

    def __init__(self, wire: str) -> None:
        self._take = {"anthropic": self._anthropic, "openai-responses": self._responses}.get(wire, self._chat)
        self._ours: set[int] = set()
        """Places of our calls among all calls, blocks or items."""
        self._others = False
        """Whether the client's own tools are called too."""

    def frame(self, frame: bytes) -> bytes:
        """A frame of a stream as it may go on; empty where nothing of it may."""
        if not self._ours and not any(word in frame for word in _CALLS):
            return frame
        name, text = payload(frame)
        left = self._left(text)
        if left == text:
            return frame
        return (f"event: {name}\n" if name else "").encode() + b"data: " + left + b"\n\n" if left else b""

    def body(self, body: bytes) -> bytes:
        """A whole answer as it may go on; empty where nothing is said in it but our calls."""
        left = self._left(body) if _NAME in body else body
        return left if left == body or _says_something(msgspec.json.decode(left)) else b""

    def _left(self, text: bytes) -> bytes:
        try:
            told: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
            as_it_is = msgspec.json.encode(told)
            left = self._take(told)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError, KeyError, TypeError):
            # No answer that this wire knows: the client's to deal with.
            return text
        written = b"" if left is None else msgspec.json.encode(left)
        return text if written == as_it_is else written

    def _place(self, place: int) -> int:
        return place - sum(1 for ours in self._ours if ours < place)

    def _note(self, place: int, name: object) -> None:
        if name == EXPAND.name:
            self._ours.add(place)
        elif name:
            self._others = True

    def _stop(self, holder: dict[str, Any], field: str) -> None:
        if self._ours and not self._others and holder.get(field) in _STOPS:
            holder[field] = _STOPS[holder[field]]

    def _chat(self, told: dict[str, Any]) -> dict[str, Any] | None:
        for choice in told.get("choices") or ():
            part = choice.get("delta") or choice.get("message") or {}
            called = part.get("tool_calls") or []
            kept = []
            for place, call in enumerate(called):
                at = call.get("index", place)
                self._note(at, (call.get("function") or {}).get("name"))
                if at not in self._ours:
                    kept.append(call | ({"index": self._place(at)} if "index" in call else {}))
            if kept:
                part["tool_calls"] = kept
            elif called:
                del part["tool_calls"]
                if not part and not choice.get("finish_reason") and not told.get("usage"):
                    return None
            self._stop(choice, "finish_reason")
        return told

    def _anthropic(self, told: dict[str, Any]) -> dict[str, Any] | None:
        if isinstance(told.get("content"), list):
            for place, block in enumerate(told["content"]):
                self._note(place, block.get("name") if block.get("type") == "tool_use" else "")
            told["content"] = [block for place, block in enumerate(told["content"]) if place not in self._ours]
            self._stop(told, "stop_reason")
        if told.get("type") == "content_block_start" and told["content_block"].get("type") == "tool_use":
            self._note(told["index"], told["content_block"].get("name"))
        if told.get("type") == "message_delta":
            self._stop(told["delta"], "stop_reason")
        return self._moved(told, "index")

    def _responses(self, told: dict[str, Any]) -> dict[str, Any] | None:
        if told.get("type") == "response.output_item.added" and told["item"].get("type") == "function_call":
            self._note(told["output_index"], told["item"].get("name"))
        whole = told.get("response", told)
        if isinstance(whole.get("tools"), list):
            # Responses tells what it was offered.
            whole["tools"] = [tool for tool in whole["tools"] if tool.get("name") != EXPAND.name]
        if isinstance(whole.get("output"), list):
            for place, item in enumerate(whole["output"]):
                self._note(place, item.get("name") if item.get("type") == "function_call" else "")
            whole["output"] = [item for place, item in enumerate(whole["output"]) if place not in self._ours]
        return self._moved(told, "output_index")

    def _moved(self, told: dict[str, Any], field: str) -> dict[str, Any] | None:
        """An event at its new place; None where its place was ours."""
        place = told.get(field)
        if not isinstance(place, int):
            return told
        return None if place in self._ours else told | {field: self._place(place)}


def _says_something(left: dict[str, Any]) -> bool:
    if "choices" in left:
        said = [choice.get("message") or {} for choice in left["choices"]]
        return any(part.get("content") or part.get("tool_calls") for part in said)
    return bool(left.get("content") or left.get("output"))
