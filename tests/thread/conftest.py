"""The databases of the store's own tests."""

from tests.store.conftest import _opened, scratch, store, tenant

__all__ = ["_opened", "scratch", "store", "tenant"]
