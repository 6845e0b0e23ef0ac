"""A server that is killed in the middle of a turn: nothing is lost, nothing runs for ever, and it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

import sash
from tests.server.speaking import events_of
from tests.store.server import Server

SLOW = """
import sys
from sash.providers.echo import Echo
from sash.server import answering
pause = float(sys.argv.pop(1))
answering.provider_named = lambda name, **_: Echo(pause_seconds=pause)
from sash.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""`sash serve` whose echo thinks about each word."""


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.client = httpx2.Client(base_url=url, timeout=30)

    def kill(self) -> None:
        """As a power cut would, for all it notices."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(20)

    def get(self, path: str) -> Any:
        response = self.client.get(path)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: Any) -> Any:
        response = self.client.post(path, json=body)
        assert response.status_code in (200, 201, 202), response.text
        return response.json()


@contextmanager
def served(store: str, *, pause: float = 0.0) -> Iterator[Served]:
    command = [sys.executable, "-c", SLOW, str(pause), "serve", "--port", "0", "--store", store, "--provider", "echo"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("sash serves "))
        started = Served(process, line.split()[2])
        yield started
        started.client.close()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/sash.db"
    running: Server = request.getfixturevalue("postgres")
    return running.app_url(running.filled())


def begun(server: Served, place: str, words: str) -> list[str]:
    """Start a turn and read until some words have come; what was seen of it."""
    seen: list[str] = []
    with server.client.stream("POST", f"/v1/threads/{place}/turns", json={"input": words}) as answer:
        for line in answer.iter_lines():
            seen.append(line)
            if sum("message_delta" in one for one in seen) > 4 and not line:
                server.kill()
                break
    return seen


def settled(server: Served, place: str) -> list[dict[str, Any]]:
    """The history once nothing runs any more."""
    end = time.monotonic() + 30
    while True:
        turns: list[dict[str, Any]] = server.get(f"/v1/threads/{place}/history?includeEvents=true")["turns"]
        if all(turn["status"] != "running" for turn in turns):
            return turns
        assert time.monotonic() < end, "a turn runs for ever"
        time.sleep(0.05)


def test_a_turn_that_was_cut_off_by_a_kill_is_interrupted_and_the_thread_goes_on(store: str) -> None:
    place = f"cut-{uuid4().hex[:8]}"
    words = "one two three four five six seven eight nine ten eleven twelve"
    with served(store, pause=0.05) as first:
        first.post("/v1/threads", {"threadId": place})
        first.post(f"/v1/threads/{place}/turns", {"input": "before", "stream": False})
        seen = events_of(begun(first, place, words))
    with served(store) as second:
        turns = settled(second, place)
        assert [(turn["requestText"], turn["status"]) for turn in turns] == [
            ("before", "completed"),
            (words, "interrupted"),
        ]
        cut = turns[1]
        assert cut["stopReason"] == "interrupted"
        # Whatever a client has seen is still there, under the same numbers.
        stored = {event["seq"]: (event["type"], event["data"]) for event in cut["events"]}
        for event in seen:
            fields = {name: value for name, value in event.fields.items() if name not in ("seq", "type", "turnId")}
            assert stored[event.id] == (event.name, fields)
        assert sorted(stored) == list(range(1, len(stored) + 1))
        told = "".join(data["text"] for kind, data in stored.values() if kind == "message_delta")
        assert words.startswith(told)
        assert cut["responseText"] == told
        # The next request has all of it, once and in order.
        second.post(f"/v1/threads/{place}/messages", {"messages": [{"role": "user", "content": "and now?"}]})
        sent = second.get(f"/v1/threads/{place}/request?wire=openai-chat")["request"]["messages"]
        assert [(message["role"], message["content"]) for message in sent] == [
            ("user", "before"),
            ("assistant", "before"),
            ("user", words),
            ("assistant", told),
            ("user", "and now?"),
        ]


