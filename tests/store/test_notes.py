"""What is kept once, to be found again by its name."""

from __future__ import annotations

import pytest

from sash.errors import InvalidName
from sash.store import Store

DAY = 86_400.0


def test_the_first_note_under_a_name_stays(store: Store, tenant: str) -> None:
    assert store.note(tenant, "a1") is None
    assert store.keep_note(tenant, "a1", b"\x00one", forget_seconds=DAY) == b"\x00one"
    assert store.keep_note(tenant, "a1", b"two", forget_seconds=DAY) == b"\x00one"
    assert store.keep_note(tenant, "a2", b"three", forget_seconds=DAY) == b"three"
    assert store.note(tenant, "a1") == b"\x00one"


def test_a_note_is_its_tenant_s_and_goes_with_it(store: Store, tenant: str, other: str) -> None:
    store.keep_note(tenant, "a1", b"hers", forget_seconds=DAY)
    assert store.keep_note(other, "a1", b"his", forget_seconds=DAY) == b"his"
    assert store.note(f"{tenant}-x", "a1") is None
    store.delete_tenant(tenant)
    assert store.note(tenant, "a1") is None
    assert store.note(other, "a1") == b"his"


def test_old_notes_are_forgotten_when_new_ones_are_kept_and_only_the_tenant_s_own(
    store: Store, tenant: str, other: str
) -> None:
    for owner in (tenant, other):
        store.keep_note(owner, "old", b"1", forget_seconds=DAY)
    store.keep_note(tenant, "new", b"2", forget_seconds=-1)
    assert store.note(tenant, "old") is None
    assert store.note(tenant, "new") == b"2"
    assert store.note(other, "old") == b"1"


def test_a_note_has_a_name(store: Store, tenant: str) -> None:
    with pytest.raises(InvalidName):
        store.keep_note(tenant, "", b"x", forget_seconds=DAY)
