"""A fork shares the past of its thread, copies nothing of it, and goes its own way."""

from __future__ import annotations

import msgspec
import pytest

from sash.errors import NotFound, ThreadExists
from sash.store import MemoryStore, Store
from sash.thread import Thread
from tests.builders import Call, Script, lines, words
from tests.thread.speaking import numbers, opened, say, talk


def test_a_fork_begins_with_the_request_of_its_place_and_goes_its_own_way() -> None:
    thread = opened()
    talk(thread, 12)
    at = thread.seq
    there = thread.request()
    talk(thread, 3)
    fork = thread.fork("other", at=at)
    assert fork.request() == there
    assert fork.seq == at
    fork.append({"role": "user", "content": "another way"})
    assert fork.seq == at + 1
    assert "another way" not in str(thread.request())
    assert [turn.number for turn in fork.turns()] == list(range(1, 14))
    assert numbers(fork, "evicted") == numbers(opened(thread.store, name="other"), "evicted")
    assert fork.verify().ok
    assert thread.verify().ok


def test_a_handle_says_how_many_events_its_thread_has_before_it_has_read_one() -> None:
    thread = opened()
    talk(thread, 12)
    assert repr(thread.fork("other")) == f"<Thread 'other', {thread.seq} events>"
    assert repr(opened(thread.store)) == repr(thread)


def test_a_fork_copies_no_message() -> None:
    store = MemoryStore()
    thread = opened(store)
    talk(thread, 12)
    fork = thread.fork("other")
    assert list(store.events("", fork.id, since=thread.seq)) == []
    assert [event.seq for event in fork.events()] == list(range(1, thread.seq + 1))


def test_a_fork_of_a_fork_reads_through_both() -> None:
    thread = opened()
    talk(thread, 4)
    fork = thread.fork("b")
    talk(fork, 4)
    last = fork.fork("c", at=fork.seq - 2)
    talk(last, 10)
    again = opened(thread.store, name="c")
    assert again.request() == last.request()
    assert [turn.number for turn in again.turns()] == list(range(1, 18))
    assert again.verify().ok
    again.pin(1)
    assert numbers(again, "carried") == [1]
    again.undo()
    assert again.verify().ok


def test_what_left_before_the_fork_is_found_and_expanded_in_it() -> None:
    thread = opened()
    say(thread, Script().user("the lighthouse").assistant("", Call("a")).results(("a", lines(300))).assistant("ok"))
    fork = thread.fork()
    thread.append({"role": "user", "content": "the lighthouse, again"})
    assert fork.name == "t@4"
    assert [found.seq for found in fork.search("lighthouse")] == [1]
    assert fork.expand("2.0") == lines(300)
    assert thread.fork().name == "t@5"
    assert thread.fork().name == "t@5.1"


def test_a_fork_has_the_pins_facts_and_marks_of_its_place() -> None:
    thread = opened()
    talk(thread, 2)
    thread.pin(1)
    thread.remember("early")
    thread.mark("here")
    fork = thread.fork()
    talk(fork, 20)
    assert numbers(fork, "carried") == [1]
    assert [fact.text for fact in fork.facts()] == ["early"]
    fork.rewind("here")
    assert numbers(fork, "live") == [1, 2]
    assert fork.verify().ok


@pytest.mark.parametrize("first", ["parent", "fork"])
def test_a_fork_lives_on_when_its_thread_is_deleted(store: Store, tenant: str, first: str) -> None:
    thread = opened(store, tenant=tenant)
    say(thread, Script().user("the lighthouse").assistant("", Call("a")).results(("a", lines(300))).assistant("ok"))
    talk(thread, 12)
    thread.mark("here")
    fork = thread.fork("other")
    fork.append({"role": "user", "content": "another way"})
    last = fork.fork("last")
    last.append({"role": "user", "content": "a third way"})
    before = {name: opened(store, name=name, tenant=tenant).prepared().body for name in ("other", "last")}
    thread.append({"role": "user", "content": "the parent alone"})
    for gone in (thread, fork) if first == "parent" else (fork, thread):
        store.delete(tenant, gone.id)
        with pytest.raises(NotFound):
            gone.request()
        with pytest.raises(NotFound):
            gone.events()
    left = opened(store, name="last", tenant=tenant)
    assert left.prepared().body == before["last"]
    assert left.expand("2.0") == lines(300)
    assert [found.seq for found in left.search("lighthouse")] == [1]
    assert left.search("alone") == ()
    assert len(left.turns()) == 15
    assert left.verify().ok
    talk(left, 3)
    left.rewind("here")
    left.undo()
    deeper = left.fork()
    assert deeper.prepared().body == left.prepared().body
    assert deeper.verify().ok
    assert left.verify().ok
    store.delete_tenant(tenant)
    assert store.search(tenant, "lighthouse") == []