def test_of_two_servers_on_one_store_one_goes_on_where_the_other_was_killed(store: str) -> None:
    place = f"two-{uuid4().hex[:8]}"
    words = " ".join(f"word{number}" for number in range(200))
    with served(store, pause=0.05) as first, served(store) as second:
        first.post("/v1/threads", {"threadId": place})
        second.post(f"/v1/threads/{place}/turns", {"input": "said to the second", "stream": False})
        turn = first.post(f"/v1/threads/{place}/turns", {"input": words, "background": True})["turnId"]
        busy = second.client.post(f"/v1/threads/{place}/turns", json={"input": "too soon"})
        assert busy.status_code == 409
        # Followed from the other process while it runs.
        with second.client.stream("GET", f"/v1/turns/{turn}/events") as answer:
            for line in answer.iter_lines():
                if "message_delta" in line:
                    break
        first.kill()
        waited = second.client.post(
            f"/v1/threads/{place}/turns", json={"input": "go on", "stream": False, "waitSeconds": 30}, timeout=60
        )
        assert waited.status_code == 200, waited.text
        turns = settled(second, place)
        assert [turn["status"] for turn in turns] == ["completed", "interrupted", "completed"]
        assert turns[2]["responseText"] == "go on"
        second.kill()
    with served(store) as third:
        # What two dead servers left is what the third goes on from.
        assert [turn["status"] for turn in settled(third, place)] == ["completed", "interrupted", "completed"]
        third.post(f"/v1/threads/{place}/turns", {"input": "and again", "stream": False})
        assert settled(third, place)[3]["responseText"] == "and again"


def half_said(first: Served, place: str, words: str) -> str:
    """A turn of the first server that has begun to answer; its id."""
    turn: str = first.post(f"/v1/threads/{place}/turns", {"input": words, "background": True})["turnId"]
    with first.client.stream("GET", f"/v1/turns/{turn}/events") as answer:
        assert any("message_delta" in line for line in answer.iter_lines())
    return turn


def sent(server: Served, place: str) -> list[tuple[str, str]]:
    """What the next request says, and who says it."""
    messages = server.get(f"/v1/threads/{place}/request?wire=openai-chat")["request"]["messages"]
    return [(message["role"], message["content"]) for message in messages]


def test_what_a_killed_server_had_half_said_stays_in_its_turn_and_not_in_the_next_that_waited(store: str) -> None:
    place = f"waited-{uuid4().hex[:8]}"
    words = " ".join(f"word{number}" for number in range(500))
    with served(store, pause=0.02) as first, served(store) as second, ThreadPoolExecutor() as clients:
        first.post("/v1/threads", {"threadId": place})
        half_said(first, place, words)
        asked = {"input": "go on", "stream": False, "waitSeconds": 30}
        waiting = clients.submit(second.post, f"/v1/threads/{place}/turns", asked)
        time.sleep(0.3)
        first.kill()
        killed = time.monotonic()
        assert waiting.result(30)["responseText"] == "go on"
        # Its owner is known to be dead: nobody waits for its lease, or for the next look.
        assert time.monotonic() - killed < 3
        cut, after = settled(second, place)
        assert (cut["status"], after["status"]) == ("interrupted", "completed")
        told = "".join(event["data"]["text"] for event in cut["events"] if event["type"] == "message_delta")
        assert told
        assert words.startswith(told)
        assert cut["responseText"] == told
        assert sent(second, place) == [
            ("user", words), ("assistant", told), ("user", "go on"), ("assistant", "go on"),
        ]  # fmt: skip


