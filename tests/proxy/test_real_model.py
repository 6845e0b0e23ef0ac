"""A real model with a real limit: what is refused without the proxy is answered through it."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from sash.providers.local import LocalServer
from sash.server.proxy import ProxySetup, Upstreams
from tests.model_server import MODEL, model_server
from tests.proxy.running import served

__all__ = ["model_server"]


def long_talk() -> Any:
    """One long answer, long ago: when it has left, little is left to read for a model that reads slowly."""
    told = "The lighthouse keeper wrote it all down. " * 500
    said = [{"role": "user", "content": "My name is Ada."}, {"role": "assistant", "content": told}]
    for _ in range(6):
        said += [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "He went up the stairs."}]
    return [*said, {"role": "user", "content": "Go on."}]


def test_a_model_with_a_small_window_answers_a_long_talk(model_server: LocalServer) -> None:
    said = long_talk()
    direct = openai.OpenAI(base_url=f"{model_server.url}/v1", api_key="k", max_retries=0)
    with pytest.raises(openai.BadRequestError, match="exceed"):
        direct.chat.completions.create(model=MODEL, messages=said, max_tokens=3)
    addresses = Upstreams(openai=f"{model_server.url}/v1", anthropic=model_server.url)
    with served(ProxySetup(upstreams=addresses)) as proxy:
        client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
        asked: Any = {"model": MODEL, "messages": said, "max_tokens": 3}
        told = client.chat.completions.with_raw_response.create(**asked)
        assert told.parse().usage.prompt_tokens < 4_096
        assert int(told.headers["x-sash-frame"]) > 0
        assert proxy.told(1)[0].retried
        # From then on its limit is known.
        stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
        assert any(chunk.choices and chunk.choices[0].delta.content for chunk in stream)
        assert not proxy.told(2)[1].retried
        claude = anthropic.Anthropic(base_url=proxy.url, api_key="k", max_retries=0)
        assert claude.messages.create(**asked).usage.input_tokens < 4_096
        # This server takes what a model said only as an item that names its type.
        items: Any = [{"type": "message"} | one for one in said]
        answered = client.responses.create(model=MODEL, input=items, max_output_tokens=3)
        assert answered.usage is not None
        assert 0 < answered.usage.input_tokens < 4_096
        assert answered.output_text
        assert [model.id for model in client.models.list()] == [MODEL]
