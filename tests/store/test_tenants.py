"""No tenant sees another's bytes; keys say who somebody is."""

from __future__ import annotations

from hashlib import sha256

import pytest

from sash.errors import LeaseLost, NotFound
from sash.store import Entry, Key, Posting, Store
from tests.store.building import entry, noted, said, slid, texts_of, thread_of

SECRET = "secret plan"


def test_another_tenants_thread_looks_as_if_it_were_not_there(store: Store, tenant: str, other: str) -> None:
    thread = thread_of(store, tenant, SECRET, name="shared name").id
    more = Entry(
        events=(said("more", turn=2),),
        frames=(slid(1, 2, after_seq=2),),
        checkpoint=b"c",
        postings=(Posting("plan", 1, 1),),
    )
    store.append(tenant, thread, more, key=Key("k", b"d"))
    assert store.find(other, "shared name") is None
    assert store.threads(other) == []
    assert store.search(other, "secret") == store.search(other, "secret", thread=thread) == []
    assert store.claim_due_summary(other, lease_seconds=60) is None
    for call in (
        lambda: store.thread(other, thread),
        lambda: store.setup(other, thread),
        lambda: store.head(other, thread),
        lambda: store.delete(other, thread),
        lambda: list(store.events(other, thread)),
        lambda: list(store.events_of_turns(other, thread, [1])),
        lambda: list(store.frames(other, thread)),
        lambda: store.append(other, thread, entry(said("intruder"))),
        lambda: store.append(other, thread, entry(said("intruder")), key=Key("k", b"d")),
        lambda: store.appended(other, thread, Key("k", b"d")),
        lambda: store.redact(other, thread, 1, b""),
        lambda: store.postings(other, thread, ["plan"]),
        lambda: store.retry_summary(other, thread),
    ):
        with pytest.raises(NotFound) as refused:
            call()
        assert str(refused.value) == f"there is no thread {thread!r}"
    assert texts_of(store, tenant, thread) == [SECRET, "more"]


def test_the_same_name_is_another_thread_for_each_tenant(store: Store, tenant: str, other: str) -> None:
    mine = thread_of(store, tenant, "mine", name="same").id
    theirs = thread_of(store, other, "theirs", name="same").id
    assert mine != theirs
    assert texts_of(store, tenant, mine) == ["mine"]
    assert texts_of(store, other, theirs) == ["theirs"]
    store.delete(other, theirs)
    assert texts_of(store, tenant, mine) == ["mine"]


def test_tenant_and_name_do_not_run_into_each_other(store: Store, tenant: str) -> None:
    thread_of(store, f"{tenant}:a", "one", name="b")
    assert store.find(tenant, "a:b") is None
    assert store.find(f"{tenant}:a:b", "b") is None


def test_whoever_is_alone_needs_no_name(store: Store, tenant: str) -> None:
    thread = thread_of(store, "", "alone", name=tenant)
    assert texts_of(store, "", thread.id) == ["alone"]
    assert [found.thread for found in store.search("", "alone", thread=thread.id)] == [thread.id]
    assert store.find(tenant, tenant) is None
    store.delete("", thread.id)


def test_a_forged_lease_publishes_nothing(store: Store, tenant: str, other: str) -> None:
    import msgspec

    thread = thread_of(store, tenant, "one").id
    store.append(tenant, thread, Entry(events=(said("two", turn=2),), frames=(slid(1, 2, after_seq=2),)))
    lease = store.claim_due_summary(tenant, lease_seconds=60)
    assert lease is not None
    forged = msgspec.structs.replace(lease, tenant=other)
    with pytest.raises(LeaseLost):
        store.finish_summary(forged, entry(noted("summary")))
    assert store.last_seq(tenant, thread) == 2


def test_a_worker_for_everybody_is_told_whose_thread_it_has(store: Store, tenant: str) -> None:
    thread = thread_of(store, tenant, "one").id
    store.append(tenant, thread, Entry(events=(said("two", turn=2),), frames=(slid(1, 1_000_000, after_seq=2),)))
    lease = store.claim_due_summary(None, lease_seconds=60, turns=1_000_000)
    assert lease is not None
    assert (lease.tenant, lease.thread) == (tenant, thread)
    store.finish_summary(lease, Entry(events=(noted("summary"),), covered=1_000_000))


def test_a_key_is_known_by_its_digest_until_it_is_revoked(store: Store, tenant: str, other: str) -> None:
    digest = sha256(f"key of {tenant}".encode()).digest()
    assert store.find_key(digest) is None
    store.put_key(tenant, digest, label="laptop", at=5.0)
    found = store.find_key(digest)
    assert found is not None
    assert (found.tenant, found.label, found.at, found.revoked) == (tenant, "laptop", 5.0, False)
    # Nobody takes over a key by storing it again.
    store.put_key(other, digest, label="thief")
    assert store.find_key(digest) == found
    assert not store.revoke_key(other, digest)
    assert store.revoke_key(tenant, digest)
    revoked = store.find_key(digest)
    assert revoked is not None
    assert revoked.revoked
    assert not store.revoke_key(tenant, b"unknown")


def test_a_tenants_keys_are_listed_the_oldest_first_and_so_are_those_that_were_revoked(
    store: Store, tenant: str, other: str
) -> None:
    newer, older, foreign = (sha256(f"{name} of {tenant}".encode()).digest() for name in ("newer", "older", "foreign"))
    store.put_key(tenant, newer, label="laptop", at=7.0)
    store.put_key(tenant, older, label="phone", at=5.0)
    store.put_key(other, foreign, at=6.0)
    store.revoke_key(tenant, older)
    listed = [(key.digest, key.tenant, key.label, key.at, key.revoked) for key in store.keys(tenant)]
    assert listed == [(older, tenant, "phone", 5.0, True), (newer, tenant, "laptop", 7.0, False)]
    assert [key.digest for key in store.keys(None) if key.tenant in (tenant, other)] == [older, foreign, newer]
    assert store.keys("nobody") == []
    assert newer.hex().startswith(store.keys(tenant)[1].id)
