"""Appending: everything or nothing, in one order, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sash.core.event import Event
from sash.errors import Conflict, InvalidName, KeyReused, NotFound, StoreError
from sash.store import Appended, Entry, Key, Posting, Store
from tests.store.building import entry, noted, said, slid, texts_of, thread_of


def test_events_are_numbered_from_one_without_a_gap(store: Store, tenant: str) -> None:
    thread = store.create(tenant, "thread", b"").id
    assert store.append(tenant, thread, entry(said("a"), said("b"))) == Appended(1, 2)
    assert store.append(tenant, thread, entry(said("c"))) == Appended(3, 3)
    assert [(event.seq, event.text) for event in store.events(tenant, thread)] == [(1, "a"), (2, "b"), (3, "c")]
    assert store.last_seq(tenant, thread) == 3


def test_an_event_comes_back_as_it_went_in(store: Store, tenant: str) -> None:
    thread = store.create(tenant, "thread", b"").id
    event = Event(
        kind="message",
        body=b'{"z":1.0,"a":-0,"a":"\\u0000\\ud83d"}\x00\xff\xfe',
        wire="anthropic",
        role="assistant",
        turn=7,
        tokens=123_456,
        exact=False,
        counter="estimate:claude 3",
        text="words, Wörter, 言葉 😀",
        at=1_700_000_000.123456,
    )
    usage = Event(kind="usage", body=b"")
    store.append(tenant, thread, entry(event, usage))
    assert list(store.events(tenant, thread)) == [
        msgspec.structs.replace(event, seq=1),
        msgspec.structs.replace(usage, seq=2),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(body=st.binary(max_size=300), text=st.text(st.characters(), max_size=50))
def test_any_bytes_and_any_text_can_be_stored(store: Store, tenant: str, body: bytes, text: str) -> None:
    row = store.find(tenant, "any") or store.create(tenant, "any", b"")
    seq = store.append(tenant, row.id, entry(said(text, body=body))).last_seq
    [event] = store.events(tenant, row.id, since=seq - 1)
    assert event.body == body
    assert event.text == "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text)


def test_a_message_of_ten_megabytes_is_stored_whole(store: Store, tenant: str) -> None:
    thread = store.create(tenant, "thread", b"").id
    body = bytes(range(256)) * 40_000
    text = "word and more " * 150_000 + "needle"
    store.append(tenant, thread, entry(said(text, body=body)))
    [event] = store.events(tenant, thread)
    assert (event.body, event.text) == (body, text)
    assert [found.seq for found in store.search(tenant, "needle word")] == [1]


def test_times_that_clients_tell_change_no_order(store: Store, tenant: str) -> None:
    thread = store.create(tenant, "thread", b"").id
    times = [4e9, -1.0, -0.0, 7, None, 0.0, 2e10, 1.7e9]
    for at in times:
        store.append(tenant, thread, entry(msgspec.structs.replace(said("x"), at=at)))
    assert [event.at for event in store.events(tenant, thread)] == times


@pytest.mark.parametrize("at", [float("nan"), float("inf")])
def test_what_is_no_time_is_refused_and_nothing_is_stored(store: Store, tenant: str, at: float) -> None:
    thread = thread_of(store, tenant, "one").id
    with pytest.raises(StoreError, match="is no time"):
        store.append(tenant, thread, entry(said("two"), msgspec.structs.replace(said("x"), at=at)))
    assert texts_of(store, tenant, thread) == ["one"]


def test_a_thread_that_moved_on_is_a_conflict_and_nothing_is_stored(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one", "two").id
    with pytest.raises(Conflict) as conflict:
        store.append(tenant, thread, entry(said("late")), expected_seq=1)
    assert (conflict.value.expected_seq, conflict.value.last_seq) == (1, 2)
    with pytest.raises(Conflict):
        store.append(tenant, thread, entry(said("early")), expected_seq=3)
    with pytest.raises(Conflict):
        store.append(tenant, thread, entry(said("as if it were new")), expected_seq=0)
    assert store.append(tenant, thread, entry(said("three")), expected_seq=2) == Appended(3, 3)
    assert texts_of(store, tenant, thread) == ["one", "two", "three"]


def test_frames_and_checkpoint_come_with_the_events_that_led_to_them(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one", "two").id
    assert store.head(tenant, thread).frame is None
    first, second = slid(1, 2, after_seq=3), slid(2, 3, after_seq=4)
    store.append(tenant, thread, Entry(events=(said("three", turn=3),), frames=(first,), checkpoint=b"\0at 3"))
    head = store.head(tenant, thread)
    assert (head.last_seq, head.frame, head.checkpoint, head.checkpoint_seq) == (3, first, b"\0at 3", 3)
    store.append(tenant, thread, Entry(events=(said("four", turn=4),), frames=(second,), checkpoint=b"at 4"))
    store.append(tenant, thread, entry(said("five", turn=5)))
    head = store.head(tenant, thread)
    assert (head.last_seq, head.frame, head.checkpoint, head.checkpoint_seq) == (5, second, b"at 4", 4)
    assert store.thread(tenant, thread).boundary == 3
    assert list(store.frames(tenant, thread)) == [first, second]
    assert list(store.frames(tenant, thread, since=2)) == [second]
    assert [store.head(tenant, thread, at=seq).frame for seq in range(1, 6)] == [None, None, first, second, second]


def test_a_conflict_stores_no_frame_either(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    late = Entry(
        events=(said("late"),),
        frames=(slid(1, 1, after_seq=1),),
        checkpoint=b"late",
        postings=(Posting("late", 1, 1),),
        covered=5,
    )
    with pytest.raises(Conflict):
        store.append(tenant, thread, late, expected_seq=0, key=Key("k", b"d"))
    head = store.head(tenant, thread)
    assert (head.last_seq, head.frame, head.checkpoint) == (1, None, None)
    assert store.postings(tenant, thread, ["late"]) == []
    assert store.thread(tenant, thread).covered == 0
    assert store.appended(tenant, thread, Key("k", b"d")) is None
    assert store.search(tenant, "late") == []


def test_the_same_key_and_request_again_give_the_stored_outcome(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    key = Key("retry-1", b"digest")
    assert store.appended(tenant, thread, key) is None
    assert store.append(tenant, thread, entry(said("two"), said("three")), key=key) == Appended(2, 3)
    store.append(tenant, thread, entry(said("four")))
    # Also when the thread has moved on, and whatever the caller expected of it.
    again = store.append(tenant, thread, entry(said("two"), said("three")), expected_seq=1, key=key)
    assert again == store.appended(tenant, thread, key) == Appended(2, 3, repeated=True)
    assert texts_of(store, tenant, thread) == ["one", "two", "three", "four"]


def test_the_same_key_with_another_request_is_refused(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant).id
    store.append(tenant, thread, entry(said("one")), key=Key("k", b"digest"))
    with pytest.raises(KeyReused, match="'k'"):
        store.append(tenant, thread, entry(said("other")), key=Key("k", b"another"))
    with pytest.raises(KeyReused):
        store.appended(tenant, thread, Key("k", b"another"))
    assert texts_of(store, tenant, thread) == ["one"]


def test_a_key_belongs_to_its_thread(store: Store, tenant: str) -> None:
    key = Key("k", b"digest")
    first, second = (thread_of(store, tenant, name=name).id for name in ("first", "second"))
    store.append(tenant, first, entry(said("one")), key=key)
    assert not store.append(tenant, second, entry(said("two")), key=key).repeated
    with pytest.raises(InvalidName):
        store.append(tenant, first, entry(said("x")), key=Key("\0", b""))
    with pytest.raises(NotFound):
        store.append(tenant, 999_999_999, entry(said("x")), key=key)


def test_many_writers_of_one_thread_get_one_order_and_lose_nothing(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant).id

    def write(writer: int) -> list[Appended]:
        return [store.append(tenant, thread, entry(said(f"{writer}.{n}"), said("and"))) for n in range(10)]

    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(write, range(8)))
    events = list(store.events(tenant, thread))
    assert [event.seq for event in events] == list(range(1, 161))
    for writer, appended in enumerate(written):
        assert [events[one.first_seq - 1].text for one in appended] == [f"{writer}.{n}" for n in range(10)]
        assert all(one.last_seq == one.first_seq + 1 for one in appended)


def test_of_many_who_expect_the_same_state_one_wins(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id

    def write(writer: int) -> bool:
        try:
            store.append(tenant, thread, entry(said(str(writer))), expected_seq=1)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(8))) == 1
    assert store.last_seq(tenant, thread) == 2


def test_of_many_with_the_same_key_one_writes_and_all_get_its_outcome(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(
            pool.map(lambda _: store.append(tenant, thread, entry(said("once")), key=Key("k", b"d")), range(8))
        )
    assert sorted(outcome.repeated for outcome in outcomes) == [False] + [True] * 7
    assert {(outcome.first_seq, outcome.last_seq) for outcome in outcomes} == {(2, 2)}
    assert texts_of(store, tenant, thread) == ["one", "once"]


def test_one_writers_failure_is_not_anothers(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id

    def write(writer: int) -> bool:
        try:
            store.append(tenant, thread, entry(said(str(writer))), expected_seq=0 if writer % 2 else None)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        stored = list(pool.map(write, range(24)))
    assert stored == [writer % 2 == 0 for writer in range(24)]
    assert sorted(texts_of(store, tenant, thread)[1:], key=int) == [str(writer) for writer in range(0, 24, 2)]


def test_a_redacted_event_leaves_a_tombstone_and_nothing_to_find(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "public", "secret password").id
    more = Entry(
        events=(noted("usage"),),
        checkpoint=b"knows the secret",
        postings=(Posting("secret", 2, 1), Posting("public", 1, 1)),
    )
    store.append(tenant, thread, more)
    store.redact(tenant, thread, 2, b'{"redacted":true}')
    events = list(store.events(tenant, thread))
    assert [(event.seq, event.kind) for event in events] == [(1, "message"), (2, "message"), (3, "usage")]
    assert (events[1].body, events[1].text, events[1].turn) == (b'{"redacted":true}', "", 2)
    assert store.search(tenant, "secret") == []
    assert store.postings(tenant, thread, ["secret", "public"]) == [Posting("public", 1, 1)]
    assert store.head(tenant, thread).checkpoint is None
    store.redact(tenant, thread, 2, b"again")
    with pytest.raises(NotFound, match="event 9"):
        store.redact(tenant, thread, 9, b"")
    assert [found.seq for found in store.search(tenant, "public")] == [1]


def test_postings_are_read_by_their_terms(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "a").id
    postings = (Posting("b", 1, 2), Posting("a", 1, 1), Posting("言葉", 1, 3), Posting("\ud800\0", 1, 4))
    store.append(tenant, thread, Entry(events=(said("b"),), postings=postings))
    store.append(tenant, thread, Entry(events=(said("c"),), postings=(Posting("a", 2, 5),)))
    assert store.postings(tenant, thread, ["b", "a", "a", "none"]) == [
        Posting("a", 1, 1),
        Posting("a", 2, 5),
        Posting("b", 1, 2),
    ]
    assert store.postings(tenant, thread, ["\ud800\0", "言葉"]) == [Posting("言葉", 1, 3), Posting("\ud800\0", 1, 4)]
    assert store.postings(tenant, thread, []) == []
