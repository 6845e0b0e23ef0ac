"""
Agents of others, unchanged: a hundred steps with tools, through a small window.

The clients themselves take most of the time: importing one takes seconds, and each walks through its
whole history for every request, so that a hundred steps cost ten times what thirty do. Thirty through
a smaller window are run with every change, a hundred with `make soak`.
"""

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

STEPS = [30, pytest.param(100, marks=pytest.mark.soak)]


def window_for(steps: int) -> int:
    """Tokens of a window that slides several times in so many steps."""
    return 60 * steps


def policy_for(steps: int) -> Policy:
    return Policy(window=window_for(steps), history_tokens=window_for(steps) // 2)


def calling(upstream: ScriptedUpstream, steps: int) -> Callable[[Received, Talk], None]:
    """A model that calls a tool in each of so many steps, and then says that it is done."""

    def answer(received: Received, talk: Talk) -> None:
        number = len(upstream.requests)
        call = (f"call_{number}", "look_up", json.dumps({"number": number}))
        done = number > steps
        told = completion(
            received.wire, "done" if done else "", read=len(received.body) // 4, calls=() if done else (call,)
        )
        talk.answer(200, json.dumps(told).encode())

    return answer


def found(number: int) -> str:
    """What the tool gives back."""
    return f"Entry {number}: " + "a line of what was found in the archive. " * 12


def held(upstream: ScriptedUpstream, steps: int) -> None:
    """Every request was valid and small, and most went on from the one before, but not all: the window slid."""
    assert len(upstream.requests) == steps + 1
    assert upstream.faults == []
    sizes = [len(received.body) // 4 for received in upstream.requests]
    assert max(sizes) <= window_for(steps)
    grown = 0
    for before, after in pairwise(upstream.requests):
        grown += after.messages[: len(before.messages)] == before.messages
    assert 0.7 * steps <= grown < steps - 1
    assert f"Entry {steps}" in json.dumps(upstream.last.messages[-1])


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("kind", ["chat", pytest.param("responses", marks=pytest.mark.soak)])
def test_an_agent_of_the_agents_sdk_runs_many_steps(upstream: ScriptedUpstream, kind: str, steps: int) -> None:
    agents = pytest.importorskip("agents")
    import openai

    agents.set_tracing_disabled(True)
    upstream.default = calling(upstream, steps)

    async def run(proxy: Served) -> str:
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0) as client:
            made = agents.OpenAIChatCompletionsModel if kind == "chat" else agents.OpenAIResponsesModel
            agent = agents.Agent(
                name="archivist",
                instructions="Look everything up.",
                tools=[agents.function_tool(_look_up)],
                model=made(model="some-model", openai_client=client),
            )
            result = await agents.Runner.run(agent, "Look up all entries.", max_turns=steps + 5)
            return str(result.final_output)

    with served(setup_for(upstream, policy=policy_for(steps))) as proxy:
        assert asyncio.run(run(proxy)) == "done"
    held(upstream, steps)


async def _look_up(number: int) -> str:
    """Look an entry up.

    Args:
        number: Which one.
    """
    return found(number)


_look_up.__name__ = "look_up"


@pytest.mark.parametrize("steps", STEPS)
def test_an_agent_of_langchain_runs_many_steps(upstream: ScriptedUpstream, steps: int) -> None:
    with warnings.catch_warnings():
        # Its own imports warn of their own future.
        warnings.simplefilter("ignore")
        langchain_agents = pytest.importorskip("langchain.agents")
        tools = pytest.importorskip("langchain_core.tools")
        langchain_openai = pytest.importorskip("langchain_openai")
        upstream.default = calling(upstream, steps)

        @tools.tool  # type: ignore[untyped-decorator]  # imported where it is there
        def look_up(number: int) -> str:
            """Look an entry up."""
            return found(number)

        with served(setup_for(upstream, policy=policy_for(steps))) as proxy:
            model = langchain_openai.ChatOpenAI(
                model="some-model", base_url=f"{proxy.url}/v1", api_key="k", max_retries=0
            )
            agent = langchain_agents.create_agent(model, [look_up], system_prompt="Look everything up.")
            said = {"messages": [{"role": "user", "content": "Look up all entries."}]}
            result = agent.invoke(said, {"recursion_limit": 3 * steps})
    assert result["messages"][-1].content == "done"
    held(upstream, steps)