def kept(thread: Thread) -> str:
    """All that a thread would be opened from."""
    return msgspec.json.encode(thread.tail.current().checkpoint()).decode()


def test_what_is_redacted_is_gone_from_all_that_share_it(store: Store, tenant: str) -> None:
    thread = opened(store, tenant=tenant)
    thread.append({"role": "user", "content": "my password is rosebud, do not forget rosebud"})
    talk(thread, 12)
    fork, early = thread.fork("other"), thread.fork("early", at=0)
    talk(fork, 2)
    last = fork.fork("last")
    talk(last, 2)
    assert "rosebud" in kept(last)
    held = opened(store, name="other", tenant=tenant)
    held.request()
    last.redact(1)
    for name in ("t", "other", "last"):
        one = opened(store, name=name, tenant=tenant)
        assert "rosebud" not in kept(one)
        assert "rosebud" not in str(one.request())
        assert one.search("rosebud") == ()
        assert one.frames()[-1].reason == "redact"
        assert one.verify().ok
    assert "rosebud" not in str(held.request())
    assert early.seq == 0


def test_a_redaction_renumbers_no_turn_of_a_fork(store: Store, tenant: str) -> None:
    thread = opened(store, tenant=tenant)
    talk(thread, 12)
    fork = thread.fork("other")
    talk(fork, 8)
    thread.redact(5)
    talk(thread, 1)
    talk(fork, 2)
    for one, last in ((thread, 13), (fork, 22), (fork.fork("last"), 22)):
        assert one.turns()[-1].number == last
        assert one.verify().problems == ()


def test_a_fork_from_before_a_redaction_of_calls_alone_can_be_verified() -> None:
    thread = opened()
    talk(thread, 3)
    say(thread, Script().user("do it").assistant("", Call("a", f'{{"text": "{words(120)}"}}')).results(("a", "done")))
    asked = thread.seq - 1
    talk(thread, 12)
    here = thread.seq
    thread.redact(asked)
    fork = thread.fork("other", at=here)
    talk(fork, 6)
    assert fork.verify().problems == ()
    assert fork.fork("early", at=here - 4).verify().problems == ()


def test_a_fork_from_before_a_message_was_redacted_once_more_can_be_verified() -> None:
    thread = opened()
    talk(thread, 12)
    thread.redact(1)
    thread.edit_summary("what was said")
    talk(thread, 12)
    here = thread.seq
    thread.redact(1)
    assert thread.fork("other", at=here).verify().problems == ()


def test_a_fork_of_a_fork_counts_its_frames_on_where_folding_again_makes_fewer() -> None:
    thread = opened()
    talk(thread, 12)
    thread.edit_summary("what was said")
    here = thread.seq
    thread.redact(1)
    fork = thread.fork("other", at=here)
    talk(fork, 12)
    frame, there = fork.frames()[-1], fork.seq
    assert frame.number > 2
    talk(fork, 12)
    again = fork.fork("another", at=there)
    assert again.frames()[-1] == frame
    assert again.verify().problems == ()


def test_mistakes_are_refused() -> None:
    thread = opened()
    thread.append({"role": "user", "content": words(3)})
    with pytest.raises(NotFound, match="event 7"):
        thread.fork(at=7)
    with pytest.raises(ThreadExists):
        thread.fork("t")


def test_a_fork_from_before_a_redaction_can_be_verified() -> None:
    thread = opened()
    talk(thread, 12)
    there = thread.frames()[-1].number
    for seq in (1, 5, 9, 20):
        thread.redact(seq)
    fork = thread.fork("other", at=24)
    talk(fork, 6)
    checked = fork.verify()
    assert (checked.problems, checked.unverifiable) == ((), there)
    assert checked.frames == len([frame for frame in fork.frames() if frame.number > there]) > 0
    again = fork.fork("another")
    talk(again, 3)
    assert again.verify().ok
