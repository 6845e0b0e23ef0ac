"""The providers' own SDKs, pointed at the proxy and otherwise unchanged."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import openai
import pytest

from sash import Policy
from sash.server.proxy import Upstreams
from tests.proxy.running import Served, served, setup_for
from tests.proxy.upstream import Received, ScriptedUpstream, Talk, completion, saying

KEY = "sk-test-1234"
TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}
SMALL = Policy(window=3_000, history_tokens=1_200)


def openai_client(proxy: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{proxy.url}/v1", api_key=KEY, max_retries=0)


def anthropic_client(proxy: Served) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=proxy.url, api_key=KEY, max_retries=0)


def history(turns: int = 2) -> Any:
    """Plain dicts, as most people write them."""
    said = []
    for number in range(turns):
        said.append({"role": "user", "content": f"Question {number}? " + "It is a long one. " * 8})
        said.append({"role": "assistant", "content": f"Answer {number}. " + "It is a long one too. " * 8})
    return [*said, {"role": "user", "content": "And now?"}]


def test_chat_completions_answer_as_without_a_proxy(proxy: Served, upstream: ScriptedUpstream) -> None:
    told = openai_client(proxy).chat.completions.create(model="gpt-5", messages=history())
    assert told.choices[0].message.content == "answer 5"
    assert told.usage is not None
    assert upstream.last.header("authorization") == f"Bearer {KEY}"
    assert upstream.last.header("host") == f"127.0.0.1:{upstream.port}"


def test_chat_completions_stream(proxy: Served) -> None:
    chunks = openai_client(proxy).chat.completions.create(model="gpt-5", messages=history(), stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "answer 5"


def test_responses_answer_and_stream(proxy: Served) -> None:
    client = openai_client(proxy)
    told = client.responses.create(model="gpt-5", input=history())
    assert told.output_text == "answer 5"
    with client.responses.stream(model="gpt-5", input=history()) as events:
        assert events.get_final_response().output_text == "answer 5"


def test_messages_answer_and_stream(proxy: Served) -> None:
    client = anthropic_client(proxy)
    told = client.messages.create(model="claude-opus-5", max_tokens=100, messages=history())
    assert [block.text for block in told.content if block.type == "text"] == ["answer 5"]
    with client.messages.stream(model="claude-opus-5", max_tokens=100, messages=history()) as events:
        assert events.get_final_text() == "answer 5"


def test_tokens_are_counted_of_what_would_be_sent(upstream: ScriptedUpstream) -> None:
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        client = anthropic_client(proxy)
        counted = client.messages.count_tokens(model="claude-opus-5", messages=history(60))
        assert 0 < counted.input_tokens < 3_000
        upstream.then(lambda _, talk: talk.answer(404, b'{"type":"error","error":{"type":"not_found_error"}}'))
        estimated = client.messages.count_tokens(model="claude-opus-5", messages=history(60))
        assert 0 < estimated.input_tokens < 3_000


def test_tokens_of_a_response_are_counted_of_what_would_be_sent(upstream: ScriptedUpstream) -> None:
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        client = openai_client(proxy)
        counted = client.responses.input_tokens.count(model="gpt-5", input=history(60), instructions="Be brief.")
        assert counted.object == "response.input_tokens"
        assert 0 < counted.input_tokens < 3_000
        assert upstream.last.path == "/v1/responses/input_tokens"
        upstream.then(lambda _, talk: talk.answer(404, b'{"error":{"message":"no such path"}}'))
        estimated = client.responses.input_tokens.with_raw_response.count(model="gpt-5", input=history(60))
        assert 0 < estimated.parse().input_tokens < 3_000
        assert estimated.headers["x-sash-tokens"].removeprefix("~") == str(estimated.parse().input_tokens)
        # The provider has the rest of it: it counts what it has.
        client.responses.input_tokens.count(model="gpt-5", input="And now?", previous_response_id="resp_1")
        assert upstream.last.json == {"model": "gpt-5", "input": "And now?", "previous_response_id": "resp_1"}


def test_all_of_a_history_is_handed_over_to_be_compacted(upstream: ScriptedUpstream) -> None:
    usage = completion("openai-responses", "")["usage"]
    item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAA"}
    made = {"id": "resp_2", "object": "response.compaction", "created_at": 1, "output": [item], "usage": usage}
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        upstream.then(saying(json.dumps(made).encode()))
        told = openai_client(proxy).responses.with_raw_response.compact(model="gpt-5", input=history(60))
        assert told.headers["x-sash-frame"] == "passed"
        assert told.parse().output[0].type == "compaction"
        assert upstream.last.path == "/v1/responses/compact"
        assert upstream.last.messages == history(60)


def test_a_history_is_compacted_where_its_model_answers(upstream: ScriptedUpstream) -> None:
    elsewhere = ScriptedUpstream()
    addresses = Upstreams(openai=upstream.openai, anthropic=upstream.anthropic, models=(("mine-*", elsewhere.openai),))
    with served(setup_for(upstream, upstreams=addresses)) as proxy:
        body = json.dumps({"model": "mine-1", "input": history()}).encode()
        assert proxy.post("/v1/responses/compact", body).status_code == 200
        assert elsewhere.last.body == body
    elsewhere.close()


def test_async_clients_work_side_by_side(proxy: Served, upstream: ScriptedUpstream) -> None:
    async def ask() -> list[str]:
        chat = openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key=KEY, max_retries=0)
        claude = anthropic.AsyncAnthropic(base_url=proxy.url, api_key=KEY, max_retries=0)

        async def by_openai(turns: int) -> str:
            stream = await chat.chat.completions.create(model="gpt-5", messages=history(turns), stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

        async def by_anthropic(turns: int) -> str:
            given: Any = history(turns)
            async with claude.messages.stream(model="claude-opus-5", max_tokens=9, messages=given) as stream:
                return await stream.get_final_text()

        async with chat, claude:
            return await asyncio.gather(*(ask(n) for n in range(12) for ask in (by_openai, by_anthropic)))

    told = asyncio.run(ask())
    assert told == [f"answer {2 * n + 1}" for n in range(12) for _ in range(2)]


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_a_tool_loop_runs_through_a_small_window(wire: str, upstream: ScriptedUpstream) -> None:
    steps = 30

    def calling(received: Received, talk: Talk) -> None:
        number = len(upstream.requests)
        call = (f"call_{number}", "read", json.dumps({"path": f"file_{number}.py"}))
        done = number > steps
        told = completion(wire, "all read" if done else "", read=len(received.body) // 4, calls=() if done else (call,))
        talk.answer(200, json.dumps(told).encode())

    upstream.default = calling
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        assert LOOPS[wire](proxy, steps) == "all read"
    assert len(upstream.requests) == steps + 1
    assert max(len(received.body) for received in upstream.requests) < 4 * 3_000
    assert upstream.faults == []


def _chat_loop(proxy: Served, steps: int) -> str:
    client = openai_client(proxy)
    said: list[Any] = [{"role": "user", "content": "Read all files."}]
    tools: Any = [{"type": "function", "function": {"name": "read", "parameters": TOOL}}]
    message: Any = None
    for _ in range(steps + 1):
        message = client.chat.completions.create(model="gpt-5", messages=said, tools=tools).choices[0].message
        said.append(message)
        said += [
            {"role": "tool", "tool_call_id": call.id, "content": "a line of the file\n" * 30}
            for call in message.tool_calls or ()
        ]
    return str(message.content)


def _responses_loop(proxy: Served, steps: int) -> str:
    client = openai_client(proxy)
    said: list[Any] = [{"role": "user", "content": "Read all files."}]
    tools: Any = [{"type": "function", "name": "read", "parameters": TOOL, "strict": False}]
    told: Any = None
    for _ in range(steps + 1):
        told = client.responses.create(model="gpt-5", input=said, tools=tools, store=False)
        said += told.output
        for item in told.output:
            if item.type == "function_call":
                output = "a line of the file\n" * 30
                said.append({"type": "function_call_output", "call_id": item.call_id, "output": output})
    return str(told.output_text)


def _messages_loop(proxy: Served, steps: int) -> str:
    client = anthropic_client(proxy)
    said: list[Any] = [{"role": "user", "content": "Read all files."}]
    tools: Any = [{"name": "read", "input_schema": TOOL}]
    text = ""
    for _ in range(steps + 1):
        told = client.messages.create(model="claude-opus-5", max_tokens=200, messages=said, tools=tools)
        said.append({"role": "assistant", "content": told.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "a line of the file\n" * 30}
            for block in told.content
            if block.type == "tool_use"
        ]
        if results:
            said.append({"role": "user", "content": results})
        text = "".join(block.text for block in told.content if block.type == "text")
    return text


LOOPS = {"openai-chat": _chat_loop, "openai-responses": _responses_loop, "anthropic": _messages_loop}


def test_the_window_is_told_in_headers(upstream: ScriptedUpstream) -> None:
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        given: Any = history(40)
        told = openai_client(proxy).chat.completions.with_raw_response.create(model="gpt-5", messages=given)
    assert int(told.headers["x-sash-frame"]) > 0
    live, all_turns = map(int, told.headers["x-sash-turns"].split("/"))
    assert 0 < live < all_turns == 41
    assert 0 < int(told.headers["x-sash-tokens"].lstrip("~")) <= 3_000
    assert 0 <= float(told.headers["x-sash-overhead-ms"]) < 60_000
    assert told.headers["x-request-id"] == "req_1"
