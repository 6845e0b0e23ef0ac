"""What a database keeps beside threads: who is let in, what usage has taught, what is to be found again."""

from __future__ import annotations

from sash.store.names import checked, tenant_name
from sash.store.rows import ApiKey
from sash.store.running import Running
from sash.store.transactions import Transactions, microseconds


class SqlKeys(Transactions):
    """The verbs about API keys, lessons and notes, as statements in transactions."""

    def put_lesson(self, tenant: str, name: str, body: bytes) -> None:
        """Keep what was learned."""
        tenant_name(tenant)
        checked("lesson", name)
        self._write(tenant, lambda run: run.run("put_lesson", tenant=tenant, name=name, body=body))

    def lesson(self, tenant: str, name: str) -> bytes | None:
        """What was learned."""
        tenant_name(tenant)
        checked("lesson", name)
        found = self._read(tenant, lambda run: run.rows("lesson", tenant=tenant, name=name))
        return bytes(found[0][0]) if found else None

    def keep_note(self, tenant: str, name: str, body: bytes, *, forget_seconds: float) -> bytes:
        """Keep it, unless something is kept there already."""
        tenant_name(tenant)
        checked("note", name)

        def work(run: Running) -> bytes:
            run.run("forget_notes", tenant=tenant, age_us=microseconds(forget_seconds))
            run.run("keep_note", tenant=tenant, name=name, body=body)
            [[kept]] = run.rows("note", tenant=tenant, name=name)
            return bytes(kept)

        return self._write(tenant, work)

    def note(self, tenant: str, name: str) -> bytes | None:
        """What is kept."""
        tenant_name(tenant)
        checked("note", name)
        found = self._read(tenant, lambda run: run.rows("note", tenant=tenant, name=name))
        return bytes(found[0][0]) if found else None

    def put_key(self, tenant: str, digest: bytes, *, label: str = "", at: float | None = None) -> None:
        """Let in whoever shows the key with this digest."""
        tenant_name(tenant)
        checked("key", label, empty=True)
        self._write(tenant, lambda run: run.run("put_key", tenant=tenant, digest=digest, label=label, at=at))

    def find_key(self, digest: bytes) -> ApiKey | None:
        """Whose key it is."""
        found = self._read(None, lambda run: run.rows("find_key", digest=digest))
        if not found:
            return None
        [[tenant, label, at, revoked]] = found
        return ApiKey(digest=digest, tenant=tenant, label=label, at=at, revoked=bool(revoked))

    def keys(self, tenant: str | None) -> list[ApiKey]:
        """The keys there are."""
        if tenant is not None:
            tenant_name(tenant)
        return [
            ApiKey(digest=bytes(digest), tenant=owner, label=label, at=at, revoked=bool(revoked))
            for digest, owner, label, at, revoked in self._read(tenant, lambda run: run.rows("keys", tenant=tenant))
        ]

    def revoke_key(self, tenant: str, digest: bytes) -> bool:
        """Whether the tenant had such a key."""
        tenant_name(tenant)
        return bool(self._write(tenant, lambda run: run.rows("revoke_key", tenant=tenant, digest=digest)))
