"""The proxy tried without a key and without a network: an echo or a small model in the provider's place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from sash import Policy
from sash.errors import InvalidUpstream
from sash.providers import Local, LocalServer
from sash.server.proxy import ProxySetup, Upstreams
from sash.server.proxy.courier import Courier, Errand
from sash.server.proxy.setup import upstream_at
from tests.model_server import MODEL, model_server
from tests.proxy.running import Served, served

__all__ = ["model_server"]

ECHOES = ProxySetup(
    upstreams=Upstreams(openai="echo", anthropic="echo"), policy=Policy(window=3_000, history_tokens=1_200)
)
PARAMETERS: Any = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.fixture(scope="module")
def echo() -> Iterator[Served]:
    with served(ECHOES) as proxy:
        yield proxy


def talk(turns: int) -> Any:
    said = []
    for number in range(turns):
        said.append({"role": "user", "content": f"Question {number}? " + "It is a long one. " * 8})
        said.append({"role": "assistant", "content": f"Answer {number}. " + "It is a long one too. " * 8})
    return [*said, {"role": "user", "content": "And now?"}]


def test_the_openai_sdk_is_answered_by_an_echo_and_its_long_history_is_fitted(echo: Served) -> None:
    client = openai.OpenAI(base_url=f"{echo.url}/v1", api_key="none", max_retries=0)
    told = client.chat.completions.with_raw_response.create(model="gpt-5", messages=talk(60))
    assert told.parse().choices[0].message.content == "And now?"
    assert told.parse().usage.prompt_tokens < 3_000  # type: ignore[union-attr]  # it always tells
    assert int(told.headers["x-sash-frame"]) > 0
    assert "~" not in told.headers["x-sash-tokens"]
    stream = client.chat.completions.create(model="gpt-5", messages=talk(2), stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == "And now?"
    assert [model.id for model in client.models.list()] == ["echo"]


def test_the_echo_calls_a_tool_when_it_is_told_to_on_each_wire(echo: Served) -> None:
    client = openai.OpenAI(base_url=f"{echo.url}/v1", api_key="none", max_retries=0)
    asked: Any = [{"role": "user", "content": 'call read {"path": "a"}'}]
    function: Any = {"name": "read", "description": "reads", "parameters": PARAMETERS}
    chat = client.chat.completions.create(
        model="gpt-5", messages=asked, tools=[{"type": "function", "function": function}]
    )
    [called] = chat.choices[0].message.tool_calls or []
    function_called: Any = called
    assert (function_called.function.name, function_called.function.arguments) == ("read", '{"path": "a"}')
    with client.chat.completions.stream(
        model="gpt-5", messages=asked, tools=[{"type": "function", "function": function}]
    ) as chunks:
        [streamed] = chunks.get_final_completion().choices[0].message.tool_calls or []
    assert streamed.function.arguments == '{"path": "a"}'
    tools: Any = [{"type": "function", **function}]
    answered = client.responses.create(model="gpt-5", input=asked, tools=tools)
    assert answered.output[0].type == "function_call"
    with client.responses.stream(model="gpt-5", input=asked, tools=tools) as events:
        assert events.get_final_response().output[0].type == "function_call"
    claude = anthropic.Anthropic(base_url=echo.url, api_key="none", max_retries=0)
    offered: Any = [{"name": "read", "description": "reads", "input_schema": PARAMETERS}]
    with claude.messages.stream(model="claude-opus-5", max_tokens=50, messages=asked, tools=offered) as told:
        block = told.get_final_message().content[0]
    assert block.type == "tool_use"
    assert block.input == {"path": "a"}


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_an_echo_gives_no_id_twice_however_often_the_window_slides(echo: Served, wire: str) -> None:
    client = openai.OpenAI(base_url=f"{echo.url}/v1", api_key="none", max_retries=0)
    function: Any = {"name": "read", "parameters": PARAMETERS}
    named: Any = [{"type": "function", **function}]
    said: Any = []
    frame = 0
    for number in range(12):
        said.append({"role": "user", "content": f'call read {{"path": "{number}"}}'})
        for _ in range(2):
            if wire == "chat":
                told: Any = client.chat.completions.with_raw_response.create(
                    model="gpt-5", messages=said, tools=[{"type": "function", "function": function}]
                )
                answer = told.parse().choices[0].message
                said.append(answer.model_dump(exclude_none=True))
                calls = [{"role": "tool", "tool_call_id": call.id} for call in answer.tool_calls or ()]
                said += [{**call, "content": "a line " * 100} for call in calls]
            else:
                told = client.responses.with_raw_response.create(model="gpt-5", input=said, tools=named)
                items = told.parse().output
                said += [item.model_dump(exclude_none=True) for item in items]
                calls = [{"call_id": item.call_id} for item in items if item.type == "function_call"]
                said += [{"type": "function_call_output", **call, "output": "a line " * 100} for call in calls]
            assert "x-sash-repairs" not in told.headers
            frame = int(told.headers["x-sash-frame"])
    assert frame > 1


def test_responses_and_messages_are_answered_by_an_echo(echo: Served) -> None:
    client = openai.OpenAI(base_url=f"{echo.url}/v1", api_key="none", max_retries=0)
    assert client.responses.create(model="gpt-5", input=talk(2)).output_text == "And now?"
    with client.responses.stream(model="gpt-5", input=talk(2)) as events:
        assert events.get_final_response().output_text == "And now?"
    claude = anthropic.Anthropic(base_url=echo.url, api_key="none", max_retries=0)
    asked: Any = {"model": "claude-opus-5", "messages": talk(2)}
    assert claude.messages.create(**asked, max_tokens=50).content[0].text == "And now?"
    with claude.messages.stream(**asked, max_tokens=50) as told:
        assert told.get_final_text() == "And now?"
    assert claude.messages.count_tokens(**asked).input_tokens > 50
    assert client.responses.input_tokens.count(model="gpt-5", input=talk(2)).input_tokens > 50
    with pytest.raises(openai.NotFoundError, match="an echo has no"):
        client.embeddings.create(model="e", input="words")


def test_an_echo_says_no_more_than_it_is_asked_for(echo: Served) -> None:
    client = openai.OpenAI(base_url=f"{echo.url}/v1", api_key="none", max_retries=0)
    asked: Any = [{"role": "user", "content": "one two three four"}]
    limits: Any = ({"max_tokens": 3}, {"max_completion_tokens": 3}, {"max_tokens": 4})
    told = [client.chat.completions.create(model="gpt-5", messages=asked, **limit) for limit in limits]
    said = [(one.choices[0].message.content, one.choices[0].finish_reason) for one in told]
    assert said == [("one two three ", "length")] * 2 + [("one two three four", "stop")]
    chunks = list(client.chat.completions.create(model="gpt-5", messages=asked, max_tokens=3, stream=True))
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    whole = client.responses.create(model="gpt-5", input=asked, max_output_tokens=3)
    assert (whole.output_text, whole.status) == ("one two three ", "incomplete")
    assert whole.incomplete_details is not None
    assert whole.incomplete_details.reason == "max_output_tokens"
    streamed = list(client.responses.create(model="gpt-5", input=asked, max_output_tokens=3, stream=True))
    assert streamed[-1].type == "response.incomplete"
    claude = anthropic.Anthropic(base_url=echo.url, api_key="none", max_retries=0)
    message = claude.messages.create(model="claude-opus-5", messages=asked, max_tokens=3)
    assert (message.content[0].text, message.stop_reason) == ("one two three ", "max_tokens")  # type: ignore[union-attr]  # it says text
    with claude.messages.stream(model="claude-opus-5", messages=asked, max_tokens=3) as events:
        assert events.get_final_message().stop_reason == "max_tokens"


def test_what_an_echo_cannot_read_is_refused_as_a_provider_would(echo: Served) -> None:
    client = openai.OpenAI(base_url=f"{echo.url}/v1", api_key="none", max_retries=0)
    asked: Any = {"model": "gpt-5", "messages": 5}
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**asked, extra_headers={"x-sash-bypass": "true"})


class Started(Local):
    """The model that the tests have started already."""

    def __init__(self, server: LocalServer) -> None:
        super().__init__()
        self._running = server

    def address(self) -> str:
        return self._running.url


def test_the_small_model_answers_in_the_place_of_a_provider(model_server: LocalServer) -> None:
    asyncio.run(asked_of(model_server))


async def asked_of(model_server: LocalServer) -> None:
    courier = Courier(ProxySetup(), local=Started(model_server))
    body = b'{"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}'
    headers = [(b"content-type", b"application/json"), (b"host", b"elsewhere")]
    for kind, path in (("openai", "/v1/chat/completions"), ("anthropic", "/v1/messages")):
        upstream = upstream_at("local", kind)  # type: ignore[arg-type]  # one of the kinds
        answer = await courier.ask(Errand(upstream=upstream, method="POST", path=path, headers=headers, body=body))
        told, whole = await answer.read(100_000)
        assert (answer.status, whole) == (200, True)
        assert MODEL.encode() in told or b"usage" in told
        await answer.close()
    await courier.close()


def test_what_is_neither_an_address_nor_within_is_refused_with_what_there_is() -> None:
    with pytest.raises(InvalidUpstream, match="'echo' or 'local'"):
        upstream_at("ollama", "openai")
