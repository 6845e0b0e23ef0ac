"""Providers at their worst: FAULTS P1 to P10, over real HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from contextlib import aclosing
from email.utils import formatdate
from typing import Any

import pytest

from sash.errors import (
    AnswerBroken,
    KeyMissing,
    KeyRefused,
    ProviderBusy,
    ProviderDown,
    ProviderError,
    ProviderSilent,
    RequestRefused,
    RequestTooLong,
)
from sash.providers import Patience, TextDelta, asked_pause, overflow_of
from tests.providers.asking import HELLO, QUICK, Waiting, anthropic, by_wire, end_of, events_of, openai, text_of
from tests.upstream import JSON, Reply, Upstream, anthropic_stream, openai_stream, refused, sse, upstream

WIRES = ("openai-chat", "anthropic")
every_wire = pytest.mark.parametrize("wire", WIRES)


def answer_on(wire: str, *texts: str) -> Reply:
    return Reply(openai_stream(*texts) if wire == "openai-chat" else anthropic_stream(*texts))


# P1: asked to wait.


@every_wire
@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry_after": "2"}, 2.0),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": "86400"}, 30.0),
        ({"retry_after": "-5"}, 0.5),
        ({"retry_after": "nan"}, 0.5),
        ({"retry_after": "soon"}, 0.5),
        ({}, 0.5),
    ],
)
def test_a_busy_provider_is_asked_again_when_it_says(wire: str, headers: dict[str, str], pause: float) -> None:
    waiting = Waiting()
    with upstream(refused(429, **headers), answer_on(wire, "there")) as served:
        events = events_of(by_wire(wire, served.url, waiting=waiting))
    assert text_of(events) == "there"
    assert waiting.pauses == [pause]
    assert len(served.asked) == 2


def test_a_date_is_a_time_to_come_back_too() -> None:
    now = 1_700_000_000.0
    assert asked_pause({"retry-after": formatdate(now + 7, usegmt=True)}, now) == 7.0
    assert asked_pause({"retry-after": formatdate(now - 7, usegmt=True)}, now) == 0.0
    waiting = Waiting()
    with upstream(refused(429, retry_after=formatdate(now + 12, usegmt=True)), answer_on("openai-chat", "x")) as served:
        events_of(openai(served.url, waiting=waiting, now=now))
    assert waiting.pauses == [12.0]


def test_the_last_refusal_is_handed_on_as_it_came() -> None:
    waiting = Waiting()
    with upstream(refused(429, "slow down", retry_after="7")) as served, pytest.raises(ProviderBusy) as caught:
        events_of(openai(served.url, waiting=waiting))
    assert len(served.asked) == 3
    assert waiting.pauses == [7.0, 7.0]
    assert (caught.value.status, caught.value.retry_after_seconds) == (429, 7.0)
    assert json.loads(caught.value.body)["error"]["message"] == "slow down"
    assert "slow down" in str(caught.value)


# P2: down before anything was said.


@every_wire
@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
def test_a_provider_that_is_down_is_asked_so_often_and_no_more(wire: str, status: int) -> None:
    waiting = Waiting()
    with upstream(refused(status)) as served, pytest.raises((ProviderDown, ProviderBusy)) as caught:
        events_of(by_wire(wire, served.url, waiting=waiting))
    assert len(served.asked) == 3
    assert waiting.pauses == [0.5, 1.0]
    assert caught.value.status == status


@every_wire
def test_a_connection_reset_before_the_answer_is_tried_again(wire: str) -> None:
    with upstream(Reply(ending="reset"), answer_on(wire, "there")) as served:
        assert text_of(events_of(by_wire(wire, served.url))) == "there"
    assert len(served.asked) == 2


def test_a_provider_that_says_not_to_retry_is_not_asked_again() -> None:
    with upstream(refused(500, x_should_retry="false")) as served, pytest.raises(ProviderDown):
        events_of(openai(served.url))
    assert len(served.asked) == 1


def test_nobody_there_is_told_with_the_host() -> None:
    with upstream() as served:
        url = served.url
    with pytest.raises(ProviderDown, match=r"127\.0\.0\.1"):
        events_of(openai(url, patience=Patience(attempts=2, connect_seconds=2.0)))


# P3: broken in the middle.


@every_wire
@pytest.mark.parametrize("ending", ["reset", "torn", "close"])
def test_an_answer_that_breaks_off_is_never_asked_for_again(wire: str, ending: str) -> None:
    begun = answer_on(wire, "one ", "two ", "three").chunks[:4]
    with upstream(Reply(begun, ending=ending), answer_on(wire, "again")) as served:  # type: ignore[arg-type]  # a literal
        heard, error = heard_until_it_broke(by_wire(wire, served.url))
    assert heard.startswith("one ")
    assert isinstance(error, AnswerBroken)
    assert len(served.asked) == 1


@pytest.mark.parametrize(
    ("wire", "complaint", "kind"),
    [
        ("openai-chat", {"error": {"message": "The server had an error", "type": "server_error"}}, ProviderDown),
        ("openai-chat", {"error": {"message": "Rate limit", "code": "rate_limit_exceeded"}}, ProviderBusy),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, ProviderBusy),
        ("anthropic", {"type": "error", "error": {"type": "api_error", "message": "oh"}}, ProviderDown),
    ],
)
def test_an_error_after_200_is_an_error(wire: str, complaint: object, kind: type[ProviderError]) -> None:
    begun = answer_on(wire, "one ").chunks[:4]
    with upstream(Reply((*begun, *sse(complaint, name=wire == "anthropic")))) as served:
        heard, error = heard_until_it_broke(by_wire(wire, served.url))
    assert heard == "one "
    assert isinstance(error, kind)
    assert len(served.asked) == 1
    # Before the first word it may be tried again.
    with upstream(Reply(sse(complaint, name=wire == "anthropic")), answer_on(wire, "fine")) as served:
        assert text_of(events_of(by_wire(wire, served.url))) == "fine"


def heard_until_it_broke(provider: object) -> tuple[str, ProviderError | None]:
    async def listen() -> tuple[str, ProviderError | None]:
        heard = ""
        try:
            async with aclosing(provider.complete(HELLO)) as events:  # type: ignore[attr-defined]  # a provider
                async for event in events:
                    heard += event.text if isinstance(event, TextDelta) else ""
        except ProviderError as error:
            return heard, error
        return heard, None

    return asyncio.run(listen())


# P4: the client goes away.


@every_wire
@pytest.mark.parametrize("words", [0, 1])
def test_whoever_stops_listening_stops_the_provider(wire: str, words: int) -> None:
    said = answer_on(wire, "one ", "two ").chunks
    reply = Reply(said[:4] if words else said[:1], ending="stall")

    async def listen(served: Upstream) -> None:
        provider = by_wire(wire, served.url)
        begun = asyncio.Event()

        async def hear() -> None:
            async with aclosing(provider.complete(HELLO)) as events:
                async for _ in events:
                    begun.set()

        task = asyncio.ensure_future(hear())
        if words:
            await begun.wait()
        else:
            while not served.asked:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.aclose()

    with upstream(reply) as served:
        asyncio.run(listen(served))
        assert served.hung_up.wait(20)


# P5: silence.


@every_wire
def test_a_provider_that_falls_silent_is_given_up(wire: str) -> None:
    impatient = Patience(attempts=2, idle_seconds=0.1)
    with upstream(Reply(ending="stall")) as served, pytest.raises(ProviderSilent, match="no byte"):
        events_of(by_wire(wire, served.url, patience=impatient))
    assert len(served.asked) == 2


def test_keep_alives_are_no_silence() -> None:
    slow = Reply((*(b": still here\n\n",) * 8, *openai_stream("done")), gap_seconds=0.05)
    with upstream(slow) as served:
        events = events_of(openai(served.url, patience=Patience(attempts=1, idle_seconds=0.3)))
    assert text_of(events) == "done"


# P7: an event of ten megabytes.


@every_wire
def test_an_event_of_ten_megabytes_arrives_whole(wire: str) -> None:
    giant = "x" * 10_000_000
    whole = b"".join(answer_on(wire, giant).chunks)
    pieces = tuple(whole[start : start + 65_536] for start in range(0, len(whole), 65_536))
    with upstream(Reply(pieces)) as served:
        assert text_of(events_of(by_wire(wire, served.url))) == giant


# P8: too long, in everybody's words.

WORDINGS = [
    ("prompt is too long: 213462 tokens > 200000 maximum", 213462, 200000),
    (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        190000,
        200000,
    ),
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130002 tokens. "
        "Please reduce the length of the messages.",
        130002,
        128000,
    ),
    ("context_length_exceeded", None, None),
    ("too many tokens: the request holds 9000", None, None),
    ("Input is too long for requested model.", None, None),
    ("the request is too large for model", None, None),
    ("request (5031 tokens) exceeds the available context size (4096 tokens), try increasing it", 5031, 4096),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576),
    ("Your input exceeds the context window of this model.", None, None),
]


@pytest.mark.parametrize(("complaint", "tokens", "limit"), WORDINGS)
@pytest.mark.parametrize("where", ["400", "413", "stream"])
def test_too_long_is_understood_in_everybodys_words(
    complaint: str, tokens: int | None, limit: int | None, where: str
) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": complaint}}
    reply = Reply(sse(body, name=True)) if where == "stream" else refused(int(where), complaint)
    with upstream(reply) as served, pytest.raises(RequestTooLong) as caught:
        events_of(anthropic(served.url))
    assert len(served.asked) == 1
    assert caught.value.tokens == tokens
    assert caught.value.limit == limit


@pytest.mark.parametrize(
    "complaint",
    [
        "Rate limit reached: too many tokens per minute (TPM): Limit 30000, Used 29000",
        "Number of request tokens has exceeded your per-minute rate limit",
        "Invalid parameter: messages",
        "",
    ],
)
def test_too_much_at_once_is_not_too_long(complaint: str) -> None:
    assert overflow_of(complaint) is None


# P9: impossible numbers.


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": -5, "completion_tokens": 3},
        {"prompt_tokens": 10**15, "completion_tokens": 3},
        {"prompt_tokens": "many", "completion_tokens": 3},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": 5},
    ],
)
def test_numbers_that_cannot_be_are_no_usage(usage: object) -> None:
    with upstream(Reply(openai_stream("fine", usage=usage))) as served:
        assert end_of(events_of(openai(served.url))).usage is None
    anthropics = {
        str(name).replace("prompt", "input").replace("completion", "output"): n
        for name, n in (usage.items() if isinstance(usage, dict) else ())
    }
    with upstream(Reply(anthropic_stream("fine", usage=anthropics))) as served:
        assert end_of(events_of(anthropic(served.url))).usage is None


def test_cached_tokens_are_counted_apart_and_never_twice() -> None:
    told = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    with upstream(Reply(openai_stream("fine", usage=told))) as served:
        usage = end_of(events_of(openai(served.url))).usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens, usage.context_tokens) == (40, 60, 100)
    assert usage.reported == told


# P10: not an answer at all.


@every_wire
@pytest.mark.parametrize(
    "reply",
    [
        Reply((b"<html><body>Welcome to the gateway</body></html>",), headers={"content-type": "text/html"}),
        Reply(()),
        Reply((), headers=JSON),
        Reply((b"[]",), headers=JSON),
        Reply((b'{"choices": 5, "content": 5}',), headers=JSON),
        Reply((b"data: <html>\n\n",)),
        Reply((b"data: {}\n\n",)),
        Reply((b"\x1f\x8b broken",), headers={"content-type": "text/event-stream", "content-encoding": "gzip"}),
        Reply((b"moved",), status=302, headers={"location": "http://169.254.169.254/"}),
        Reply((b"<html>",), status=404, headers={"content-type": "text/html"}),
    ],
)
def test_what_is_no_answer_is_never_an_empty_success(wire: str, reply: Reply) -> None:
    with upstream(reply) as served, pytest.raises((AnswerBroken, RequestRefused)):
        events_of(by_wire(wire, served.url))
    assert len(served.asked) <= 3


@every_wire
def test_a_compressed_stream_is_read(wire: str) -> None:
    packed = gzip.compress(b"".join(answer_on(wire, "packed").chunks))
    reply = Reply((packed[:20], packed[20:]), headers={"content-type": "text/event-stream", "content-encoding": "gzip"})
    with upstream(reply) as served:
        assert text_of(events_of(by_wire(wire, served.url))) == "packed"


def test_an_answer_in_one_piece_is_an_answer() -> None:
    message = {"role": "assistant", "content": "whole", "tool_calls": None}
    body: Any = {"id": "1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with upstream(Reply((json.dumps(body).encode(),), headers=JSON)) as served:
        events = events_of(openai(served.url))
    assert (text_of(events), end_of(events).stop) == ("whole", "end")
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1}}
    blocks: list[Any] = [{"type": "text", "text": "whole"}, call]
    body = {"id": "1", "model": "m", "type": "message", "content": blocks, "stop_reason": "tool_use"}
    with upstream(Reply((json.dumps(body).encode(),), headers=JSON)) as served:
        events = events_of(anthropic(served.url))
    assert (text_of(events), end_of(events).stop) == ("whole", "calls")
    assert end_of(events).message["content"] == blocks


# Keys.


def test_a_key_is_sent_and_never_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    canary = "sk-canary-0123456789"
    monkeypatch.setenv("SASH_TEST_KEY", canary)
    caplog.set_level(logging.DEBUG)
    for wire, header in (("openai-chat", "authorization"), ("anthropic", "x-api-key")):
        for status, kind in ((401, KeyRefused), (400, RequestRefused), (429, ProviderBusy), (500, ProviderDown)):
            with upstream(refused(status, f"Incorrect key provided: {canary}")) as served:
                provider = by_wire(wire, served.url)
                with pytest.raises(kind) as caught:
                    events_of(provider)
            assert canary in served.asked[0].headers[header]
            told = [str(caught.value), repr(caught.value), caught.value.body.decode(), repr(provider)]
            told += [repr(vars(provider)), repr(caught.value.__dict__), repr(QUICK), caplog.text]
            assert not [text for text in told if canary in text]


def test_a_key_with_strange_characters_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_TEST_KEY", "sk-canary\u2603")
    with upstream(answer_on("openai-chat", "x")) as served, pytest.raises(KeyMissing) as caught:
        events_of(openai(served.url))
    assert "canary" not in str(caught.value)
    assert not served.asked
