"""Opening a thread finds its request finished: the same bytes, and no more is read than is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from sash.core.event import Event
from sash.core.policy import Policy
from sash.errors import DamagedDatabase
from sash.store import MemoryStore, Store
from sash.thread import Thread
from tests.builders import WIRES, Call, Script, lines, words
from tests.thread.speaking import opened, say

WORKING = Policy(
    counter="chars4",
    history_tokens=3_000,
    window=20_000,
    shorten_over_tokens=60,
    protect_results_tokens=400,
    worth_tokens=10,
)


class Watched(MemoryStore):
    """Tells what is read from it."""

    def __init__(self) -> None:
        super().__init__()
        self.events_read = 0
        self.bodies_read = 0

    def events(self, *given: Any, **asked: Any) -> Iterator[Event]:
        for event in super().events(*given, **asked):
            self.events_read += 1
            yield event

    def bodies(self, *given: Any, **asked: Any) -> Mapping[int, bytes]:
        before = self.events_read
        found = super().bodies(*given, **asked)
        self.events_read, self.bodies_read = before, self.bodies_read + len(found)
        return found


def work(thread: Thread, turns: int, *, wire: str = "openai-chat", first: int = 0) -> None:
    for number in range(first, first + turns):
        script = Script(wire).user(words(15)).assistant(words(10), Call(f"c{number}"), thinking="let me see")
        say(thread, script.results((f"c{number}", lines(20))).assistant(words(15)))
        thread.record_usage({"prompt_tokens": 900 + number, "completion_tokens": 5}, wire="openai-chat")


def behind(thread: Thread) -> int:
    """Events since the newest checkpoint."""
    head = thread.store.head(thread.tenant, thread.id)
    return head.last_seq - head.checkpoint_seq


def test_a_thread_that_is_opened_reads_what_it_sends_and_nothing_else() -> None:
    store = Watched()
    thread = opened(store, policy=WORKING)
    work(thread, 80)
    fork = thread.fork("fresh")
    sent = fork.prepared().positions
    store.events_read = store.bodies_read = 0
    again = opened(store, name="fresh", policy=WORKING)
    assert again.prepared().body == thread.prepared().body
    assert store.events_read == 0
    # Between the messages stand reports of usage; what has left, or is shown in part, is not read.
    assert store.bodies_read <= 2 * len(sent)
    assert thread.window.frame.number > 3


@pytest.mark.parametrize("spoken", [wire for wire in WIRES if wire != "flat"])
def test_whenever_a_thread_is_opened_it_goes_on_as_if_it_had_never_been_closed(spoken: str) -> None:
    store = MemoryStore()
    thread = opened(store, policy=WORKING, wire=spoken)
    most = 0
    for number in range(60):
        work(thread, 1, wire=spoken, first=number)
        again = opened(store, wire=spoken, policy=WORKING)
        for wire in (spoken, "anthropic"):
            assert again.prepared(wire=wire).body == thread.prepared(wire=wire).body, number
        most = max(most, behind(thread))
        if number % 3 == 0:
            thread = again
    assert most < 64
    assert thread.verify().ok


def test_what_left_is_known_again_although_others_have_gone_on_since() -> None:
    store = MemoryStore()
    early = opened(store, policy=WORKING)
    work(early, 40)
    early = opened(store, policy=WORKING)
    early.prepared()
    work(opened(store, policy=WORKING), 300, first=40)
    # Its checkpoint, and the digest beside it, were dropped meanwhile.
    work(early, 20, first=340)
    assert early.prepared().body == opened(store, policy=WORKING).prepared().body
    assert early.verify().ok


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[tuple[Store, Path, Thread]]:
    path = tmp_path / "threads.db"
    thread = opened(f"sqlite:///{path}", policy=WORKING)
    work(thread, 60)
    fork = thread.fork("fresh")
    yield thread.store, path, fork
    thread.close()


def changed(path: Path, sql: str, *values: object) -> None:
    """As a failing disk does: past the store."""
    connection = apsw.Connection(str(path))
    connection.execute(sql, values)
    assert connection.changes() == 1
    connection.close()


def test_a_byte_that_changed_in_the_window_is_noticed_before_it_is_sent(stored: tuple[Store, Path, Thread]) -> None:
    store, path, fork = stored
    position = next(position for position in reversed(fork.prepared().positions) if position >= 0)
    body = fork.events(since=position, until=position + 1)[0].body
    flipped = body[:-9] + bytes([body[-9] ^ 1]) + body[-8:]
    changed(path, "UPDATE log SET body = ? WHERE seq = ?", flipped, position + 1)
    again = opened(store, name="fresh", policy=WORKING)
    with pytest.raises(DamagedDatabase, match=f"event {position + 1} "):
        again.prepared()


@pytest.mark.parametrize("column", ["body", "rest"])
def test_a_damaged_checkpoint_is_no_help_and_no_harm(stored: tuple[Store, Path, Thread], column: str) -> None:
    store, path, fork = stored
    sent = fork.prepared().body
    sql = f"UPDATE checkpoint SET {column} = CAST(substr({column}, 1, 700) || 'x' AS BLOB) WHERE thread = ?"
    changed(path, sql, fork.id)
    again = opened(store, name="fresh", policy=WORKING)
    assert again.prepared().body == sent
    work(again, 20, first=60)
    assert again.verify().ok
