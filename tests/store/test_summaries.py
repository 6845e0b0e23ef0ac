"""Summaries that are due: derived, leased, fenced, counted, parked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sash.errors import Conflict, LeaseLost
from sash.store import Appended, Entry, Store, ThreadRow, Trouble
from tests.store.building import entry, noted, said, slid, texts_of, thread_of

SUMMARY = Entry(events=(noted("summary", b'"short"', text="short"),), covered=3)


def slid_thread(store: Store, tenant: str, *, name: str = "thread") -> ThreadRow:
    """Three turns, two of them evicted."""
    thread = thread_of(store, tenant, "one", "two", name=name)
    store.append(tenant, thread.id, Entry(events=(said("three", turn=3),), frames=(slid(1, 3, after_seq=3),)))
    return store.thread(tenant, thread.id)


def test_a_summary_is_due_when_evicted_turns_are_not_covered(store: Store, tenant: str) -> None:
    thread_of(store, tenant, "nothing evicted here", name="calm")
    assert store.claim_due_summary(tenant, lease_seconds=60) is None
    thread = slid_thread(store, tenant)
    assert store.claim_due_summary(tenant, lease_seconds=60, turns=4) is None
    lease = store.claim_due_summary(tenant, lease_seconds=60, turns=3)
    assert lease is not None
    assert (lease.tenant, lease.thread, lease.covered, lease.end, lease.attempts) == (tenant, thread.id, 0, 3, 1)


def test_finishing_publishes_once_and_nothing_is_due_any_more(store: Store, tenant: str) -> None:
    thread = slid_thread(store, tenant)
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    assert store.finish_summary(lease, SUMMARY) == Appended(4, 4)
    assert store.thread(tenant, thread.id).covered == 3
    assert store.claim_due_summary(tenant, lease_seconds=60) is None
    with pytest.raises(LeaseLost):
        store.finish_summary(lease, SUMMARY)
    assert texts_of(store, tenant, thread.id) == ["one", "two", "three", "short"]


def test_a_leased_summary_is_nobody_elses(store: Store, tenant: str) -> None:
    slid_thread(store, tenant)
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda _: store.claim_due_summary(tenant, lease_seconds=60), range(8)))
    assert len([claim for claim in claims if claim is not None]) == 1


def test_two_workers_take_two_threads(store: Store, tenant: str) -> None:
    threads = {slid_thread(store, tenant, name=name).id for name in ("a", "b")}
    claims = [store.claim_due_summary(tenant, lease_seconds=60) for _ in range(3)]
    assert {claim.thread for claim in claims if claim is not None} == threads
    assert claims[2] is None


def test_a_worker_whose_lease_ran_out_is_fenced_off_by_the_next(store: Store, tenant: str) -> None:
    thread = slid_thread(store, tenant)
    sleeper = store.claim_due_summary(tenant, lease_seconds=0)
    successor = store.claim_due_summary(tenant, lease_seconds=60)
    assert sleeper is not None
    assert successor is not None
    assert successor.token > sleeper.token
    assert successor.attempts == 2
    with pytest.raises(LeaseLost):
        store.finish_summary(sleeper, SUMMARY)
    with pytest.raises(LeaseLost):
        store.fail_summary(sleeper, "late", retry_seconds=0)
    store.finish_summary(successor, SUMMARY)
    assert store.last_seq(tenant, thread.id) == 4


def test_a_failed_publication_keeps_the_lease(store: Store, tenant: str) -> None:
    thread = slid_thread(store, tenant)
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    with pytest.raises(Conflict):
        store.finish_summary(lease, SUMMARY, expected_seq=1)
    assert store.thread(tenant, thread.id).covered == 0
    store.finish_summary(lease, SUMMARY, expected_seq=3)


def test_a_failure_waits_and_is_shown(store: Store, tenant: str) -> None:
    thread = slid_thread(store, tenant)
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    store.fail_summary(lease, "no answer\0\ud800", retry_seconds=3600)
    assert store.claim_due_summary(tenant, lease_seconds=60) is None
    assert store.troubles(tenant) == [
        Trouble(thread=thread.id, attempts=1, error="no answer\ufffd\ufffd", parked=False)
    ]
    store.retry_summary(tenant, thread.id)
    again = store.claim_due_summary(tenant, lease_seconds=60)
    assert again is not None
    store.finish_summary(again, SUMMARY)
    assert store.troubles(tenant) == []


def test_a_poison_thread_is_parked_until_somebody_takes_it_up(store: Store, tenant: str) -> None:
    thread = slid_thread(store, tenant)
    for attempt in (1, 2):
        lease = store.claim_due_summary(tenant, lease_seconds=60)
        assert lease is not None
        assert lease.attempts == attempt
        store.fail_summary(lease, "crashed", retry_seconds=0, park=attempt == 2)
    assert store.claim_due_summary(tenant, lease_seconds=60) is None
    assert store.troubles(tenant) == [Trouble(thread=thread.id, attempts=2, error="crashed", parked=True)]
    store.retry_summary(tenant, thread.id)
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    assert lease.attempts == 1


def test_what_was_said_meanwhile_is_not_lost_to_a_summary(store: Store, tenant: str) -> None:
    thread = slid_thread(store, tenant)
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    store.append(tenant, thread.id, entry(said("four", turn=4)))
    store.finish_summary(lease, SUMMARY)
    assert texts_of(store, tenant, thread.id) == ["one", "two", "three", "four", "short"]


def test_the_lease_on_a_deleted_thread_is_lost(store: Store, tenant: str) -> None:
    thread = slid_thread(store, tenant)
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    store.delete(tenant, thread.id)
    with pytest.raises(LeaseLost):
        store.finish_summary(lease, SUMMARY)
    assert store.find(tenant, "thread") is None


def test_a_summary_is_due_for_what_the_next_slide_will_evict_until_a_frame_is_made(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one", "two")
    store.append(tenant, thread.id, Entry(events=(said("three", turn=3),), ahead=2))
    assert store.thread(tenant, thread.id).ahead == 2
    store.append(tenant, thread.id, entry(said("four", turn=4)))
    assert store.claim_due_summary(tenant, lease_seconds=60, turns=3) is None
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    assert (lease.covered, lease.end) == (0, 2)
    store.finish_summary(lease, Entry(events=(noted("summary", text="short"),), covered=2))
    assert store.claim_due_summary(tenant, lease_seconds=60) is None
    # The slide went further than was foreseen.
    store.append(tenant, thread.id, Entry(events=(said("five", turn=5),), frames=(slid(1, 4, after_seq=6),)))
    assert store.thread(tenant, thread.id).ahead == 0
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    assert (lease.covered, lease.end) == (2, 4)


def test_what_is_near_is_stored_with_what_brought_it_near_or_not_at_all(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one", "two")
    with pytest.raises(Conflict):
        store.append(tenant, thread.id, Entry(events=(said("three", turn=3),), ahead=2), expected_seq=1)
    assert store.thread(tenant, thread.id).ahead == 0
    assert store.claim_due_summary(tenant, lease_seconds=60) is None
