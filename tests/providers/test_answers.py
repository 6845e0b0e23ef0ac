"""What providers say, beside what their makers' own SDKs hear."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest

import sash
from sash.errors import MissingExtra, UnknownProvider
from sash.providers import Echo, Finished, TextDelta, ThinkingDelta, ToolCalled, answer, provider_named
from sash.wire import read_list
from tests.providers.asking import HELLO, anthropic, end_of, events_of, openai, text_of
from tests.upstream import Reply, anthropic_events, anthropic_stream, openai_stream, sse, upstream

CALLS = [
    {"index": 0, "id": "call_a", "type": "function", "function": {"name": "read", "arguments": ""}},
    {"index": 1, "id": "call_b", "type": "function", "function": {"name": "list", "arguments": ""}},
    {"index": 0, "function": {"arguments": '{"path": '}},
    {"index": 1, "function": {"arguments": "{}"}},
    {"index": 0, "function": {"arguments": '"a.py"}'}},
]


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def test_openai_is_heard_as_its_own_sdk_hears_it() -> None:
    told = sse(
        chunk({"role": "assistant", "content": "Let me "}),
        chunk({"content": "look."}),
        *(chunk({"tool_calls": [call]}) for call in CALLS),
        chunk({}, "tool_calls"),
        "[DONE]",
    )
    with upstream(Reply(told)) as served:
        events = events_of(openai(served.url))
        client = openai_sdk.OpenAI(base_url=f"{served.url}/v1", api_key="x", max_retries=0)
        with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}]) as stream:
            theirs = stream.get_final_completion().choices[0]
    assert text_of(events) == theirs.message.content == "Let me look."
    assert theirs.finish_reason == "tool_calls"
    assert end_of(events).stop == "calls"
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert [(call.id, call.name, call.arguments) for call in called] == [
        (call.id, call.function.name, call.function.arguments) for call in theirs.message.tool_calls or ()
    ]


def test_anthropic_is_heard_as_its_own_sdk_hears_it() -> None:
    def delta(index: int, kind: str, field: str, piece: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}

    def block(index: int, **given: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": given}

    told = anthropic_events(
        block(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", "thinking", "Hmm, "),
        delta(0, "thinking_delta", "thinking", "yes."),
        delta(0, "signature_delta", "signature", "proof"),
        {"type": "content_block_stop", "index": 0},
        block(1, type="text", text=""),
        delta(1, "text_delta", "text", "Let me "),
        delta(1, "text_delta", "text", "look."),
        {"type": "content_block_stop", "index": 1},
        block(2, type="tool_use", id="toolu_1", name="read", input={}),
        delta(2, "input_json_delta", "partial_json", '{"path": '),
        delta(2, "input_json_delta", "partial_json", '"a.py"}'),
        {"type": "content_block_stop", "index": 2},
        block(3, type="tool_use", id="toolu_2", name="list", input={}),
        {"type": "content_block_stop", "index": 3},
        stop="tool_use",
    )
    with upstream(Reply(told)) as served:
        events = events_of(anthropic(served.url))
        client = anthropic_sdk.Anthropic(base_url=served.url, api_key="x", max_retries=0)
        with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]) as stream:
            theirs = stream.get_final_message()
    last = end_of(events)
    assert text_of(events) == "Let me look."
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "Hmm, yes."
    assert [event for event in events if isinstance(event, ToolCalled)] == [
        ToolCalled("toolu_1", "read", '{"path": "a.py"}'),
        ToolCalled("toolu_2", "list", "{}"),
    ]
    wanted = ("type", "text", "thinking", "signature", "id", "name", "input")
    assert last.message["content"] == [
        {name: value for name, value in said.model_dump(exclude_none=True).items() if name in wanted}
        for said in theirs.content
    ]
    assert last.stop == "calls"
    assert last.usage is not None
    assert (last.usage.input_tokens, last.usage.output_tokens, last.usage.cache_read_tokens) == (10, 5, 2)
    # What came is what can be sent back.
    assert read_list(json.dumps([last.message]).encode(), "anthropic")[0].opened() == ["toolu_1", "toolu_2"]


def test_arguments_that_are_no_json_are_told_as_they_came() -> None:
    told = anthropic_events(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "read", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"path": "a'},
        },
        {"type": "content_block_stop", "index": 0},
        stop="max_tokens",
    )
    with upstream(Reply(told)) as served:
        events = events_of(anthropic(served.url))
    assert events[0] == ToolCalled("t", "read", '{"path": "a')
    assert end_of(events).message["content"][0]["input"] == {"INVALID_JSON": '{"path": "a'}
    assert end_of(events).stop == "length"


@pytest.mark.parametrize(("finish", "stop"), [("length", "length"), ("content_filter", "refused"), ("stop", "end")])
def test_the_reason_to_stop_is_told(finish: str, stop: str) -> None:
    with upstream(Reply(openai_stream("words", finish=finish))) as served:
        assert end_of(events_of(openai(served.url))).stop == stop


def test_calls_without_numbers_are_calls() -> None:
    calls = [{"id": f"c{n}", "function": {"name": "read", "arguments": {"n": n}}} for n in (1, 2)]
    with upstream(Reply(sse(chunk({"tool_calls": calls}), chunk({}, "stop"), "[DONE]"))) as served:
        events = events_of(openai(served.url))
    assert events[:2] == [ToolCalled("c1", "read", '{"n":1}'), ToolCalled("c2", "read", '{"n":2}')]
    assert end_of(events).stop == "calls"


def test_the_request_is_sent_as_it_is_with_model_and_length() -> None:
    asked = {"messages": [{"role": "user", "content": "hi"}], "temperature": 0}
    with upstream(Reply(openai_stream("x"))) as served:
        events_of(openai(served.url), asked, max_tokens=7)
    body = served.asked[0].json()
    assert served.asked[0].path == "/v1/chat/completions"
    assert body == {
        **asked,
        "model": "model-1",
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with upstream(Reply(anthropic_stream("x"))) as served:
        events_of(anthropic(served.url), asked, max_tokens=7)
    assert served.asked[0].path == "/v1/messages"
    assert served.asked[0].json() == {**asked, "model": "model-1", "max_tokens": 7, "stream": True}


def test_two_hundred_streams_run_at_once() -> None:
    whole = openai_stream(*("word " for _ in range(3)))

    async def all_at_once(url: str) -> list[str]:
        provider = openai(url)

        async def one() -> str:
            heard = ""
            async with aclosing(provider.complete(HELLO)) as events:
                async for event in events:
                    heard += event.text if isinstance(event, TextDelta) else ""
            return heard

        try:
            return list(await asyncio.gather(*(one() for _ in range(200))))
        finally:
            await provider.aclose()

    with upstream(Reply(whole, gap_seconds=0.05)) as served:
        assert asyncio.run(all_at_once(served.url)) == ["word " * 3] * 200


# Providers by name.


def test_providers_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")
    assert repr(provider_named("openai", model="m")) == "OpenAI('m', base_url='http://127.0.0.1:9/v1')"
    assert repr(provider_named("anthropic", model="m")) == "Anthropic('m', base_url='https://api.anthropic.com')"
    assert provider_named("echo").wire == "openai-chat"
    assert provider_named("local").model == "smollm2"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("nobody", {}),
        ("openai", {}),
        ("openai", {"model": "m", "base_url": "ftp://x"}),
        ("openai", {"model": "m", "base_url": "http://[x"}),
        ("openai", {"model": "m", "base_url": "http://h:99999"}),
        ("echo", {"base_url": "http://x"}),
        ("local", {"model": "/nowhere.gguf"}),
    ],
)
def test_who_is_not_there_is_refused(name: str, given: dict[str, str]) -> None:
    with pytest.raises(UnknownProvider):
        provider_named(name, **given)  # type: ignore[arg-type]  # strings only


def test_the_makers_of_models_answer_nobody_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, variable in (("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")):
        for gone in (variable, "ANTHROPIC_AUTH_TOKEN", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
            monkeypatch.delenv(gone, raising=False)
        with pytest.raises(sash.KeyMissing, match=variable):
            answer(provider_named(name, model="m"), HELLO)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(MissingExtra, match=r"sash\[providers\]"):
        answer(openai("http://127.0.0.1:9"), HELLO)


# Echo.


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_echo_says_back_what_it_was_told_and_calls_what_it_is_told_to_call(wire: str) -> None:
    tool = {"name": "look", "description": "", "input_schema": {"type": "object"}}
    tools = [tool] if wire == "anthropic" else [{"type": "function", "function": {"name": "look"}}]
    echo = Echo(wire=wire)
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": "one two  three"}]}
    events = events_of(echo, asked)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["one ", "two  ", "three"]
    assert events == events_of(echo, asked)
    assert end_of(events_of(echo, asked, max_tokens=2)).stop == "length"
    asked = {"messages": [{"role": "user", "content": 'call look {"at": "sky"}'}], "tools": tools}
    called, last = events_of(echo, asked)
    assert isinstance(called, ToolCalled)
    assert (called.name, called.arguments) == ("look", '{"at": "sky"}')
    assert isinstance(last, Finished)
    assert last.stop == "calls"
    assert read_list(json.dumps([last.message]).encode(), wire)[0].opened() == [called.id]
    assert text_of(events_of(echo, {"messages": asked["messages"]})) == 'call look {"at": "sky"}'


# Callers that wait.


def test_an_answer_can_be_waited_for_in_any_thread() -> None:
    echo = Echo()
    assert answer(echo, HELLO).text == "hello"

    async def inside() -> str:
        return answer(echo, HELLO).text

    assert asyncio.run(inside()) == "hello"


def test_waiting_ends_in_time_or_when_somebody_says_so() -> None:
    import threading

    slow = Echo(pause_seconds=30.0)
    with pytest.raises(sash.ProviderDown, match="not done in"):
        answer(slow, HELLO, seconds=0.05)
    flag = threading.Event()
    flag.set()
    with pytest.raises(asyncio.CancelledError):
        answer(slow, HELLO, cancelled=flag)
