"""A thread recalls what `fit` recalls, through the store; and the model has tools to look for itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import sash
from sash.core.policy import Policy
from sash.store import MemoryStore, Store
from sash.thread import Thread, open_thread

POLICY = Policy(history_tokens=150, min_turns=1, recall_tokens=120, soft_share=1.0, counter="chars4", facts_tokens=60)
SILENT = msgspec.structs.replace(POLICY, recall_tokens=0)


def chatter(count: int) -> list[dict[str, Any]]:
    return [
        one
        for n in range(count)
        for one in (
            {"role": "user", "content": f"plain talk {n} " + "la " * 30},
            {"role": "assistant", "content": "la " * 20},
        )
    ]


LONG_AGO = [
    {"role": "user", "content": "my dog is called Rufus"},
    {"role": "assistant", "content": "what a name"},
    {"role": "user", "content": "and the cat is Minka"},
    {"role": "assistant", "content": "both are fine"},
]
QUESTION = {"role": "user", "content": "how is my dog called?"}


def thread_of(store: Store | str = "memory:", policy: Policy = POLICY) -> Thread:
    return open_thread("talk", store=store, policy=policy, model="gpt-5")


def sent(thread: Thread) -> list[str]:
    return [str(message["content"]) for message in thread.request()["messages"]]


def told(thread: Thread, *said: dict[str, Any], usage: bool = False, together: bool = False) -> Thread:
    if together:
        thread.append(list(said))
        return thread
    for number, message in enumerate(said):
        thread.append(message)
        if usage and number % 2:
            thread.mark(f"m{number}")
    return thread


@pytest.mark.parametrize("usage", [False, True], ids=["messages alone", "other events between"])
@pytest.mark.parametrize("together", [False, True], ids=["one by one", "all at once"])
def test_a_thread_recalls_what_fit_recalls(usage: bool, together: bool) -> None:
    said = [*LONG_AGO, *chatter(8), QUESTION]
    with thread_of() as thread:
        told(thread, *said, usage=usage, together=together)
        fitted = sash.fit(said, model="gpt-5", policy=POLICY)
        assert "my dog is called Rufus" in sent(thread)[-2]
        assert "and the cat is Minka" in sent(thread)[-2], "what stands beside it is lifted"
        assert sent(thread)[-2] == fitted.messages[-2]["content"]
        hits = thread.explain().recalled
        assert [hit.score for hit in hits] == [hit.score for hit in fitted.explain().recalled]
        assert hits[0].words == ("dog", "call")


def test_a_restart_recalls_the_same_and_the_next_turn_drops_it(tmp_path: Any) -> None:
    place = f"sqlite:///{tmp_path / 'sash.db'}"
    with thread_of(place) as thread:
        told(thread, *LONG_AGO, *chatter(8), QUESTION)
        before = thread.request()
    with thread_of(place) as thread:
        assert thread.request() == before
        assert thread.verify().ok
        told(thread, {"role": "assistant", "content": "Rufus"}, {"role": "user", "content": "thanks"})
        assert "Recalled" not in str(thread.request())
        assert thread.verify().ok


def test_days_are_told_where_the_log_knows_them() -> None:
    with thread_of() as thread:
        for message in [*LONG_AGO, *chatter(8), QUESTION]:
            thread.append(message, at=1_700_000_000)
        assert "[turn 1, 2023-11-14]" in sent(thread)[-2]


def test_what_was_rewound_or_redacted_is_not_recalled() -> None:
    with thread_of() as thread:
        thread.mark("start")
        told(thread, *LONG_AGO)
        thread.rewind("start")
        told(thread, {"role": "user", "content": "my dog is old"}, *chatter(8)[1:], QUESTION)
        assert "Rufus" not in str(thread.request())
        assert "my dog is old" in sent(thread)[-2]
        first = next(event.seq for event in thread.events() if b"my dog is old" in event.body)
        thread.redact(first)
        assert "my dog is old" not in str(thread.request())
        assert thread.verify().ok


def test_a_rewind_that_is_taken_back_leaves_what_was_recalled_as_it_was() -> None:
    store = MemoryStore()
    thread = thread_of(store)
    thread.mark("start")
    told(thread, *LONG_AGO, *chatter(8), QUESTION)
    asked, before = thread.seq, sent(thread)[-2]
    assert "Rufus" in before
    thread.rewind("start")
    assert thread._at(asked).window.fold.recalled() == thread_of(store)._at(asked).window.fold.recalled()
    assert "Rufus" in str(thread._at(asked).window.fold.recalled())
    thread.undo()
    assert sent(thread)[-2] == before
    assert sent(thread_of(store)) == sent(thread)
    assert thread.verify().problems == ()


def test_what_was_said_after_a_rewind_that_is_taken_back_is_recalled_beside_what_came_back() -> None:
    store = MemoryStore()
    thread = thread_of(store, policy=msgspec.structs.replace(POLICY, history_tokens=1_000))
    thread.mark("start")
    told(thread, *LONG_AGO)
    thread.rewind("start")
    # Counted as the first messages too.
    told(thread, {"role": "user", "content": "the other dog is Bello"}, {"role": "assistant", "content": "nice"})
    thread.undo()
    thread.configure(policy=POLICY)
    told(thread, *chatter(8))
    thread.compact()
    told(thread, QUESTION)
    recalled = thread.explain().recalled
    positions = [hit.position for hit in recalled]
    assert positions == sorted(set(positions))
    assert {"my dog is called Rufus", "the other dog is Bello"} <= {
        line.removeprefix("user: ") for line in sent(thread)[-2].splitlines()
    }
    assert sent(thread_of(store)) == sent(thread)
    assert thread.verify().problems == ()


def test_what_was_rewound_while_nothing_was_recalled_can_be_found_when_it_comes_back() -> None:
    store = MemoryStore()
    thread = thread_of(store, policy=msgspec.structs.replace(SILENT, history_tokens=1_000))
    thread.mark("start")
    told(thread, *LONG_AGO)
    thread.rewind("start")
    thread.configure(policy=msgspec.structs.replace(POLICY, history_tokens=1_000))
    thread.undo()
    told(thread, *chatter(8))
    thread.configure(policy=POLICY)
    thread.compact()
    told(thread, QUESTION)
    assert "Recalled" in sent(thread)[-2]
    assert "my dog is called Rufus" in sent(thread)[-2]
    before = sent(thread)
    for policy in (SILENT, POLICY):
        thread.configure(policy=policy)
    assert sent(thread)[-2] == before[-2]
    assert thread.verify().problems == ()


def test_words_that_were_redacted_right_after_they_were_said_are_not_recalled() -> None:
    store = MemoryStore()
    thread = told(thread_of(store), *LONG_AGO, *chatter(8), QUESTION, together=True)
    assert "Rufus" in sent(thread)[-2]
    thread.redact(1)
    assert "Rufus" not in str(thread.request())
    assert sent(thread_of(store)) == sent(thread)
    for policy in (SILENT, POLICY):
        thread.configure(policy=policy)
    told(thread, {"role": "assistant", "content": "no idea"}, {"role": "user", "content": "was something redacted?"})
    assert thread.explain().recalled == ()
    assert thread.verify().problems == ()


def test_recall_that_is_turned_on_later_knows_what_was_said_before() -> None:
    with thread_of(policy=SILENT) as thread:
        told(thread, *LONG_AGO, *chatter(8))
        thread.configure(policy=POLICY)
        told(thread, QUESTION)
        assert "my dog is called Rufus" in sent(thread)[-2]
        thread.configure(policy=SILENT)
        told(thread, {"role": "assistant", "content": "Rufus"}, *chatter(2))
        thread.configure(policy=POLICY)
        told(thread, QUESTION)
        assert "my dog is called Rufus" in sent(thread)[-2]
        assert thread.verify().ok


def test_a_fork_recalls_what_was_said_before_it_parted() -> None:
    with thread_of(MemoryStore()) as thread:
        told(thread, *LONG_AGO, *chatter(8))
        other = thread.fork("other")
        told(other, QUESTION)
        assert "my dog is called Rufus" in sent(other)[-2]


def test_facts_are_given_or_found_and_a_new_one_stands_with_the_input() -> None:
    with thread_of(policy=SILENT) as thread:
        told(thread, {"role": "user", "content": "Always answer in German."}, {"role": "assistant", "content": "ja"})
        given = thread.remember("The deadline is Friday")
        assert [(fact.origin, fact.text) for fact in thread.facts()] == [
            ("found", "Always answer in German."),
            ("given", "The deadline is Friday"),
        ]
        assert given.turn == 1
        told(thread, {"role": "user", "content": "go on"})
        assert "The deadline is Friday" in sent(thread)[-2]
        told(thread, {"role": "assistant", "content": "ok"}, *chatter(8))
        head = sent(thread)[0]
        assert "The deadline is Friday" in head
        assert "Always answer in German." in head
        thread.remember("The deadline is Monday")
        assert [fact.text for fact in thread.facts()] == ["Always answer in German.", "The deadline is Monday"]
        assert thread.verify().ok
