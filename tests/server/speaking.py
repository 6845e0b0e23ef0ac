"""Server-sent events, read by somebody who did not write them; and providers that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from sash.providers import Finished, TextDelta, Usage
from sash.providers.events import Event
from tests.server.serving import Running


class Told(NamedTuple):
    """One event of a stream."""

    name: str
    id: int
    fields: dict[str, Any]


def events_of(lines: Iterable[str]) -> list[Told]:
    """All events of a stream that has ended."""
    found: list[Told] = []
    block: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            block[name] = value.removeprefix(" ")
            continue
        if "data" in block:
            found.append(Told(block["event"], int(block["id"]), msgspec.json.decode(block["data"])))
        block = {}
    return found


def said(server: Running, thread: str, words: str, **more: Any) -> list[Told]:
    """Run a turn to its end and give what it told."""
    headers = more.pop("headers", None)
    body = {"input": words, **more}
    with server.client.stream("POST", f"/v1/threads/{thread}/turns", json=body, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        return events_of(answer.iter_lines())


def text_of(events: Iterable[Told]) -> str:
    """What the model said."""
    return "".join(event.fields["text"] for event in events if event.name == "message_delta")


def last_of(events: list[Told]) -> dict[str, Any]:
    """How it ended."""
    return events[-1].fields


class Scripted:
    """A provider that does what a script says, and remembers what it was asked."""

    name, model, wire = "scripted", "scripted", "openai-chat"

    def __init__(self, script: Callable[[Mapping[str, Any]], AsyncGenerator[Event]]) -> None:
        self._script = script
        self.requests: list[Mapping[str, Any]] = []
        self.closed = 0

    async def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        self.requests.append(request)
        try:
            async for event in self._script(request):
                yield event
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        """Nothing is open."""


def finished(text: str, *, usage: Usage | None = None) -> Finished:
    """The last event of an answer."""
    return Finished(stop="end", message={"role": "assistant", "content": text}, usage=usage, model="scripted")


async def slowly(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
    """Says a word and then nothing, for as long as anybody waits."""
    yield TextDelta("Well, ")
    await asyncio.sleep(3600)
    yield finished("never")


def using(server: Running, provider: Any) -> None:
    """Let this one answer."""
    server.backend.answering._known = dict.fromkeys(["echo", provider.model, ""], provider)
    server.backend.answering.usual = provider
