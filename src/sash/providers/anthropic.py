"""Anthropic, and everybody who speaks its messages wire."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

import msgspec

from sash.errors import AnswerBroken
from sash.providers.connection import Connection, Endpoint, Told, endpoint_url
from sash.providers.events import Event, Finished, Stop, TextDelta, ThinkingDelta, ToolCalled, Usage, counted
from sash.providers.patience import Patience
from sash.providers.refusals import complaint_in_stream
from sash.providers.sse import ServerEvent, decoded

HOME = "https://api.anthropic.com"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
VERSION = "2023-06-01"
MAX_TOKENS = 8_192
"""The wire wants a number; this one every current model takes."""

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "calls",
    "refusal": "refused",
    "pause_turn": "paused",
}


class Anthropic:
    """The messages wire over HTTP."""

    wire = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        key_variable: str = "",
        patience: Patience | None = None,
        connection: Connection | None = None,
    ) -> None:
        self.name, self.model = "anthropic", model
        url = endpoint_url(base_url or os.environ.get("ANTHROPIC_BASE_URL", "") or HOME)
        at_home = urlsplit(url).hostname == urlsplit(HOME).hostname
        self._connection = connection or Connection(
            Endpoint(
                url=url,
                key_variables=(key_variable,) if key_variable else KEYS,
                key_needed=at_home,
                patience=patience or Patience(),
            )
        )

    def __repr__(self) -> str:
        return f"Anthropic({self.model!r}, base_url={self._connection.endpoint.url!r})"

    async def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        """The answer to a request, as it comes."""
        body = {"model": self.model, "max_tokens": MAX_TOKENS, **request, "stream": True}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        variable, key = self._connection.endpoint.key()
        headers = {"content-type": "application/json", "accept": "text/event-stream", "anthropic-version": VERSION}
        if key:
            bearer = variable == "ANTHROPIC_AUTH_TOKEN"
            headers["authorization" if bearer else "x-api-key"] = f"Bearer {key}" if bearer else key
        async with aclosing(self._connection.ask("/v1/messages", msgspec.json.encode(body), headers, read)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._connection.aclose()


class _Message(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    content: list[dict[str, Any]] = []
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None


class _Piece(msgspec.Struct):
    """Any event of the stream, or a whole answer."""

    type: str = ""
    message: _Message | None = None
    index: int = 0
    content_block: dict[str, Any] | None = None
    delta: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_piece = msgspec.json.Decoder(_Piece)
_message = msgspec.json.Decoder(_Message)


class _Answer:
    """An answer while its pieces come."""

    def __init__(self) -> None:
        self.id = self.model = ""
        self.blocks: dict[int, dict[str, Any]] = {}
        self.words: dict[tuple[int, str], list[str]] = {}
        """Pieces of a block's field, put together when the block is whole."""
        self.stop: str | None = None
        self.usage: dict[str, Any] = {}

    def take(self, piece: _Piece) -> list[Event]:
        match piece.type:
            case "message_start" if piece.message is not None:
                self._begin(piece.message)
            case "content_block_start" if piece.content_block is not None:
                self.blocks[piece.index] = piece.content_block
                return _said(piece.content_block)
            case "content_block_delta" if piece.delta is not None:
                return self._grow(piece.index, piece.delta)
            case "content_block_stop":
                return self._close(piece.index)
            case "message_delta":
                stop = (piece.delta or {}).get("stop_reason")
                self.stop = stop if isinstance(stop, str) else self.stop
                self.usage |= piece.usage or {}
            case "error":
                raise complaint_in_stream(piece.error)
        return []

    def take_whole(self, message: _Message) -> list[Event]:
        """An answer that came in one piece."""
        self._begin(message)
        self.stop = message.stop_reason
        self.blocks = dict(enumerate(message.content))
        events = [event for block in message.content for event in _said(block)]
        return [*events, *(event for index in self.blocks for event in self._close(index))]

    def _begin(self, message: _Message) -> None:
        self.id, self.model = message.id or "", message.model or ""
        self.usage |= message.usage or {}

    def _grow(self, index: int, delta: dict[str, Any]) -> list[Event]:
        block = self.blocks.setdefault(index, {"type": "text", "text": ""})
        for kind, field in _FIELDS.items():
            if delta.get("type") == kind and isinstance(piece := delta.get(field), str):
                self.words.setdefault((index, field), []).append(piece)
                return [TextDelta(piece)] if field == "text" else [ThinkingDelta(piece)] if field == "thinking" else []
        if delta.get("type") == "citations_delta":
            block.setdefault("citations", [])
            if isinstance(block["citations"], list):
                block["citations"].append(delta.get("citation"))
        return []

    def _close(self, index: int) -> list[Event]:
        block = self.blocks.get(index)
        if block is None:
            return []
        for field in ("text", "thinking", "signature"):
            if pieces := self.words.pop((index, field), None):
                before = block.get(field)
                block[field] = (before if isinstance(before, str) else "") + "".join(pieces)
        arguments = "".join(self.words.pop((index, "partial_json"), []))
        if arguments:
            block["input"] = _input(arguments)
        if block.get("type") != "tool_use":
            return []
        written = arguments or msgspec.json.encode(block.get("input", {})).decode()
        return [ToolCalled(str(block.get("id", "")), str(block.get("name", "")), written)]

    def finished(self) -> list[Event]:
        if self.stop is None:
            raise AnswerBroken("the answer ended before the model was done", worth_retrying=True)
        events = [event for index in {index for index, _ in self.words} for event in self._close(index)]
        blocks = [self.blocks[index] for index in sorted(self.blocks)]
        message = {"role": "assistant", "content": blocks}
        stop = _STOPS.get(self.stop, "end")
        return [
            *events,
            Finished(stop=stop, message=message, usage=usage_of(self.usage), model=self.model, id=self.id),
        ]


_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


async def read(told: Told) -> AsyncGenerator[Event]:
    """What the messages wire tells, as events."""
    answer = _Answer()
    async for piece in told:
        if isinstance(piece, ServerEvent):
            taken = decoded(_piece, piece.data)
            events = answer.take(taken)
            if taken.type == "message_stop":
                break
        else:
            complaint = decoded(_piece, piece).error
            if complaint:
                raise complaint_in_stream(complaint)
            events = answer.take_whole(decoded(_message, piece))
        for event in events:
            yield event
    for event in answer.finished():
        yield event


def usage_of(reported: Mapping[str, Any]) -> Usage | None:
    """What Anthropic reports."""
    read_, written = counted(reported.get("input_tokens")), counted(reported.get("output_tokens"))
    cached, cached_now = (
        counted(reported.get(field) or 0) for field in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    if read_ is None or written is None or cached is None or cached_now is None or not read_ + cached + cached_now:
        return None
    return Usage(
        input_tokens=read_,
        output_tokens=written,
        cache_read_tokens=cached,
        cache_write_tokens=cached_now,
        reported=dict(reported),
    )


def _said(block: dict[str, Any]) -> list[Event]:
    """What a block says already when it begins: mostly nothing."""
    text, thought = block.get("text"), block.get("thinking")
    if block.get("type") == "text" and isinstance(text, str) and text:
        return [TextDelta(text)]
    if block.get("type") == "thinking" and isinstance(thought, str) and thought:
        return [ThinkingDelta(thought)]
    return []


def _input(arguments: str) -> Any:
    """The arguments as an object, which is what the wire takes back; what is none is told as it was written."""
    try:
        decoded_ = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        decoded_ = None
    return decoded_ if isinstance(decoded_, dict) else {"INVALID_JSON": arguments}
