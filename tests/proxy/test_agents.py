"""Agents of others, unchanged: a hundred steps with tools, through a small window."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable
from itertools import pairwise

import pytest

from sash import Policy
from tests.proxy.running import Served, served, setup_for
from tests.proxy.upstream import Received, ScriptedUpstream, Talk, completion

STEPS = 100
WINDOW = 6_000
POLICY = Policy(window=WINDOW, history_tokens=3_000)


def calling(upstream: ScriptedUpstream) -> Callable[[Received, Talk], None]:
    """A model that calls a tool in each of so many steps, and then says that it is done."""

    def answer(received: Received, talk: Talk) -> None:
        number = len(upstream.requests)
        call = (f"call_{number}", "look_up", json.dumps({"number": number}))
        done = number > STEPS
        told = completion(
            received.wire, "done" if done else "", read=len(received.body) // 4, calls=() if done else (call,)
        )
        talk.answer(200, json.dumps(told).encode())

    return answer


def found(number: int) -> str:
    """What the tool gives back."""
    return f"Entry {number}: " + "a line of what was found in the archive. " * 12


def held(upstream: ScriptedUpstream) -> None:
    """Every request was valid and small, and most went on from the one before."""
    assert len(upstream.requests) == STEPS + 1
    assert upstream.faults == []
    sizes = [len(received.body) // 4 for received in upstream.requests]
    assert max(sizes) <= WINDOW
    grown = 0
    for before, after in pairwise(upstream.requests):
        grown += after.messages[: len(before.messages)] == before.messages
    assert grown >= 0.8 * STEPS
    assert "Entry 100" in json.dumps(upstream.last.messages[-1])


@pytest.mark.parametrize("kind", ["chat", pytest.param("responses", marks=pytest.mark.soak)])
def test_an_agent_of_the_agents_sdk_runs_a_hundred_steps(upstream: ScriptedUpstream, kind: str) -> None:
    agents = pytest.importorskip("agents")
    import openai

    agents.set_tracing_disabled(True)
    upstream.default = calling(upstream)

    async def run(proxy: Served) -> str:
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0) as client:
            made = agents.OpenAIChatCompletionsModel if kind == "chat" else agents.OpenAIResponsesModel
            agent = agents.Agent(
                name="archivist",
                instructions="Look everything up.",
                tools=[agents.function_tool(_look_up)],
                model=made(model="some-model", openai_client=client),
            )
            result = await agents.Runner.run(agent, "Look up all entries.", max_turns=STEPS + 5)
            return str(result.final_output)

    with served(setup_for(upstream, policy=POLICY)) as proxy:
        assert asyncio.run(run(proxy)) == "done"
    held(upstream)


async def _look_up(number: int) -> str:
    """Look an entry up.

    Args:
        number: Which one.
    """
    return found(number)


_look_up.__name__ = "look_up"


def test_an_agent_of_langchain_runs_a_hundred_steps(upstream: ScriptedUpstream) -> None:
    with warnings.catch_warnings():
        # Its own imports warn of their own future.
        warnings.simplefilter("ignore")
        langchain_agents = pytest.importorskip("langchain.agents")
        tools = pytest.importorskip("langchain_core.tools")
        langchain_openai = pytest.importorskip("langchain_openai")
        upstream.default = calling(upstream)

        @tools.tool  # type: ignore[untyped-decorator]  # imported where it is there
        def look_up(number: int) -> str:
            """Look an entry up."""
            return found(number)

        with served(setup_for(upstream, policy=POLICY)) as proxy:
            model = langchain_openai.ChatOpenAI(
                model="some-model", base_url=f"{proxy.url}/v1", api_key="k", max_retries=0
            )
            agent = langchain_agents.create_agent(model, [look_up], system_prompt="Look everything up.")
            said = {"messages": [{"role": "user", "content": "Look up all entries."}]}
            result = agent.invoke(said, {"recursion_limit": 3 * STEPS})
    assert result["messages"][-1].content == "done"
    held(upstream)
