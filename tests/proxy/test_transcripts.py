"""Real sessions, sent as their clients would have sent them: the whole history, request by request."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from sash import Policy, fit
from tests.fit.transcripts import SOAK, coding_agents, tau_bench
from tests.proxy.running import served, setup_for
from tests.proxy.test_faults import ROUTES
from tests.proxy.upstream import ScriptedUpstream, completion
from tests.real import needs_data

WINDOW, HISTORY = 30_000, 12_000
POLICY = Policy(window=WINDOW, history_tokens=HISTORY)


def request_points(said: list[dict[str, Any]], wire: str) -> list[int]:
    """After everything that the model has to answer."""
    ends = [end for end in range(1, len(said) + 1) if said[end - 1]["role"] != "assistant"]
    if wire == "openai-chat":
        # Between two results of one step nobody asks.
        ends = [end for end in ends if end == len(said) or said[end]["role"] != "tool"]
    return ends if SOAK else ends[:: max(1, len(ends) // 25)]


def replay(upstream: ScriptedUpstream, wire: str, said: list[dict[str, Any]]) -> tuple[int, int]:
    """Send it all through a proxy; how many requests there were, and how many were sent on as they came."""
    told = json.dumps(completion(wire, "ok") | {"usage": None}).encode()
    upstream.default = lambda _, talk: talk.answer(200, told)
    untouched, frame = 0, ""
    before: list[Any] = []
    ends = request_points(said, wire)
    with served(setup_for(upstream, policy=POLICY)) as proxy, httpx2.Client(timeout=60) as client:
        for end in ends:
            sent = json.dumps({"model": "some-model", "max_tokens": 1_000, "messages": said[:end]}).encode()
            response = client.post(proxy.url + ROUTES[wire], content=sent)
            assert response.status_code == 200, response.text
            assert int(response.headers["x-sash-tokens"].lstrip("~")) <= WINDOW
            passed = upstream.last
            sound = response.headers["x-sash-frame"] == "0" and "x-sash-repairs" not in response.headers
            if sound and passed.body != sent:
                # Only a giant result, which is shortened as it comes in, is a reason before the first slide.
                assert fit(json.loads(sent), wire=wire, policy=POLICY).report.shortened
            untouched += passed.body == sent
            if response.headers["x-sash-frame"] == frame:
                # A call that was open then, and its stub, may have results now.
                assert _shared(before, passed.messages) >= len(before) - 2
            frame, before = response.headers["x-sash-frame"], passed.messages
    assert upstream.faults == []
    return len(ends), untouched


def _shared(one: list[Any], other: list[Any]) -> int:
    """How many messages both begin with."""
    alike = [a == b for a, b in zip(one, other, strict=False)]
    return alike.index(False) if False in alike else len(alike)


@needs_data
@pytest.mark.parametrize("place", range(3))
def test_sessions_of_coding_agents_stay_valid_and_in_budget(upstream: ScriptedUpstream, place: int) -> None:
    sessions = coding_agents()
    some = sessions[place::3] if SOAK else sessions[place : place + 1]
    assert sum(replay(upstream, "anthropic", said)[0] for said in some) > 1


@needs_data
def test_while_a_session_is_short_and_sound_it_passes_byte_for_byte(upstream: ScriptedUpstream) -> None:
    for said in tau_bench()[: None if SOAK else 3]:
        _, untouched = replay(upstream, "openai-chat", said)
        assert untouched > 0
