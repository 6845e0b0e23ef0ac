"""Forks begin with what another thread said; what is shared stays with them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sash.core.event import Event
from sash.errors import NotFound
from sash.store import Entry, Posting, Share, Store, ThreadRow
from tests.store.building import entry, said, slid, thread_of

TEXTS = ("the harbour", "the lighthouse", "the storm", "the rescue")


def fork_of(store: Store, tenant: str, source: ThreadRow, until: int, name: str = "fork") -> ThreadRow:
    return store.create(tenant, name, b"{}", shares=[Share(source.id, until)])


def shared(store: Store, tenant: str, thread: int, *, since: int = 0) -> list[str]:
    return [event.text for event in store.events(tenant, thread, since=since, shared=True)]


def test_a_fork_numbers_its_events_from_what_it_shares(store: Store, tenant: str) -> None:
    source = thread_of(store, tenant, *TEXTS)
    fork = fork_of(store, tenant, source, 3)
    assert store.append(tenant, fork.id, entry(said("and then"))).first_seq == 4
    assert store.forks(tenant, source.id, 3) == [fork.id]
    assert store.forks(tenant, source.id, 4) == []


def test_nothing_can_be_shared_that_is_not_there(store: Store, tenant: str, other: str) -> None:
    source = thread_of(store, tenant, *TEXTS)
    store.delete(tenant, source.id)
    with pytest.raises(NotFound, match="thread"):
        fork_of(store, tenant, source, 2)
    theirs = thread_of(store, other, *TEXTS)
    with pytest.raises(NotFound, match="thread"):
        fork_of(store, tenant, theirs, 2)
    assert store.find(tenant, "fork") is None


def test_what_a_fork_shares_outlives_its_thread_and_the_rest_is_gone(store: Store, tenant: str, other: str) -> None:
    source = thread_of(store, tenant, *TEXTS)
    postings = tuple(Posting("storm", seq, 1) for seq in (2, 3, 4))
    frames = (slid(1, 1, after_seq=1), slid(2, 2, after_seq=3))
    store.append(tenant, source.id, Entry(events=(), frames=frames, postings=postings, checkpoint=b"all"))
    fork = fork_of(store, tenant, source, 2)
    store.delete(tenant, source.id)
    assert shared(store, tenant, source.id) == list(TEXTS[:2])
    assert [event.seq for event in store.events_of_turns(tenant, source.id, [2, 3], shared=True)] == [2]
    assert [frame.number for frame in store.frames(tenant, source.id, shared=True)] == [1]
    assert [frame.number for frame in store.frames_back(tenant, source.id, until=9, shared=True)] == [1]
    assert store.postings(tenant, source.id, ["storm"], shared=True) == [Posting("storm", 2, 1)]
    assert store.checkpoints(tenant, source.id, until=9, shared=True) == []
    # By its own number and by its name it is as gone as any deleted thread.
    for gone in (
        lambda: store.thread(tenant, source.id),
        lambda: store.last_seq(tenant, source.id),
        lambda: list(store.events(tenant, source.id)),
        lambda: list(store.frames(tenant, source.id)),
        lambda: store.append(tenant, source.id, entry(said("again"))),
        lambda: store.setup(tenant, source.id),
        lambda: store.delete(tenant, source.id),
        lambda: list(store.events(other, source.id, shared=True)),
    ):
        with pytest.raises(NotFound):
            gone()
    assert [row.id for row in store.threads(tenant)] == [fork.id]
    assert store.find(tenant, "thread") is None


def test_what_is_left_is_found_as_the_forks(store: Store, tenant: str) -> None:
    source = thread_of(store, tenant, *TEXTS)
    fork = fork_of(store, tenant, source, 2)
    store.delete(tenant, source.id)
    assert [(found.thread, found.name, found.seq) for found in store.search(tenant, "the")] == [
        (fork.id, "fork", 2),
        (fork.id, "fork", 1),
    ]
    assert store.search(tenant, "storm") == []


def test_what_is_left_goes_with_the_last_fork(store: Store, tenant: str) -> None:
    source = thread_of(store, tenant, *TEXTS)
    short, long = fork_of(store, tenant, source, 1, "short"), fork_of(store, tenant, source, 3, "long")
    store.delete(tenant, source.id)
    assert shared(store, tenant, source.id) == list(TEXTS[:3])
    store.delete(tenant, long.id)
    assert shared(store, tenant, source.id) == list(TEXTS[:1])
    assert [found.name for found in store.search(tenant, "the")] == ["short"]
    # What is left can be forked from again, as far as it goes.
    with pytest.raises(NotFound):
        fork_of(store, tenant, source, 2, "too long")
    again = fork_of(store, tenant, source, 1, "again")
    store.delete(tenant, short.id)
    assert shared(store, tenant, source.id) == list(TEXTS[:1])
    store.delete(tenant, again.id)
    with pytest.raises(NotFound):
        shared(store, tenant, source.id)
    assert store.search(tenant, "the") == []


def test_a_fork_of_a_fork_keeps_what_both_said(store: Store, tenant: str) -> None:
    first = thread_of(store, tenant, *TEXTS)
    second = fork_of(store, tenant, first, 2, "second")
    store.append(tenant, second.id, entry(said("another way"), said("and on")))
    third = store.create(tenant, "third", b"{}", shares=[Share(first.id, 2), Share(second.id, 3)])
    store.delete(tenant, second.id)
    store.delete(tenant, first.id)
    assert shared(store, tenant, first.id) == list(TEXTS[:2])
    assert shared(store, tenant, second.id, since=2) == ["another way"]
    assert {found.thread for found in store.search(tenant, "the") + store.search(tenant, "another")} == {third.id}
    assert store.delete_tenant(tenant) == 1
    for gone in (first, second):
        with pytest.raises(NotFound):
            shared(store, tenant, gone.id, since=2)


def test_what_is_redacted_is_gone_from_every_state_that_came_after_it(store: Store, tenant: str) -> None:
    source = thread_of(store, tenant, *TEXTS)
    store.append(tenant, source.id, Entry(events=(said("more"),), checkpoint=b"knows the storm"))
    early, late = fork_of(store, tenant, source, 2, "early"), fork_of(store, tenant, source, 4, "late")
    for fork, body in ((early, b"knows nothing"), (late, b"knows the storm")):
        store.append(tenant, fork.id, Entry(events=(), checkpoint=body))
    store.delete(tenant, source.id)
    store.redact(tenant, source.id, 3, b'"gone"')
    assert shared(store, tenant, source.id) == ["the harbour", "the lighthouse", "", "the rescue"]
    assert store.head(tenant, early.id).checkpoint == b"knows nothing"
    assert store.head(tenant, late.id).checkpoint is None


def test_older_checkpoints_stay_the_further_back_the_fewer(store: Store, tenant: str) -> None:
    thread = store.create(tenant, "long", b"{}").id
    step = tuple(Event(kind="usage", body=b"{}") for _ in range(100))
    for number in range(100):
        store.append(tenant, thread, Entry(events=step, checkpoint=b"state %d" % number))
    kept = store.checkpoints(tenant, thread, until=10_000)
    assert kept[0] == 10_000
    assert len(kept) < 20
    assert all(newer - older <= (10_000 - older) // 2 + 512 for newer, older in pairwise(kept))
    assert store.checkpoint(tenant, thread, kept[3]) == b"state %d" % (kept[3] // 100 - 1)
    assert store.checkpoint(tenant, thread, kept[3] + 1) is None
    assert store.checkpoints(tenant, thread, until=kept[2]) == kept[2:]
    assert store.head(tenant, thread).checkpoint == b"state 99"
