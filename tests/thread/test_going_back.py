"""Going back in a long thread costs what lies between, not the whole of its log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sash.core.event import Event
from sash.store import MemoryStore
from sash.thread import Thread
from tests.builders import words
from tests.thread.speaking import opened

LONG = 3_000
RECENT = 1_500
"""Events that may be read for something that happened a moment ago."""


class Counting(MemoryStore):
    """Counts the events that are read from it, beside those few that say what stands."""

    read = 0

    def events(self, *given: Any, **asked: Any) -> Iterator[Event]:
        for event in super().events(*given, **asked):
            self.read += event.kind == "message"
            yield event


def talk(thread: Thread, messages: int) -> None:
    for _ in range(messages // 100):
        pair = [{"role": "user", "content": words(15)}, {"role": "assistant", "content": words(15)}]
        thread.append(pair * 50)


@pytest.fixture(scope="module")
def long() -> tuple[Counting, Thread]:
    store = Counting()
    thread = opened(store)
    talk(thread, LONG)
    thread.mark("late")
    talk(thread, 200)
    return store, thread


def read_by(store: Counting, command: Any) -> int:
    before = store.read
    command()
    return store.read - before


def test_undo_rewind_fork_and_a_recent_request_read_what_is_near(long: tuple[Counting, Thread]) -> None:
    store, thread = long
    at = thread.seq - 300
    assert read_by(store, lambda: thread.request(at=at)) < RECENT
    assert read_by(store, thread.undo) < RECENT
    assert read_by(store, lambda: thread.rewind("late")) < RECENT
    assert read_by(store, lambda: thread.fork("near", at=at)) < RECENT
    assert read_by(store, lambda: thread.redact(thread.seq - 210)) < RECENT
    assert read_by(store, lambda: opened(store).request()) < RECENT
    assert thread.verify().ok
    assert opened(store, name="near").verify().ok


def test_what_they_give_is_what_the_whole_log_gives(long: tuple[Counting, Thread]) -> None:
    _, thread = long
    tail = thread.tail
    for at in range(200, thread.seq, 477):
        near, anew = tail.folded(until=at)[0], tail.folded(until=at, anew=True)[0]
        assert near.checkpoint() == anew.checkpoint(), at
