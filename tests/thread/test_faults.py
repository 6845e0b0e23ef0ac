"""A store that fails at any moment leaves a handle that goes on, and a thread in which nothing is missing or twice."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sash.errors import Conflict, StoreUnavailable
from sash.store import MemoryStore, Store, open_store
from sash.thread import Thread, open_thread
from tests.thread.killed import POLICY, handle, plan
from tests.thread.speaking import opened, talk

STEPS = 40


class Failing:
    """A store that fails at its n-th call: before it has done anything, or after it has done all of it."""

    def __init__(self, store: Store, at: int, *, after: bool) -> None:
        self.store, self.left, self.after, self.failures = store, at, after, 0

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self.store, name)

        def call(*given: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise StoreUnavailable("failing:", f"{name} was not done")
            result = verb(*given, **named)
            if self.left == 0:
                raise StoreUnavailable("failing:", f"{name} was done, but nobody was told")
            return result

        return call


def carried_out(store: Failing) -> Thread:
    """All of the plan, however often something fails: the number of events says whether it had been done."""
    thread, ops = None, plan()[:STEPS]
    while True:
        try:
            thread = thread or handle(store)
            while thread.seq < STEPS:
                ops[thread.seq](thread)
            return thread
        except StoreUnavailable:
            store.failures += 1
        except Conflict:
            # What was done without telling looks as if somebody else had done it.
            continue


@pytest.mark.parametrize("after", [False, True])
def test_the_store_may_fail_at_every_single_call(after: bool) -> None:
    reference = carried_out(Failing(MemoryStore(), 0, after=after))
    body, state = reference.prepared().body, reference._tail.current().checkpoint()
    log = [event.body for event in reference.events()]
    for at in count(1):
        store = Failing(MemoryStore(), at, after=after)
        thread = carried_out(store)
        if not store.failures:
            break
        store.left = 0
        assert [event.body for event in thread.events()] == log
        assert thread.prepared().body == body
        assert thread._tail.current().checkpoint() == state
    assert at > 100


def test_a_key_makes_an_append_safe_to_send_twice(store: Store, tenant: str) -> None:
    thread = open_thread("t", store=store, tenant=tenant, policy=POLICY)
    said = {"role": "user", "content": "once"}
    first = thread.append(said, key="a")
    again = thread.append(said, key="a")
    assert (again.seq, again.turn, again.repeated, first.repeated) == (first.seq, first.turn, True, False)
    assert thread.seq == 1
    assert open_thread("t", store=store, tenant=tenant).append(said, key="a").repeated
    with pytest.raises(Exception, match="another request"):
        thread.append({"role": "user", "content": "twice"}, key="a")
    assert thread.append({"role": "user", "content": "twice"}, key="b").seq == 2


def test_an_answer_to_what_somebody_else_has_moved_on_is_a_conflict(store: Store, tenant: str) -> None:
    one, two = (open_thread("t", store=store, tenant=tenant, policy=POLICY) for _ in range(2))
    one.append({"role": "user", "content": "from one"})
    with pytest.raises(Conflict, match="look at what is new"):
        two.append({"role": "user", "content": "from two, while the turn of one is open"})
    one.append({"role": "assistant", "content": "answered"})
    two.append({"role": "user", "content": "from two, in a turn of its own"})
    with pytest.raises(Conflict):
        one.append({"role": "assistant", "content": "to something that two said"})
    assert len(one.request()["messages"]) == 3
    one.append({"role": "assistant", "content": "knowing what two said"})
    assert [turn.number for turn in two.turns()] == [1, 2]
    assert two.verify().ok


def test_commands_of_two_handles_are_simply_done_one_after_the_other(store: Store, tenant: str) -> None:
    one, two = (open_thread("t", store=store, tenant=tenant, policy=POLICY) for _ in range(2))
    talk(one, 3)
    two.pin(1)
    one.mark("here")
    two.remember("a fact")
    one.record_usage({"prompt_tokens": 300})
    one.append({"role": "user", "content": "nobody has said anything since"})
    assert one.prepared().body == two.prepared().body
    two.rewind("here")
    assert one.prepared().body == two.prepared().body
    assert one.verify().ok


def talks(url: str, number: int, turns: int) -> None:
    """Turns of one of many processes: whoever meets a conflict looks again."""
    thread = opened(open_store(url))
    for turn in range(turns):
        for said in (
            {"role": "user", "content": f"{number}.{turn}"},
            {"role": "assistant", "content": f"to {number}.{turn}"},
        ):
            while True:
                try:
                    thread.append(said)
                    break
                except Conflict:
                    continue


def test_many_processes_hold_one_thread(scratch: Path) -> None:
    url = f"sqlite:///{scratch}/shared.db"
    opened(open_store(url))
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            done = 1
            try:
                talks(url, number, 8)
                done = 0
            finally:
                os._exit(done)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    thread = opened(open_store(url))
    said = [event.text for event in thread.events() if event.kind == "message"]
    assert len(said) == len(set(said)) == 4 * 8 * 2
    assert thread.verify().ok
