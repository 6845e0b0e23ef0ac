"""Threads on a database: made, found, forgotten."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from sash.errors import NotFound, ThreadExists
from sash.store.names import checked, tenant_name
from sash.store.rows import Share, ThreadRow
from sash.store.running import Running
from sash.store.stored import LAST, thread_of
from sash.store.transactions import Transactions
from sash.store.words import storable

FORGOTTEN = ("delete_setup", "delete_once", "delete_lease", "delete_run_events", "delete_runs")
"""Goes with the thread, whoever begins with what it said."""
CUT = ("delete_log", "delete_frames", "delete_checkpoints", "delete_postings")
"""Goes as far as nobody else has it."""
ALL = -1


class SqlThreads(Transactions):
    """The verbs about threads, as statements in transactions."""

    @abstractmethod
    def _drop_words(self, run: Running, tenant: str, thread: int, *, after: int, until: int = LAST) -> None:
        """Let searches find the events of a stretch no more. Comes before the events are changed."""

    def create(
        self, tenant: str, name: str, setup: bytes, *, at: float | None = None, shares: Sequence[Share] = ()
    ) -> ThreadRow:
        """A new, empty thread."""
        tenant_name(tenant)
        checked("thread", name)
        after = shares[-1].until if shares else 0

        def work(run: Running) -> ThreadRow:
            for share in shares:
                _hold(run, tenant, share)
            made = run.rows("add_thread", tenant=tenant, name=name, at=at, after=after)
            if not made:
                raise ThreadExists(name)
            [[thread]] = made
            run.run("add_setup", tenant=tenant, thread=thread, body=setup)
            for share in shares:
                run.run("add_fork", tenant=tenant, source=share.thread, thread=thread, until=share.until)
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
            at = {"tenant": tenant, "thread": thread}
            for statement in FORGOTTEN:
                run.run(statement, **at)
            [[shared]] = run.rows("shared_until", **at)
            self._cut(run, tenant, thread, ALL if shared is None else shared)
            if shared is not None:
                run.run("add_trunk", **at, until=shared)
            self._let_go(run, tenant, thread)

        self._write(tenant, work, erasing=True)

    def _cut(self, run: Running, tenant: str, thread: int, after: int) -> None:
        """Forget what was said after an event."""
        self._drop_words(run, tenant, thread, after=after)
        for statement in CUT:
            run.run(statement, tenant=tenant, thread=thread, after=after)

    def _let_go(self, run: Running, tenant: str, fork: int) -> None:
        """What a fork began with goes with it, as far as nobody else has it."""
        trunks = run.rows("trunks_of", tenant=tenant, thread=fork)
        run.run("delete_fork", tenant=tenant, thread=fork)
        for trunk, last_seq in trunks:
            at = {"tenant": tenant, "thread": trunk}
            run.rows("hold_trunk", **at)
            [[shared]] = run.rows("shared_until", **at)
            if shared is None:
                self._cut(run, tenant, trunk, ALL)
                run.run("delete_trunk", **at)
            elif shared < last_seq:
                self._cut(run, tenant, trunk, shared)
                run.run("cut_trunk", **at, until=shared)

    def forks(self, tenant: str, thread: int, seq: int) -> list[int]:
        """The threads that share this event."""
        tenant_name(tenant)
        return [fork for (fork,) in self._ask("forks", tenant=tenant, thread=thread, seq=seq)]

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


def _hold(run: Running, tenant: str, share: Share) -> None:
    """Nobody deletes what is about to be shared."""
    at = {"tenant": tenant, "thread": share.thread}
    if not run.rows("hold", **at):
        left = run.rows("hold_trunk", **at)
        if not left or left[0][0] < share.until:
            raise NotFound("thread", share.thread)
