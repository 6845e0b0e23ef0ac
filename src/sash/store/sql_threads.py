"""Threads on a database: made, found, forgotten."""

from __future__ import annotations

from abc import abstractmethod

from sash.errors import NotFound, ThreadExists
from sash.store.names import checked, tenant_name
from sash.store.rows import ThreadRow
from sash.store.running import Running
from sash.store.stored import LAST, thread_of
from sash.store.transactions import Transactions
from sash.store.words import storable

FORGOTTEN = (
    "delete_log",
    "delete_frames",
    "delete_checkpoint",
    "delete_setup",
    "delete_once",
    "delete_postings",
    "delete_lease",
    "delete_run_events",
    "delete_runs",
)


class SqlThreads(Transactions):
    """The verbs about threads, as statements in transactions."""

    @abstractmethod
    def _drop_words(self, run: Running, tenant: str, thread: int, seq: int | None) -> None:
        """Let searches find an event, or any of a thread, no more. Comes before the event is changed."""

    def create(self, tenant: str, name: str, setup: bytes, *, at: float | None = None, after: int = 0) -> ThreadRow:
        """A new, empty thread."""
        tenant_name(tenant)
        checked("thread", name)

        def work(run: Running) -> ThreadRow:
            made = run.rows("add_thread", tenant=tenant, name=name, at=at, after=after)
            if not made:
                raise ThreadExists(name)
            [[thread]] = made
            run.run("add_setup", tenant=tenant, thread=thread, body=setup)
            return thread_of(run.rows("thread", tenant=tenant, thread=thread)[0])

        return self._write(tenant, work)

    def find(self, tenant: str, name: str) -> ThreadRow | None:
        """The thread of that name."""
        tenant_name(tenant)
        checked("thread", name)
        found = self._ask("find_thread", tenant=tenant, name=name)
        return thread_of(found[0]) if found else None

    def thread(self, tenant: str, thread: int) -> ThreadRow:
        """A thread as it stands now."""
        tenant_name(tenant)
        found = self._ask("thread", tenant=tenant, thread=thread)
        if not found:
            raise NotFound("thread", thread)
        return thread_of(found[0])

    def threads(self, tenant: str, *, before: int | None = None, limit: int = 50) -> list[ThreadRow]:
        """Newest first."""
        tenant_name(tenant)
        since = LAST if before is None else before
        found = self._ask("threads", tenant=tenant, before=since, limit=limit)
        return [thread_of(row) for row in found]

    def put_title(self, tenant: str, thread: int, title: str) -> None:
        """What people call it from now on."""
        tenant_name(tenant)
        put = {"tenant": tenant, "thread": thread, "title": storable(title)}
        if not self._write(tenant, lambda run: run.rows("put_title", **put)):
            raise NotFound("thread", thread)

    def setup(self, tenant: str, thread: int) -> bytes:
        """What the thread was created with."""
        tenant_name(tenant)
        found = self._ask("setup", tenant=tenant, thread=thread)
        if not found:
            raise NotFound("thread", thread)
        body: bytes = found[0][0]
        return body

    def delete(self, tenant: str, thread: int) -> None:
        """Forget the thread with all that belongs to it."""
        tenant_name(tenant)

        def work(run: Running) -> None:
            # The thread first: on PostgreSQL that holds up whoever is about to append to it.
            if not run.rows("delete_thread", tenant=tenant, thread=thread):
                raise NotFound("thread", thread)
            self._drop_words(run, tenant, thread, None)
            for statement in FORGOTTEN:
                run.run(statement, tenant=tenant, thread=thread)

        self._write(tenant, work, erasing=True)

    def delete_tenant(self, tenant: str) -> int:
        """Forget all of a tenant."""
        tenant_name(tenant)
        self._write(tenant, lambda run: run.run("delete_keys", tenant=tenant), erasing=True)
        self._write(tenant, lambda run: run.run("delete_lessons", tenant=tenant), erasing=True)
        self._write(tenant, lambda run: run.run("delete_notes", tenant=tenant), erasing=True)
        deleted = 0
        # Thread by thread: one transaction for all would hold the others up for as long as it takes.
        while threads := self.threads(tenant):
            for thread in threads:
                try:
                    self.delete(tenant, thread.id)
                    deleted += 1
                except NotFound:
                    continue
        return deleted
