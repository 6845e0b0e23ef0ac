"""What is kept beside threads, in memory: who is let in, what usage has taught, what is to be found again."""

from __future__ import annotations

import time
from threading import RLock

import msgspec

from sash.store.names import checked, tenant_name
from sash.store.rows import ApiKey


class MemoryKeys:
    """The verbs about API keys, lessons and notes, in plain Python."""

    _lock: RLock

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[bytes, ApiKey] = {}
        self._lessons: dict[tuple[str, str], bytes] = {}
        self._notes: dict[tuple[str, str], tuple[bytes, float]] = {}

    def _forget_keys(self, tenant: str) -> None:
        """All of it that is a tenant's."""
        self._keys = {digest: key for digest, key in self._keys.items() if key.tenant != tenant}
        self._lessons = {of: body for of, body in self._lessons.items() if of[0] != tenant}
        self._notes = {of: kept for of, kept in self._notes.items() if of[0] != tenant}

    def put_lesson(self, tenant: str, name: str, body: bytes) -> None:
        """Keep what was learned."""
        tenant_name(tenant)
        checked("lesson", name)
        with self._lock:
            self._lessons[tenant, name] = body

    def lesson(self, tenant: str, name: str) -> bytes | None:
        """What was learned."""
        tenant_name(tenant)
        checked("lesson", name)
        return self._lessons.get((tenant, name))

    def keep_note(self, tenant: str, name: str, body: bytes, *, forget_seconds: float) -> bytes:
        """Keep it, unless something is kept there already."""
        tenant_name(tenant)
        checked("note", name)
        with self._lock:
            now = time.monotonic()
            stale = [of for of, (_, made) in self._notes.items() if of[0] == tenant and made < now - forget_seconds]
            for of in stale:
                del self._notes[of]
            return self._notes.setdefault((tenant, name), (body, now))[0]

    def note(self, tenant: str, name: str) -> bytes | None:
        """What is kept."""
        tenant_name(tenant)
        checked("note", name)
        kept = self._notes.get((tenant, name))
        return None if kept is None else kept[0]

    def put_key(self, tenant: str, digest: bytes, *, label: str = "", at: float | None = None) -> None:
        """Let in whoever shows the key with this digest."""
        tenant_name(tenant)
        checked("key", label, empty=True)
        with self._lock:
            self._keys.setdefault(digest, ApiKey(digest=digest, tenant=tenant, label=label, at=at, revoked=False))

    def find_key(self, digest: bytes) -> ApiKey | None:
        """Whose key it is."""
        with self._lock:
            return self._keys.get(digest)

    def keys(self, tenant: str | None) -> list[ApiKey]:
        """The keys there are."""
        if tenant is not None:
            tenant_name(tenant)
        with self._lock:
            found = [key for key in self._keys.values() if tenant in (None, key.tenant)]
        return sorted(found, key=lambda key: (key.at or 0.0, key.digest))

    def revoke_key(self, tenant: str, digest: bytes) -> bool:
        """Whether the tenant had such a key."""
        tenant_name(tenant)
        with self._lock:
            known = self._keys.get(digest)
            if known is None or known.tenant != tenant:
                return False
            self._keys[digest] = msgspec.structs.replace(known, revoked=True)
            return True
