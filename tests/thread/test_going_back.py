"""Going back in a long thread costs what lies between, not the whole of its log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sets, tuples

from sash.core.event import Event
from sash.core.frame import Frame
from sash.store import MemoryStore
from sash.thread import Thread
from sash.thread.past import _left_at
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

    def events_of_turns(self, *given: Any, **asked: Any) -> Iterator[Event]:
        before = self.read
        found = list(super().events_of_turns(*given, **asked))
        self.read = before + len(found)
        yield from found


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
    for at in range(300, thread.seq, 977):
        near, anew = tail.folded(until=at)[0], tail.folded(until=at, anew=True)[0]
        assert near.checkpoint() == anew.checkpoint(), at


def test_a_page_of_turns_is_what_all_turns_say_and_reads_only_them(long: tuple[Counting, Thread]) -> None:
    store, _ = long
    thread = opened(store, name="paged")
    talk(thread, 600)
    thread.pin(7)
    thread.mark()
    talk(thread, 100)
    thread.rewind()
    thread.unpin(7)
    talk(thread, 100)
    every = thread.turns()
    assert {turn.state for turn in every} == {"live", "evicted", "rewound"}
    for before, limit in ((None, 5), (10, None), (10, 3), (10_000, 7), (0, 3), (1, None), (330, 40), (None, 10_000)):
        upto = [turn for turn in every if before is None or turn.number < before]
        assert list(thread.turns(before=before, limit=limit)) == (upto if limit is None else upto[-limit:])
    assert read_by(store, lambda: thread.turns(limit=5)) < read_by(store, thread.turns) / 2


@given(lists(tuples(integers(0, 8), sets(integers(0, 8))), max_size=12), sets(integers(0, 9)))
def test_a_turn_has_left_since_the_frame_after_which_it_was_not_shown_again(
    frames: list[tuple[int, set[int]]], numbers: set[int]
) -> None:
    made = [
        Frame(number=number, at=0, reason="high mark", boundary=boundary, carried=tuple(carried))
        for number, (boundary, carried) in enumerate(frames, 1)
    ]
    left = _left_at(made, sorted(numbers))
    for number in numbers:
        shown = [frame.number for frame in made if number >= frame.boundary or number in frame.carried]
        out_since = 1 + max(shown, default=0)
        assert left[number] == (out_since if out_since <= len(made) else 0)


def test_a_turn_that_was_rewound_in_its_middle_comes_back_as_it_stands() -> None:
    thread = opened()
    thread.append({"role": "user", "content": "the first words"})
    thread.mark("asked")
    thread.append({"role": "assistant", "content": "what was taken back"})
    thread.rewind("asked")
    thread.append({"role": "assistant", "content": "what stands"})
    talk(thread, 200)
    assert 1 not in thread.prepared().report.turns_in
    thread.pin(1)
    sent = str(thread.request())
    assert "what stands" in sent
    assert "what was taken back" not in sent
    assert thread.verify().problems == ()


def test_a_turn_that_went_on_after_a_pin_was_pinned_as_it_was_then() -> None:
    thread = opened()
    thread.append({"role": "user", "content": "the first words"})
    thread.mark("asked")
    thread.append({"role": "assistant", "content": "short"})
    talk(thread, 200)
    assert 1 not in thread.prepared().report.turns_in
    thread.pin(1)
    pinned = thread.frames()[-1]
    thread.rewind("asked")
    thread.append({"role": "assistant", "content": words(300)})
    thread.append({"role": "user", "content": "go on"})
    assert pinned in thread.frames()
    assert thread.verify().problems == ()
