"""Summaries are stored: what is tested here runs on every store."""

from tests.store.conftest import _opened, other, scratch, store, tenant

__all__ = ["_opened", "other", "scratch", "store", "tenant"]
