"""API keys: made at random, shown once, kept as a digest, and each somebody's."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping

import msgspec

from sash.store import Store

PREFIX = "sash_"
"""By it a key of ours is told from a provider's, which passes through the proxy."""
WHOLE = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{40,}}")
"""A key somewhere in a text, as `make_key` makes them: not every word that begins as they do."""
REMEMBERED_SECONDS = 1.0
"""So long may a revoked key still be taken."""
MOST_REMEMBERED = 4096


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key that was just made. It is nowhere else."""

    key: str
    tenant: str
    label: str


def digest_of(key: str) -> bytes:
    """What is stored of a key. It is random and long, so that a plain fast hash keeps it."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def make_key(store: Store, tenant: str, label: str = "") -> NewKey:
    """A new key that lets in as this tenant."""
    key = PREFIX + secrets.token_urlsafe(32)
    store.put_key(tenant, digest_of(key), label=label, at=time.time())
    return NewKey(key=key, tenant=tenant, label=label)


def shown_key(headers: Mapping[str, str]) -> str | None:
    """The key of ours that a request shows: in a header of its own, or where SDKs put theirs. Never in an address."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    for said in (
        headers.get("x-sash-key", ""),
        bearer if scheme.lower() == "bearer" else "",
        headers.get("x-api-key", ""),
    ):
        if said.strip().startswith(PREFIX):
            return said.strip()
    return None


class Doorkeeper:
    """Says as whom a key lets in."""

    def __init__(self, store: Store, *, owner_key: str = "") -> None:
        """`owner_key`: one more key, from the environment, for the tenant with the empty name."""
        self._store = store
        self._owner = digest_of(owner_key) if owner_key else None
        self._remembered: dict[bytes, tuple[float, str]] = {}

    def remembered(self, key: str) -> str | None:
        """The tenant, where it needs no look into the store."""
        digest = digest_of(key)
        if self._owner is not None and hmac.compare_digest(digest, self._owner):
            return ""
        known = self._remembered.get(digest)
        return known[1] if known is not None and known[0] > time.monotonic() else None

    def tenant_of(self, key: str) -> str | None:
        """The tenant, or None for a key that is unknown or revoked. Looks into the store."""
        digest = digest_of(key)
        found = self._store.find_key(digest)
        if found is None or found.revoked:
            self._remembered.pop(digest, None)
            return None
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[digest] = (time.monotonic() + REMEMBERED_SECONDS, found.tenant)
        return found.tenant
