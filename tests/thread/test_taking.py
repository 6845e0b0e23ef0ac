"""A session of some tool becomes a thread: nothing twice, and all of it or nothing."""

from __future__ import annotations

import pytest

from sash import Policy
from sash.core.message import Message
from sash.errors import StoreFull, ThreadExists
from sash.store.memory import MemoryStore
from sash.thread import Spoken, Taken, Thread, open_thread
from sash.wire import read
from tests.builders import Script

SMALL = Policy(history_tokens=2_000, recall_tokens=300)


def session(turns: int) -> list[Spoken]:
    script = Script()
    for number in range(turns):
        script.user(f"Question {number}: {'words ' * 60}").assistant(f"Answer {number}.")
    messages: tuple[Message, ...] = read({"messages": script.said}, "openai-chat").messages
    return [Spoken(message, 1_000.0 + place) for place, message in enumerate(messages)]


def opened(store: MemoryStore, name: str = "work") -> Thread:
    return open_thread(name, store=store, policy=SMALL)


def test_a_session_that_is_taken_at_once_is_what_it_would_be_said_one_by_one() -> None:
    store = MemoryStore()
    at_once, one_by_one = opened(store, "at once"), opened(store, "one by one")
    assert at_once.take(session(30)) == Taken(known=0, added=60)
    for spoken in session(30):
        one_by_one.append(spoken.message.source, wire="openai-chat", at=spoken.at)
    assert at_once.frames()[-1].boundary > 1
    assert at_once.frames() == one_by_one.frames()
    assert at_once.request() == one_by_one.request() == opened(store, "at once").request()
    assert [event.at for event in at_once.events()] == [event.at for event in one_by_one.events()]
    assert at_once.verify().ok


def test_what_is_there_is_not_taken_again_and_what_is_new_is() -> None:
    thread = opened(MemoryStore())
    thread.take(session(3))
    assert thread.take(session(3)) == Taken(known=6, added=0)
    assert thread.take(session(5)) == Taken(known=6, added=4)
    thread.append({"role": "user", "content": "And here it goes on."})
    assert thread.take(session(5)) == Taken(known=10, added=0)
    assert len(thread.turns()) == 6


def test_a_call_of_a_custom_tool_is_taken_and_not_mistaken_for_a_whole_request() -> None:
    said = [
        {"role": "user", "content": "Mend it."},
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin Patch"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done."},
    ]
    thread = opened(MemoryStore())
    messages = read({"input": said}, "openai-responses").messages
    assert thread.take([Spoken(message) for message in messages]) == Taken(known=0, added=3)
    appended = open_thread("appended", store=MemoryStore(), wire="openai-responses")
    for item in said:
        appended.append(item)
    assert appended.request() == thread.request(wire="openai-responses") == {"input": said}


def test_another_session_is_not_taken_into_it() -> None:
    thread = opened(MemoryStore())
    thread.take(session(3))
    with pytest.raises(ThreadExists):
        thread.take(session(5)[2:])
    assert len(thread.turns()) == 3


def test_a_failure_in_the_middle_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    thread = opened(store)
    thread.take(session(2))
    seq = thread.seq
    with monkeypatch.context() as broken:
        broken.setattr(store, "append", _full)
        with pytest.raises(StoreFull):
            thread.take(session(20))
    assert (thread.seq, len(thread.turns())) == (seq, 2)
    assert thread.take(session(20)) == Taken(known=4, added=36)


def test_two_handles_that_take_the_same_take_it_once() -> None:
    store = MemoryStore()
    one, other = opened(store), opened(store)
    assert one.turns() == ()
    other.take(session(4))
    assert one.take(session(4)) == Taken(known=8, added=0)
    assert one.take(session(6)) == Taken(known=8, added=4)
    assert other.request() == one.request()


def _full(*_: object, **__: object) -> None:
    raise StoreFull("memory:", "no room")
