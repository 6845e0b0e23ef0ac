"""What usage has taught, kept by tenant and name."""

from __future__ import annotations

import pytest

from sash.errors import InvalidName
from sash.store import Store


def test_a_lesson_is_kept_and_replaced(store: Store, tenant: str) -> None:
    assert store.lesson(tenant, "a1") is None
    store.put_lesson(tenant, "a1", b"\x00one")
    store.put_lesson(tenant, "a1", b"\x00two")
    store.put_lesson(tenant, "a2", b"three")
    assert store.lesson(tenant, "a1") == b"\x00two"
    assert store.lesson(tenant, "a2") == b"three"


def test_a_lesson_is_its_tenant_s_and_goes_with_it(store: Store, tenant: str, other: str) -> None:
    store.put_lesson(tenant, "a1", b"hers")
    store.put_lesson(other, "a1", b"his")
    assert store.lesson(other, "a1") == b"his"
    assert store.lesson(f"{tenant}-x", "a1") is None
    store.delete_tenant(tenant)
    assert store.lesson(tenant, "a1") is None
    assert store.lesson(other, "a1") == b"his"


def test_a_lesson_has_a_name(store: Store, tenant: str) -> None:
    with pytest.raises(InvalidName):
        store.put_lesson(tenant, "", b"x")
