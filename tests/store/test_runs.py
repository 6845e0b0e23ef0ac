"""Answers that a server gets: one at a time, every event kept, and none left behind for ever."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest

from sash.errors import KeyReused, LeaseLost, NotFound, ThreadBusy
from sash.store import Key, NewRun, RunEnd, RunEvent, RunRow, Store
from tests.store.building import thread_of

ALIVE = 60.0
DEAD = -1.0
"""A lease that was over before it began: its owner is taken for dead."""


def tenant() -> str:
    return f"tenant-{uuid4()}"


def begun(
    store: Store, owner: str, thread: int, *, lease: float = ALIVE, key: Key | None = None, by: str = "server-1"
) -> RunRow:
    return store.start_run(owner, thread, NewRun(id=uuid4().hex, owner=by, key=key), lease_seconds=lease)


def told(*words: str) -> list[RunEvent]:
    return [RunEvent(kind="message_delta", body=word.encode()) for word in words]


def written(store: Store, run: RunRow, *words: str, end: RunEnd | None = None) -> RunRow:
    return store.write_run(run.tenant, run.id, run.owner, told(*words), lease_seconds=ALIVE, end=end)


DONE = RunEnd(status="completed", stop="end")


def test_events_are_numbered_without_a_gap_and_read_from_any_place(store: Store) -> None:
    mine = tenant()
    run = begun(store, mine, thread_of(store, mine, "a").id)
    written(store, run, "one", "two")
    row = written(store, run, "three", end=DONE)
    assert (row.last_event, row.status, row.stop) == (3, "completed", "end")
    assert row.ended is not None
    assert row.ended >= row.started
    assert [(event.seq, event.body) for event in store.run_events(mine, run.id)] == [
        (1, b"one"),
        (2, b"two"),
        (3, b"three"),
    ]
    assert [event.seq for event in store.run_events(mine, run.id, since=1, limit=1)] == [2]
    assert store.run_events(mine, run.id)[0].kind == "message_delta"
    assert store.run_events(mine, "no such run") == []


def test_a_thread_has_one_answer_at_a_time(store: Store) -> None:
    mine = tenant()
    thread, other = thread_of(store, mine, "a"), thread_of(store, mine, "b", name="other")
    first = begun(store, mine, thread.id)
    with pytest.raises(ThreadBusy, match=first.id):
        begun(store, mine, thread.id)
    begun(store, mine, other.id)
    written(store, first, end=DONE)
    begun(store, mine, thread.id)


def test_of_many_who_begin_at_once_one_does(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a").id
    outcomes: list[str] = []

    def begin() -> None:
        try:
            outcomes.append(begun(store, mine, thread).status)
        except ThreadBusy:
            outcomes.append("busy")

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(outcomes) == ["busy"] * 7 + ["running"]


def test_an_answer_whose_owner_is_dead_is_taken_and_ended_by_one_other(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a").id
    left = begun(store, mine, thread, lease=DEAD)
    assert store.run(mine, left.id).lapsed
    # What was said of it may have to be stored yet: the thread is not free before it is ended.
    with pytest.raises(ThreadBusy):
        begun(store, mine, thread, by="server-2")
    taken = store.take_run(left, "server-2", lease_seconds=ALIVE)
    assert (taken.owner, taken.lapsed, taken.status) == ("server-2", False, "running")
    with pytest.raises(LeaseLost):
        store.take_run(left, "server-3", lease_seconds=ALIVE)
    with pytest.raises(LeaseLost):
        written(store, left, "too late")
    written(store, taken, end=RunEnd(status="interrupted", stop="interrupted"))
    with pytest.raises(LeaseLost):
        store.take_run(taken, "server-3", lease_seconds=ALIVE)
    begun(store, mine, thread, by="server-2")
    assert store.run_events(mine, left.id) == []


def test_writing_keeps_an_answer_alive(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a").id
    run = begun(store, mine, thread, lease=DEAD)
    assert not written(store, run).lapsed
    with pytest.raises(ThreadBusy):
        begun(store, mine, thread)


def test_only_its_owner_writes(store: Store) -> None:
    mine = tenant()
    run = begun(store, mine, thread_of(store, mine, "a").id)
    with pytest.raises(LeaseLost, match=f"the lease on turn {run.id!r} is over"):
        store.write_run(mine, run.id, "server-2", told("x"), lease_seconds=ALIVE)


def test_an_answer_that_ended_goes_on_with_the_next_numbers(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a").id
    run = begun(store, mine, thread)
    written(store, run, "one", end=RunEnd(status="completed", stop="calls"))
    again = store.resume_run(mine, run.id, "server-2", lease_seconds=ALIVE)
    assert (again.status, again.stop, again.ended) == ("running", "", None)
    with pytest.raises(ThreadBusy):
        store.resume_run(mine, run.id, "server-3", lease_seconds=ALIVE)
    written(store, again, "two", end=DONE)
    assert [event.seq for event in store.run_events(mine, run.id)] == [1, 2]


def test_a_key_gives_the_same_answer_again_and_no_other(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a").id
    key = Key("once", b"the request")
    first = begun(store, mine, thread, key=key)
    again = begun(store, mine, thread, key=key)
    assert (again.id, again.repeated, first.repeated) == (first.id, True, False)
    written(store, first, "said", end=DONE)
    assert begun(store, mine, thread, key=key).status == "completed"
    with pytest.raises(KeyReused):
        begun(store, mine, thread, key=Key("once", b"another request"))


def test_whoever_has_it_is_told_to_end(store: Store) -> None:
    mine = tenant()
    run = begun(store, mine, thread_of(store, mine, "a").id)
    assert not run.end_asked
    assert store.ask_run_to_end(mine, run.id).end_asked
    assert written(store, run, "x").end_asked
    over = written(store, run, end=RunEnd(status="cancelled", stop="cancelled", error=""))
    assert store.ask_run_to_end(mine, run.id).status == over.status


def test_the_turn_is_known_once_it_is_said(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a", "b").id
    first = begun(store, mine, thread)
    store.write_run(mine, first.id, first.owner, [], lease_seconds=ALIVE, turn=1, end=DONE)
    second = begun(store, mine, thread)
    store.write_run(mine, second.id, second.owner, [], lease_seconds=ALIVE, turn=2, end=DONE)
    assert [(run.id, run.turn) for run in store.runs(mine, thread)] == [(first.id, 1), (second.id, 2)]
    assert [run.id for run in store.runs(mine, thread, first=2)] == [second.id]
    assert [run.id for run in store.runs(mine, thread, last=1)] == [first.id]


def test_what_is_left_behind_is_found_whosever_it_is(store: Store) -> None:
    mine, theirs = tenant(), tenant()
    left = begun(store, mine, thread_of(store, mine, "a").id, lease=DEAD)
    alive = begun(store, theirs, thread_of(store, theirs, "b").id)
    ended = begun(store, mine, thread_of(store, mine, "c", name="third").id)
    written(store, ended, end=DONE)
    found = {run.id: run for run in store.open_runs()}
    assert found[left.id].lapsed
    assert found[left.id].tenant == mine
    assert not found[alive.id].lapsed
    assert ended.id not in found


def test_nobody_sees_or_ends_the_answers_of_another(store: Store) -> None:
    mine, theirs = tenant(), tenant()
    thread = thread_of(store, mine, "a").id
    run = begun(store, mine, thread)
    written(store, run, "secret")
    assert store.run_events(theirs, run.id) == []
    assert store.runs(theirs, thread) == []
    for ask in (store.run, store.ask_run_to_end):
        with pytest.raises(NotFound):
            ask(theirs, run.id)
    with pytest.raises(NotFound):
        begun(store, theirs, thread)
    with pytest.raises(NotFound):
        store.resume_run(theirs, run.id, "x", lease_seconds=ALIVE)
    with pytest.raises(LeaseLost):
        store.write_run(theirs, run.id, run.owner, told("x"), lease_seconds=ALIVE)


def test_a_deleted_thread_takes_its_answers_with_it(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a").id
    run = begun(store, mine, thread)
    written(store, run, "said")
    store.delete(mine, thread)
    assert store.run_events(mine, run.id) == []
    with pytest.raises(NotFound):
        store.run(mine, run.id)
    with pytest.raises(LeaseLost):
        written(store, run, "no resurrection")


def test_what_is_redacted_is_gone_from_what_was_told_too(store: Store) -> None:
    mine = tenant()
    thread = thread_of(store, mine, "a", "b").id
    runs = []
    for turn in (1, 2):
        run = begun(store, mine, thread)
        runs.append(run)
        store.write_run(mine, run.id, run.owner, told("said"), lease_seconds=ALIVE, turn=turn, end=DONE)
    store.redact(mine, thread, 1, b"{}")
    assert store.run_events(mine, runs[0].id) == []
    assert len(store.run_events(mine, runs[1].id)) == 1
