"""Threads: made, found, listed, forgotten."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sash.errors import InvalidName, NotFound, SashError, StoreError, ThreadExists
from sash.store import Entry, Posting, Share, Store
from sash.store.names import LONGEST
from tests.store.building import entry, said, slid, texts_of, thread_of

STRANGE = (
    "../../etc/passwd", "a:b", "a", "b:c", "1", "01", " ", "%s ? :name $1", "'; DROP TABLE log; --", "Résumé",
    "Re\u0301sume\u0301", "\u202eabc", "раура1", "😀" * 20, "\t\n", "x" * LONGEST,
)  # fmt: skip


def test_a_new_thread_is_empty_and_keeps_its_setup_to_the_byte(store: Store, tenant: str) -> None:
    setup = b'{"b":1,"a":"\\ud800\\u0000"}\x00\xff'
    made = store.create(tenant, "first", setup, at=1.5)
    assert (made.name, made.at, made.last_seq, made.boundary, made.covered) == ("first", 1.5, 0, 0, 0)
    assert store.setup(tenant, made.id) == setup
    assert store.find(tenant, "first") == store.thread(tenant, made.id) == made
    assert store.last_seq(tenant, made.id) == 0
    assert list(store.events(tenant, made.id)) == []
    assert list(store.frames(tenant, made.id)) == []


def test_a_name_is_taken_once(store: Store, tenant: str) -> None:
    store.create(tenant, "twice", b"1")
    with pytest.raises(ThreadExists, match="'twice'"):
        store.create(tenant, "twice", b"2")
    [only] = store.threads(tenant)
    assert store.setup(tenant, only.id) == b"1"


def test_what_is_not_there_is_not_found(store: Store, tenant: str) -> None:
    assert store.find(tenant, "nobody") is None
    assert store.threads(tenant) == []
    gone = 999_999_999
    for call in (
        lambda: store.thread(tenant, gone),
        lambda: store.setup(tenant, gone),
        lambda: store.last_seq(tenant, gone),
        lambda: store.head(tenant, gone),
        lambda: store.delete(tenant, gone),
        lambda: list(store.events(tenant, gone)),
        lambda: list(store.frames(tenant, gone)),
        lambda: list(store.events_of_turns(tenant, gone, [1])),
        lambda: store.append(tenant, gone, entry(said("lost"))),
        lambda: store.redact(tenant, gone, 1, b""),
        lambda: store.postings(tenant, gone, ["x"]),
        lambda: store.retry_summary(tenant, gone),
    ):
        with pytest.raises(NotFound):
            call()


def test_any_text_may_be_a_name_and_each_is_its_own(store: Store, tenant: str) -> None:
    made = {name: store.create(tenant, name, name.encode()).id for name in STRANGE}
    assert len(set(made.values())) == len(STRANGE)
    for name, thread in made.items():
        found = store.find(tenant, name)
        assert found is not None
        assert (found.id, found.name) == (thread, name)
        assert store.setup(tenant, thread) == name.encode()


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * (LONGEST + 1), "x" * 1_000_000])
def test_a_name_that_some_database_could_not_hold_is_refused_by_all(store: Store, tenant: str, name: str) -> None:
    calls: list[Callable[[], object]] = [lambda: store.create(tenant, name, b""), lambda: store.find(tenant, name)]
    for call in calls:
        with pytest.raises(InvalidName) as refused:
            call()
        assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize("tenant", ["a\0b", "\udfff", "x" * (LONGEST + 1)])
def test_so_is_a_tenant(store: Store, tenant: str) -> None:
    with pytest.raises(InvalidName, match="tenant"):
        store.threads(tenant)


def test_threads_are_listed_newest_first_page_by_page(store: Store, tenant: str) -> None:
    made = [store.create(tenant, f"thread {number}", b"").id for number in range(7)]
    seen: list[int] = []
    before = None
    while page := store.threads(tenant, before=before, limit=3):
        seen += [thread.id for thread in page]
        before = page[-1].id
    assert seen == made[::-1]


def test_a_deleted_thread_is_gone_with_all_that_belonged_to_it(store: Store, tenant: str) -> None:
    kept = thread_of(store, tenant, "needle stays", name="kept")
    thread = thread_of(store, tenant, "needle goes", name="goes")
    more = Entry(
        events=(said("needle too", turn=2),),
        frames=(slid(1, 2, after_seq=2),),
        checkpoint=b"state",
        postings=(Posting("needle", 2, 1),),
    )
    store.append(tenant, thread.id, more)
    store.delete(tenant, thread.id)
    assert store.find(tenant, "goes") is None
    assert [found.thread for found in store.search(tenant, "needle")] == [kept.id]
    assert store.claim_due_summary(tenant, lease_seconds=60) is None
    with pytest.raises(NotFound):
        store.delete(tenant, thread.id)
    assert texts_of(store, tenant, kept.id) == ["needle stays"]


def test_a_stale_handle_does_not_revive_a_deleted_thread_nor_write_into_its_namesake(store: Store, tenant: str) -> None:
    old = thread_of(store, tenant, "old", name="same")
    store.delete(tenant, old.id)
    new = thread_of(store, tenant, name="same")
    assert new.id != old.id
    with pytest.raises(NotFound):
        store.append(tenant, old.id, entry(said("late")))
    assert texts_of(store, tenant, new.id) == []
    assert store.head(tenant, new.id).checkpoint is None


def test_a_tenant_can_be_forgotten_altogether(store: Store, tenant: str, other: str) -> None:
    for number in range(3):
        thread_of(store, tenant, "mine", name=f"thread {number}")
    stays = thread_of(store, other, "theirs")
    store.put_key(tenant, f"{tenant} key".encode())
    assert store.delete_tenant(tenant) == 3
    assert store.threads(tenant) == []
    assert store.search(tenant, "mine") == []
    assert store.find_key(f"{tenant} key".encode()) is None
    assert texts_of(store, other, stays.id) == ["theirs"]


def test_every_error_of_a_store_is_one_of_ours() -> None:
    assert issubclass(NotFound, StoreError)
    assert issubclass(StoreError, SashError)


def test_a_thread_has_a_title_that_may_change_and_knows_when_it_was_used(store: Store, tenant: str) -> None:
    made = store.create(tenant, "thread", b"{}")
    assert made.title == ""
    assert made.created > 1_700_000_000
    store.put_title(tenant, made.id, "Fix \0 the build")
    store.append(tenant, made.id, entry(said("hello")))
    row = store.thread(tenant, made.id)
    assert row.title.startswith("Fix ")
    assert row.created == made.created <= row.updated
    assert store.threads(tenant)[0].title == row.title
    with pytest.raises(NotFound):
        store.put_title("somebody else", made.id, "mine")


def test_a_thread_may_go_on_numbering_where_another_one_stood(store: Store, tenant: str) -> None:
    source = thread_of(store, tenant, *"abcdefgh", name="source")
    thread = store.create(tenant, "fork", b"{}", shares=[Share(source.id, 7)])
    assert thread.last_seq == store.last_seq(tenant, thread.id) == 7
    assert store.append(tenant, thread.id, entry(said("eight")), expected_seq=7).first_seq == 8
    assert [event.seq for event in store.events(tenant, thread.id, since=7)] == [8]
    assert [event.seq for event in store.events(tenant, thread.id, since=7, until=8)] == [8]
    store.redact(tenant, thread.id, 8, b"{}")
    assert [event.body for event in store.events(tenant, thread.id, since=7)] == [b"{}"]
