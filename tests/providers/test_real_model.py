"""A real model over HTTP: both wires, streaming, its real limit, cancellation."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from sash.errors import RequestTooLong
from sash.providers import Anthropic, LocalServer, OpenAI, Provider, TextDelta, answer
from tests.model_server import MODEL
from tests.providers.asking import HELLO, end_of, events_of, text_of


def providers(server: LocalServer) -> list[Provider]:
    return [
        OpenAI(MODEL, base_url=f"{server.url}/v1", key_variable="NO_SUCH_KEY"),
        Anthropic(MODEL, base_url=server.url, key_variable="NO_SUCH_KEY"),
    ]


def test_a_real_model_streams_on_both_wires(model_server: LocalServer) -> None:
    for provider in providers(model_server):
        events = events_of(provider, {**HELLO, "temperature": 0}, max_tokens=12)
        deltas = [event for event in events if isinstance(event, TextDelta)]
        assert len(deltas) > 1
        last = end_of(events)
        assert last.stop in ("end", "length")
        assert last.usage is not None
        assert last.usage.output_tokens >= len(deltas) - 1
        assert last.usage.context_tokens > 10
        assert last.model == MODEL
        assert text_of(events) in str(last.message) or "\n" in text_of(events)


def test_a_real_limit_is_told_in_numbers(model_server: LocalServer) -> None:
    long = {"messages": [{"role": "user", "content": "word " * 5_000}]}
    for provider in providers(model_server):
        with pytest.raises(RequestTooLong) as caught:
            answer(provider, long, max_tokens=5)
        assert caught.value.limit == 4_096
        assert caught.value.tokens is not None
        assert caught.value.tokens > 5_000


def test_a_real_model_stops_when_nobody_listens(model_server: LocalServer) -> None:
    """It has one slot: were the first answer not cancelled, the second would wait for all of its tokens."""

    async def listen_briefly() -> None:
        provider = providers(model_server)[0]
        endless = {"messages": [{"role": "user", "content": "Count to ten thousand."}], "ignore_eos": True}
        async with aclosing(provider.complete(endless, max_tokens=4_000)) as events:
            async for _ in events:
                break
        await provider.aclose()

    asyncio.run(listen_briefly())
    assert answer(providers(model_server)[0], HELLO, max_tokens=3, seconds=20).stop in ("length", "end")
