"""Real sessions, replayed request by request: valid, within budget, and the head moves only with a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from sash.core.frame import Frame
from sash.core.message import stands_beside
from sash.core.policy import Policy
from sash.errors import WindowOverflow
from sash.fitting import Fitted, fit
from sash.wire import read_list, wire_named
from sash.wire.json_text import as_json
from tests.core.invariants import check_budget, check_counted_right, check_whole_turns
from tests.fit.transcripts import SOAK, History, coding_agents, openhands, swe_agent, tau_bench
from tests.real import needs_data

pytestmark = needs_data

CAPS = [1_000, 2_000, 8_000, 30_000, 100_000]
PRESETS = {
    "sliding": Policy.sliding(2_000),
    "priority": Policy.priority(10_000),
    "threshold": Policy.threshold(6_000),
    "recent": Policy.recent(3),
    "chat": Policy.chat(),
}


def replay(history: History, *, wire: str, model: str, policy: Policy, points: int = 0) -> tuple[int, int]:
    """All requests of a session, or the last so many of them; how many there were, and of how many frames."""
    requests = frames = 0
    last: tuple[Frame, list[bytes]] | None = None
    where = [end for end, said in enumerate(history, 1) if said["role"] in ("user", "tool")]
    for end in where[-points:]:
        try:
            fitted = fit(history[:end], wire=wire, model=model, policy=policy)
        except WindowOverflow:
            last = None
            continue
        requests += 1
        check_valid(fitted, wire)
        fold = fitted.fold
        assert fitted.tokens.value <= fold.limits.hard
        if fold.placing.calls_open:
            # Stubs stand for the results that are missing: the next request may have them.
            continue
        check_whole_turns(fold)
        check_counted_right(fold)
        if policy.check == "request" and history[end - 1]["role"] == "user":
            check_budget(fold)
        # What stands with the current input leaves with it.
        said = [message for message in fitted.said() if not any(map(stands_beside, message.blocks))]
        written = [*map(wire_named(wire).write_message, said)]
        if last is not None and last[0] == fold.frame:
            assert written[: len(last[1])] == last[1], f"the head moved without a frame at message {end}"
        else:
            frames += 1
        last = (fold.frame, written)
    return requests, frames


def check_valid(fitted: Fitted, wire: str) -> None:
    spoken = wire_named(wire)
    assert spoken.problems(read_list(as_json(fitted.messages), wire)) == ()


def chats() -> Iterator[History]:
    yield from tau_bench(1 if SOAK else 20)
    yield from swe_agent()
    yield from openhands()


@pytest.mark.parametrize("cap", CAPS)
def test_chat_sessions_at_each_cap(cap: int) -> None:
    totals = [replay(said, wire="openai-chat", model="gpt-4o", policy=Policy(history_tokens=cap)) for said in chats()]
    _check_totals(totals, slides=cap <= 8_000)


@pytest.mark.parametrize("preset", PRESETS)
def test_chat_sessions_under_each_preset(preset: str) -> None:
    totals = [replay(said, wire="openai-chat", model="gpt-4o", policy=PRESETS[preset]) for said in chats()]
    _check_totals(totals, slides=preset != "chat")


@pytest.mark.parametrize("cap", CAPS)
def test_sessions_of_coding_agents_at_each_cap(cap: int) -> None:
    policy = Policy(history_tokens=cap)
    totals = [
        replay(said, wire="anthropic", model="claude-sonnet-4-5", policy=policy, points=0 if SOAK else 25)
        for said in coding_agents()
    ]
    _check_totals(totals, slides=cap <= 30_000)


@pytest.mark.parametrize("preset", PRESETS)
def test_sessions_of_coding_agents_under_each_preset(preset: str) -> None:
    totals = [
        replay(said, wire="anthropic", model="claude-sonnet-4-5", policy=PRESETS[preset], points=0 if SOAK else 15)
        for said in coding_agents()
    ]
    _check_totals(totals, slides=False)


def _check_totals(totals: Sequence[tuple[int, int]], *, slides: bool) -> None:
    requests, frames = sum(count for count, _ in totals), sum(count for _, count in totals)
    assert requests > 20
    if slides:
        assert frames > len(totals), "no window ever slid: nothing was proved"
