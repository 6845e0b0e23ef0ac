"""Reading the log: any part of it, in order, without loading all."""

from __future__ import annotations

from itertools import islice

import pytest

from sash.errors import NotFound
from sash.store import Entry, Share, Store
from sash.store.running import PAGE, PAGE_BYTES
from tests.store.building import entry, noted, said, slid, thread_of


def test_a_part_of_the_log_is_read_by_its_numbers(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, *"abcdefg").id

    def read(since: int, until: int | None) -> str:
        return "".join(event.text for event in store.events(tenant, thread, since=since, until=until))

    assert read(0, None) == "abcdefg"
    assert read(3, None) == "defg"
    assert read(3, 5) == "de"
    assert read(0, 0) == read(7, None) == read(99, None) == read(5, 3) == ""
    assert read(-5, 2) == "ab"


def test_a_log_longer_than_any_page_is_read_whole_and_in_order(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant).id
    count = 2 * PAGE + 5
    store.append(tenant, thread, entry(*(said(str(number)) for number in range(count))))
    assert [event.text for event in store.events(tenant, thread)] == [str(number) for number in range(count)]
    assert [event.seq for event in store.events(tenant, thread, since=PAGE, until=2 * PAGE)] == list(
        range(PAGE + 1, 2 * PAGE + 1)
    )


def test_a_reader_who_stops_halfway_holds_nobody_up(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, *(str(number) for number in range(PAGE + 5))).id
    reading = store.events(tenant, thread)
    assert [event.seq for event in islice(reading, 3)] == [1, 2, 3]
    store.append(tenant, thread, entry(said("more")))
    store.delete(tenant, thread)


def test_events_are_read_by_their_kinds(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    store.append(tenant, thread, entry(noted("mark", b'"m"'), said("two"), noted("pin"), noted("mark")))

    def seqs(*kinds: str) -> list[int]:
        return [event.seq for event in store.events(tenant, thread, kinds=kinds)]

    assert seqs("mark") == [2, 5]
    assert seqs("pin", "mark") == [2, 4, 5]
    assert seqs("message") == [1, 3]
    assert seqs("message", "pin") == [1, 3, 4]
    assert seqs("undo") == seqs() == []
    assert [event.seq for event in store.events(tenant, thread, since=2, until=4, kinds={"mark", "pin"})] == [4]


def test_all_events_of_a_turn_are_read_also_those_that_came_late(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant).id
    turns = [0, 1, 1, 2, 1, 3, 2, -1]
    store.append(tenant, thread, entry(*(said("x", turn=turn) for turn in turns)))
    assert [event.seq for event in store.events_of_turns(tenant, thread, {1})] == [2, 3, 5]
    assert [event.seq for event in store.events_of_turns(tenant, thread, (3, 1, 2))] == [2, 3, 4, 5, 6, 7]
    assert list(store.events_of_turns(tenant, thread, [17])) == []
    assert list(store.events_of_turns(tenant, thread, [])) == []


def test_reading_twice_gives_the_same(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, *"abc").id
    store.append(tenant, thread, Entry(events=(said("d"),), frames=(slid(1, 2, after_seq=4),), checkpoint=b"c"))
    assert list(store.events(tenant, thread)) == list(store.events(tenant, thread))
    assert list(store.frames(tenant, thread)) == list(store.frames(tenant, thread))
    assert store.head(tenant, thread) == store.head(tenant, thread)


def test_many_frames_are_read_in_order(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    frames = tuple(slid(number, number, after_seq=1) for number in range(1, PAGE + 4))
    store.append(tenant, thread, Entry(events=(), frames=frames))
    assert list(store.frames(tenant, thread)) == list(frames)
    assert store.head(tenant, thread).frame == frames[-1]


@pytest.mark.parametrize("size", [PAGE_BYTES // 2, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1])
def test_large_events_are_read_whole_whatever_a_page_may_hold(store: Store, tenant: str, size: int) -> None:
    thread = thread_of(store, tenant).id
    for number in range(4):
        store.append(tenant, thread, entry(said("", body=bytes([number]) * size)))
    read = [(event.seq, len(event.body)) for event in store.events(tenant, thread)]
    assert read == [(1, size), (2, size), (3, size), (4, size)]
    assert [event.seq for event in store.events_of_turns(tenant, thread, [1])] == [1, 2, 3, 4]


def test_the_bytes_of_events_are_read_by_their_numbers(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant).id
    store.append(tenant, thread, entry(*(said(text, body=text.encode()) for text in "abcde")))
    assert store.bodies(tenant, thread) == {1: b"a", 2: b"b", 3: b"c", 4: b"d", 5: b"e"}
    assert list(store.bodies(tenant, thread, since=1, until=3)) == [2, 3]
    assert store.bodies(tenant, thread, since=5) == {}
    with pytest.raises(NotFound):
        store.bodies(tenant, thread + 1)
    fork = store.create(tenant, "fork", b"", shares=[Share(thread, 2)])
    store.delete(tenant, thread)
    assert store.bodies(tenant, thread, shared=True) == {1: b"a", 2: b"b"}
    assert store.bodies(tenant, fork.id) == {}


def test_the_rest_of_a_checkpoint_is_read_apart(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    store.append(tenant, thread, Entry(events=(said("two"),), checkpoint=b"state", rest=b"\0rest"))
    assert store.head(tenant, thread).checkpoint == b"state"
    assert (store.checkpoint(tenant, thread, 2), store.checkpoint_rest(tenant, thread, 2)) == (b"state", b"\0rest")
    assert store.checkpoint_rest(tenant, thread, 1) is None
    store.append(tenant, thread, Entry(events=(), checkpoint=b"again"))
    assert (store.checkpoint(tenant, thread, 2), store.checkpoint_rest(tenant, thread, 2)) == (b"again", b"")
    assert store.checkpoint_rest(tenant, thread + 1, 2) is None


def test_a_checkpoint_that_leaves_the_rest_to_another_is_there_until_the_next(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    store.append(tenant, thread, Entry(events=(said("two"),), checkpoint=b"whole", rest=b"rest"))
    for text in ("three", "four"):
        store.append(tenant, thread, Entry(events=(said(text),), checkpoint=text.encode(), rest=None))
        head = store.head(tenant, thread)
        assert (head.checkpoint, head.checkpoint_seq) == (text.encode(), head.last_seq)
        assert store.checkpoints(tenant, thread, until=9) == [head.last_seq, 2]
        assert store.checkpoint_rest(tenant, thread, head.last_seq) is None
    assert store.checkpoint_rest(tenant, thread, 2) == b"rest"
    store.append(tenant, thread, Entry(events=(said("x"),) * 300, checkpoint=b"next", rest=b""))
    assert store.checkpoints(tenant, thread, until=999) == [304, 2]
