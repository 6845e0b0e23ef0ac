"""Summaries that are due, on a database: who is at one, and how it went."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sash.errors import LeaseLost
from sash.store.names import tenant_name
from sash.store.rows import Appended, Entry, Key, Lease, Trouble
from sash.store.running import Running
from sash.store.transactions import Transactions, end_of, microseconds
from sash.store.words import storable


class SqlSummaries(Transactions):
    """The verbs about due summaries, as statements in transactions."""

    @abstractmethod
    def _append(
        self, run: Running, tenant: str, thread: int, entry: Entry, expected_seq: int | None, key: Key | None
    ) -> Appended:
        """Add to a log, inside of a transaction."""

    def claim_due_summary(self, tenant: str | None, *, lease_seconds: float, turns: int = 1) -> Lease | None:
        """The right to summarize a thread."""
        if tenant is not None:
            tenant_name(tenant)

        def work(run: Running) -> Lease | None:
            lease_us = microseconds(lease_seconds)
            while due := run.rows("due", tenant=tenant, turns=turns):
                [[owner, thread, covered, end]] = due
                # Somebody may have been faster since we looked.
                for token, attempts in run.rows("take_lease", tenant=owner, thread=thread, lease_us=lease_us):
                    return Lease(tenant=owner, thread=thread, token=token, covered=covered, end=end, attempts=attempts)
            return None

        return self._write(tenant, work)

    def finish_summary(self, lease: Lease, entry: Entry, *, expected_seq: int | None = None) -> Appended:
        """Publish and give the lease back."""

        def work(run: Running) -> Appended:
            self._own(run, "end_lease", lease)
            return self._append(run, lease.tenant, lease.thread, entry, expected_seq, None)

        return self._write(lease.tenant, work)

    def fail_summary(self, lease: Lease, error: str, *, retry_seconds: float, park: bool = False) -> None:
        """Give the lease back and say why."""
        values = {"retry_us": microseconds(retry_seconds), "parked": int(park), "error": storable(error)}
        self._write(lease.tenant, lambda run: self._own(run, "fail_lease", lease, **values))

    def _own(self, run: Running, statement: str, lease: Lease, **values: Any) -> None:
        # The thread before the lease, as everybody does, or two of them may wait for each other.
        run.rows("hold", tenant=lease.tenant, thread=lease.thread)
        if not run.rows(statement, tenant=lease.tenant, thread=lease.thread, token=lease.token, **values):
            raise LeaseLost(thread=lease.thread, token=lease.token)

    def troubles(self, tenant: str) -> list[Trouble]:
        """The threads whose last attempt at a summary failed."""
        tenant_name(tenant)
        found = self._ask("troubles", tenant=tenant)
        return [
            Trouble(thread=thread, attempts=attempts, error=error, parked=bool(parked))
            for thread, attempts, error, parked in found
        ]

    def retry_summary(self, tenant: str, thread: int) -> None:
        """Take a parked or waiting thread up again."""
        tenant_name(tenant)

        def work(run: Running) -> None:
            end_of(run, tenant, thread)
            run.run("retry_lease", tenant=tenant, thread=thread)

        self._write(tenant, work)
