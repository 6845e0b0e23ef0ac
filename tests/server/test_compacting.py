"""Compact: never beside a running turn; a summary by the provider is checked before it stands."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from sash.providers import Event
from sash.server.setup import ServerSetup
from tests.scripted import Reply, Scripted
from tests.server.serving import Running, running
from tests.server.speaking import Scripted as Told
from tests.server.speaking import finished, said, slowly, using

GOOD = '## Task\n- "the deadline is friday" [t1]\n\n## Names\n- The deadline is friday [t1]'


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(ServerSetup(port=0, store="memory:", provider="echo", drain_seconds=1.0)) as started:
        yield started


def recent(server: Running, *turns: str) -> str:
    """A thread of seed 004, with a few turns."""
    using(server, Told(lambda request: said_back()))
    place: str = server.post("/v1/threads", {"policy": "recent"}, status=201)["threadId"]
    for words in turns:
        said(server, place, words)
    return place


def prompt_of(server: Running, place: str) -> str:
    prompt: str = server.get(f"/v1/threads/{place}/request")["request"]["prompt"]
    return prompt


def compacted(server: Running, place: str, reply: Reply, **asked: Any) -> Any:
    using(server, Scripted(reply))
    return server.ask("POST", f"/v1/threads/{place}/compact", asked)


async def said_back() -> AsyncGenerator[Event]:
    yield finished("So it is.")


def test_while_a_turn_runs_a_compaction_is_a_conflict_and_the_window_stays(server: Running) -> None:
    using(server, Told(lambda request: said_back()))
    place = server.post("/v1/threads", {}, status=201)["threadId"]
    for number in range(6):
        said(server, place, f"turn {number}: " + "words and more words " * 60)
    provider = Told(slowly)
    using(server, provider)
    turn = server.post(f"/v1/threads/{place}/turns", {"input": "go on", "background": True}, status=202)["turnId"]
    while not provider.requests:
        time.sleep(0.01)
    before = server.get(f"/v1/threads/{place}/frames")
    refused = server.ask("POST", f"/v1/threads/{place}/compact", {})
    assert refused.status_code == 409
    assert server.get(f"/v1/threads/{place}/frames") == before
    server.post(f"/v1/turns/{turn}/cancel")


def test_under_seed_004_the_provider_writes_the_summary_and_no_boundary_moves(server: Running) -> None:
    place = recent(server, "the deadline is friday")
    done = compacted(server, place, GOOD).json()
    assert done["summary"] == GOOD
    assert done["boundary"] <= 1
    assert GOOD in prompt_of(server, place)
    [revision] = server.get(f"/v1/threads/{place}/summaries")["revisions"]
    assert (revision["by"], revision["until"]) == ("model", 2)
    turns = server.get(f"/v1/threads/{place}/history?includeInternal=true")["turns"]
    assert [turn["isInternal"] for turn in turns] == [False, True]
    assert turns[-1]["responseText"] == GOOD
    said(server, place, "and now?")
    prompt = prompt_of(server, place)
    assert GOOD in prompt
    assert "User: the deadline is friday" in prompt


def test_a_summary_that_is_too_long_loses_whole_lines(server: Running) -> None:
    place = recent(server, "the deadline is friday")
    done = compacted(server, place, GOOD, maxSummaryChars=60).json()
    assert done["summary"] == GOOD.partition("\n\n")[0]
    assert done["summaryChars"] == len(done["summary"]) <= 60


def test_what_the_turns_do_not_say_is_taken_out(server: Running) -> None:
    place = recent(server, "the deadline is friday")
    compacted(server, place, f"{GOOD}\n- The budget is 90,000 euros [t1]")
    [revision] = server.get(f"/v1/threads/{place}/summaries")["revisions"]
    assert "euros" not in revision["text"]
    assert revision["removed"] == 1


@pytest.mark.parametrize(
    "bad", [(GOOD, "length"), (GOOD, "refused"), "", "Sure, I will.", "## Names\n- The budget is 90,000 euros [t1]"]
)
def test_a_bad_summary_never_replaces_the_old_one(server: Running, bad: Reply) -> None:
    place = recent(server, "the deadline is friday")
    compacted(server, place, GOOD)
    using(server, Told(lambda request: said_back()))
    said(server, place, "and now?")
    refused = compacted(server, place, bad)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")
    assert GOOD in prompt_of(server, place)
    failed = server.get(f"/v1/threads/{place}/history?includeInternal=true")["turns"][-1]
    assert (failed["isInternal"], failed["status"]) == (True, "failed")
    assert failed["errorMessage"] == refused.json()["error"]["message"]


def test_a_compaction_that_takes_long_can_be_cancelled_and_lets_the_next_turn_run(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sash.server.compacting.BEAT_SECONDS", 0.05)
    place = recent(server, "the deadline is friday")
    provider = Told(slowly)
    using(server, provider)
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(server.ask("POST", f"/v1/threads/{place}/compact", {})))
    asking.start()
    while not provider.requests:
        time.sleep(0.01)
    assert server.ask("POST", f"/v1/threads/{place}/turns", {"input": "hello", "stream": False}).status_code == 409
    internal = server.get(f"/v1/threads/{place}/history?includeInternal=true")["turns"][-1]
    server.post(f"/v1/turns/{internal['turnId']}/cancel")
    asking.join(20)
    assert answers[0].status_code == 409
    using(server, Told(lambda request: said_back()))
    said(server, place, "and now?")


@pytest.mark.parametrize(
    "given", [{"system": "Be brief."}, {"tools": [{"type": "function", "function": {"name": "f"}}]}]
)
def test_what_a_prompt_of_text_has_no_place_for_is_refused(server: Running, given: dict[str, Any]) -> None:
    refused = server.ask("POST", "/v1/threads", {"policy": "recent", **given})
    assert refused.status_code == 400
    assert "has no place" in refused.json()["error"]["message"]
    place = recent(server)
    assert server.ask("PATCH", f"/v1/threads/{place}", given).status_code == 400
    made = server.post("/v1/threads", given, status=201)["threadId"]
    assert server.ask("PATCH", f"/v1/threads/{made}", {"policy": "recent"}).status_code == 400
