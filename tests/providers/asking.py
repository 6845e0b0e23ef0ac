"""Words for asking a provider."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from sash.providers import Anthropic, Event, Finished, OpenAI, Patience, Provider, TextDelta
from sash.providers.connection import Connection, Endpoint

QUICK = Patience(attempts=3, connect_seconds=5.0, idle_seconds=5.0)
HELLO: Mapping[str, Any] = {"messages": [{"role": "user", "content": "hello"}]}


class Waiting:
    """Pauses that are remembered and not made."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)


def openai(
    url: str,
    *,
    patience: Patience = QUICK,
    waiting: Waiting | None = None,
    now: float = 0.0,
    key: str = "SASH_TEST_KEY",
) -> OpenAI:
    endpoint = Endpoint(url=f"{url}/v1", key_variables=(key,), patience=patience)
    return OpenAI(
        "model-1",
        base_url=f"{url}/v1",
        connection=Connection(endpoint, sleep=waiting or Waiting(), now=lambda: now),
    )


def anthropic(url: str, *, patience: Patience = QUICK, waiting: Waiting | None = None) -> Anthropic:
    endpoint = Endpoint(url=url, key_variables=("SASH_TEST_KEY",), patience=patience)
    return Anthropic("model-1", base_url=url, connection=Connection(endpoint, sleep=waiting or Waiting()))


def by_wire(wire: str, url: str, **given: Any) -> Provider:
    return openai(url, **given) if wire == "openai-chat" else anthropic(url, **given)


def events_of(provider: Provider, request: Mapping[str, Any] = HELLO, **given: Any) -> list[Event]:
    """Everything that a provider says."""

    async def gather() -> list[Event]:
        try:
            async with aclosing(provider.complete(request, **given)) as events:
                return [event async for event in events]
        finally:
            await provider.aclose()

    return asyncio.run(gather())


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def end_of(events: list[Event]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished)
    return last
