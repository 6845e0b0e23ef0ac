"""OpenAI, and everybody who speaks its chat wire: any base URL."""

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

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"

_STOPS: dict[str, Stop] = {
    "stop": "end",
    "eos": "end",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "calls",
    "function_call": "calls",
    "content_filter": "refused",
}


class OpenAI:
    """The chat wire over HTTP."""

    wire = "openai-chat"

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        key_variable: str = KEY,
        patience: Patience | None = None,
        connection: Connection | None = None,
    ) -> None:
        self.name, self.model = "openai", model
        url = endpoint_url(base_url or os.environ.get("OPENAI_BASE_URL", "") or HOME)
        # A server of one's own often wants no key; the maker of the models always does.
        at_home = _host(url) == _host(HOME)
        self._length = "max_completion_tokens" if at_home else "max_tokens"
        self._connection = connection or Connection(
            Endpoint(url=url, key_variables=(key_variable,), key_needed=at_home, patience=patience or Patience())
        )

    def __repr__(self) -> str:
        return f"OpenAI({self.model!r}, base_url={self._connection.endpoint.url!r})"

    async def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        """The answer to a request, as it comes."""
        body = {
            "model": self.model,
            **request,
            **({} if max_tokens is None else {self._length: max_tokens}),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        _, key = self._connection.endpoint.key()
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        asked = self._connection.ask("/chat/completions", msgspec.json.encode(body), headers, read)
        async with aclosing(asked) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._connection.aclose()


def _host(url: str) -> str | None:
    return urlsplit(url).hostname


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    delta: _Delta | None = None
    message: _Delta | None = None
    """Where the answer comes in one piece."""
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_chunk = msgspec.json.Decoder(_Chunk)


class _Call:
    """A call while its pieces come."""

    def __init__(self, number: int) -> None:
        self.id, self.name = f"call_{number}", ""
        self.arguments: list[str] = []


class _Answer:
    """An answer while its pieces come."""

    def __init__(self) -> None:
        self.id = self.model = ""
        self.text: list[str] = []
        self.refused: list[str] = []
        self.calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self.stop: str | None = None
        self.usage: dict[str, Any] | None = None
        self.done = False

    def take(self, chunk: _Chunk) -> list[Event]:
        if chunk.error:
            raise complaint_in_stream(chunk.error)
        self.id, self.model = chunk.id or self.id, chunk.model or self.model
        self.usage = chunk.usage or self.usage
        events: list[Event] = []
        for choice in chunk.choices or ():
            if choice.index:
                # One answer was asked for.
                continue
            self.stop = choice.finish_reason or self.stop
            if delta := choice.delta or choice.message:
                events += self._take(delta)
        return events

    def _take(self, delta: _Delta) -> list[Event]:
        events: list[Event] = []
        if thought := delta.reasoning_content or delta.reasoning:
            events.append(ThinkingDelta(thought))
        if words := _words(delta.content):
            self.text.append(words)
            events.append(TextDelta(words))
        if delta.refusal:
            self.refused.append(delta.refusal)
            events.append(TextDelta(delta.refusal))
        for piece in delta.tool_calls or ():
            self._take_call(piece)
        return events

    def _take_call(self, piece: _CallDelta) -> None:
        call = self._by_index.get(piece.index) if piece.index is not None else None
        if call is None and (piece.index is not None or piece.id or not self.calls):
            # Some number the pieces, some send each call whole and without a number.
            call = _Call(len(self.calls))
            self.calls.append(call)
            if piece.index is not None:
                self._by_index[piece.index] = call
        call = call or self.calls[-1]
        call.id = piece.id or call.id
        if piece.function is not None:
            call.name = call.name or piece.function.name or ""
            given = piece.function.arguments
            if given:
                call.arguments.append(given if isinstance(given, str) else msgspec.json.encode(given).decode())

    def finished(self) -> list[Event]:
        if self.stop is None and not self.done:
            raise AnswerBroken("the answer ended before the model was done", worth_retrying=True)
        called = [ToolCalled(call.id, call.name, "".join(call.arguments) or "{}") for call in self.calls]
        text = "".join(self.text) or None
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if self.refused:
            message["refusal"] = "".join(self.refused)
        if called:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in called
            ]
        stop: Stop = "refused" if self.refused else _STOPS.get(self.stop or "", "end")
        if stop == "end" and called:
            # Not every server says so itself.
            stop = "calls"
        return [
            *called,
            Finished(stop=stop, message=message, usage=usage_of(self.usage), model=self.model, id=self.id),
        ]


async def read(told: Told) -> AsyncGenerator[Event]:
    """What the chat wire tells, as events."""
    answer = _Answer()
    async for piece in told:
        source = piece.data if isinstance(piece, ServerEvent) else piece
        if source.strip() == b"[DONE]":
            answer.done = True
            break
        for event in answer.take(decoded(_chunk, source)):
            yield event
    for event in answer.finished():
        yield event


def usage_of(reported: Mapping[str, Any] | None) -> Usage | None:
    """What OpenAI reports; cached tokens are counted apart, here as with everybody."""
    if reported is None:
        return None
    read_, written = counted(reported.get("prompt_tokens")), counted(reported.get("completion_tokens"))
    if not read_ or written is None:
        return None
    details = reported.get("prompt_tokens_details")
    cached = counted(details.get("cached_tokens")) if isinstance(details, dict) else 0
    cached = min(cached or 0, read_)
    return Usage(input_tokens=read_ - cached, output_tokens=written, cache_read_tokens=cached, reported=dict(reported))


def _words(content: str | list[Any] | None) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content or ""
