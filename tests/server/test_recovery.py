"""Answers that a process left behind when it died: where they go, and how one is known to be dead."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from sash.server.owner import is_dead, own_name
from sash.server.setup import ServerSetup
from sash.server.told import told
from sash.store import NewRun, RunRow
from sash.thread import Thread
from tests.server.serving import Running, running

DEAD = -1.0
"""A lease that was over before it began: its owner is taken for dead."""


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(ServerSetup(port=0, store="memory:", provider="echo")) as started:
        yield started


def asked(server: Running, words: str) -> tuple[str, Thread]:
    """A thread in which the user has spoken."""
    place = f"left-{uuid4().hex[:8]}"
    server.post("/v1/threads", {"threadId": place}, status=201)
    thread = server.backend.handles.thread("", place)
    thread.append({"role": "user", "content": words})
    return place, thread


def left_behind(server: Running, thread: Thread, *words: str) -> RunRow:
    """A turn of another process, which died after it had told these words."""
    store = server.backend.store
    run = store.start_run("", thread.id, NewRun(id=uuid4().hex, owner="elsewhere/1/1/x", turn=1), lease_seconds=DEAD)
    deltas = [told("message_delta", text=word) for word in words]
    return store.write_run("", run.id, run.owner, deltas, lease_seconds=DEAD)


def go_on(server: Running, place: str) -> list[dict[str, Any]]:
    """The next turn, which need not wait; the history after it."""
    server.post(f"/v1/threads/{place}/turns", {"input": "go on", "stream": False, "waitSeconds": 0})
    turns: list[dict[str, Any]] = server.get(f"/v1/threads/{place}/history")["turns"]
    return turns


def test_what_was_half_said_stands_in_its_turn_before_the_next_one_begins(server: Running) -> None:
    place, thread = asked(server, "tell me")
    left_behind(server, thread, "Once ", "upon ")
    told_first, then = go_on(server, place)
    assert (told_first["responseText"], told_first["status"]) == ("Once upon ", "interrupted")
    assert (then["responseText"], then["status"]) == ("go on", "completed")


def test_an_answer_that_was_stored_whole_before_its_process_died_is_there_once(server: Running) -> None:
    place, thread = asked(server, "tell me")
    left_behind(server, thread, "Once ", "upon ")
    thread.append({"role": "assistant", "content": "Once upon a time."})
    assert go_on(server, place)[0]["responseText"] == "Once upon a time."


def test_what_was_half_said_never_stands_in_a_turn_that_began_since(server: Running) -> None:
    place, thread = asked(server, "tell me")
    left_behind(server, thread, "Once ", "upon ")
    thread.append({"role": "user", "content": "no, rather not"})
    server.backend.runner.recovery.recover()
    first, second = server.get(f"/v1/threads/{place}/history")["turns"]
    # It is told as far as it was told, and the log stays as it was.
    assert (first["responseText"], first["status"]) == ("Once upon ", "interrupted")
    assert second["responseText"] == ""


def test_a_compaction_is_not_kept_waiting_by_the_dead(server: Running) -> None:
    place, thread = asked(server, "tell me")
    left_behind(server, thread, "Once ")
    assert server.post(f"/v1/threads/{place}/compact", {})["status"] == "completed"


def test_a_process_that_nobody_has_buried_is_dead() -> None:
    said = "from sash.server.owner import own_name; print(own_name(), flush=True); import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", said], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        owner = process.stdout.readline().strip()
        assert not is_dead(owner)
        process.kill()
        # It has ended, and is not waited for.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_dead(owner)
    assert is_dead(owner)
    assert not is_dead(own_name())