def test_a_turn_after_a_kill_is_not_turned_away_for_the_dead(store: str) -> None:
    place = f"dead-{uuid4().hex[:8]}"
    with served(store, pause=0.02) as first, served(store) as second:
        first.post("/v1/threads", {"threadId": place})
        turn = half_said(first, place, "a long way " * 200)
        with second.client.stream("GET", f"/v1/turns/{turn}/events") as following:
            lines = following.iter_lines()
            assert any(line.startswith("data:") and "message_delta" in line for line in lines)
            first.kill()
            # Whoever follows it elsewhere is told how it ended.
            assert events_of(lines)[-1].fields["stopReason"] == "interrupted"
        asked = {"input": "go on", "stream": False, "waitSeconds": 0}
        assert second.post(f"/v1/threads/{place}/turns", asked)["responseText"] == "go on"


@contextmanager
def summarizing(store: str) -> Iterator[subprocess.Popen[str]]:
    """A worker beside them, in a process of its own, that takes a moment for each answer."""
    command = [sys.executable, "-m", "tests.summarize.killed_worker", store, "", "0.05"]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.soak
def test_two_servers_and_a_worker_that_are_killed_in_turn_lose_nothing(store: str) -> None:
    place = f"turns-{uuid4().hex[:8]}"
    said = 0

    def talk(server: Served, turns: int) -> None:
        nonlocal said
        for _ in range(turns):
            said += 1
            words = f"Please set value_{said} to {1000 + said} in conf/part{said}.toml. " + "And so on. " * 100
            asked = {"input": words, "stream": False, "waitSeconds": 30}
            answer = server.client.post(f"/v1/threads/{place}/turns", json=asked, timeout=60)
            assert answer.status_code == 200, answer.text

    with ExitStack() as stack:
        servers = [stack.enter_context(served(store)) for _ in range(2)]
        worker = stack.enter_context(summarizing(store))
        servers[0].post("/v1/threads", {"threadId": place, "policy": "best", "historyTokens": 6_000})
        talk(servers[0], 5)
        for number in range(4):
            # Whoever's turn it is goes, and the others go on; then somebody takes its place.
            if number % 2:
                worker.kill()
                worker.wait(20)
                talk(servers[0], 4)
                worker = stack.enter_context(summarizing(store))
            else:
                servers[0].kill()
                talk(servers[1], 4)
                servers = [servers[1], stack.enter_context(served(store))]
        end = time.monotonic() + 60
        while True:
            revisions = servers[0].get(f"/v1/threads/{place}/summaries")["revisions"]
            boundary = servers[0].get(f"/v1/threads/{place}")["boundary"]
            if revisions and revisions[-1]["until"] >= boundary:
                break
            assert time.monotonic() < end, "a summary is due for ever"
            time.sleep(0.1)
        # Nothing is lost: every turn is there, once, and was answered.
        turns = settled(servers[1], place)
        assert [turn["number"] for turn in turns] == list(range(1, said + 1))
        assert {turn["status"] for turn in turns} == {"completed"}
        assert all(turn["responseText"] == turn["requestText"] for turn in turns)
        # Nothing is doubled: each revision covers more than the one before, and tells no turn twice.
        ends = [revision["until"] for revision in revisions]
        assert ends == sorted(set(ends))
        for number in range(1, ends[-1]):
            assert revisions[-1]["text"].count(f"conf/part{number}.toml") <= 1
        # Both would send the same.
        asked = f"/v1/threads/{place}/request?wire=openai-chat"
        assert servers[0].get(asked) == servers[1].get(asked)
    with sash.open(place, store=store) as thread:
        assert thread.verify().problems == ()


def test_a_turn_is_cancelled_from_another_process(store: str) -> None:
    place = f"cancel-{uuid4().hex[:8]}"
    words = " ".join(f"word{number}" for number in range(2000))
    with served(store, pause=0.05) as first, served(store) as second:
        first.post("/v1/threads", {"threadId": place})
        turn = first.post(f"/v1/threads/{place}/turns", {"input": words, "background": True})["turnId"]
        second.post(f"/v1/turns/{turn}/cancel", {})
        turns = settled(second, place)
        assert turns[0]["status"] == "cancelled"
