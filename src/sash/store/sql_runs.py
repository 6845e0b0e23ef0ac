"""Runs on a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sash.errors import KeyReused, LeaseLost, NotFound, ThreadBusy
from sash.store.names import checked, tenant_name
from sash.store.running import Running
from sash.store.runs import NewRun, RunEnd, RunEvent, RunRow
from sash.store.stored import LAST, Row
from sash.store.transactions import Transactions, microseconds
from sash.store.words import storable


class SqlRuns(Transactions):
    """The verbs about runs, as statements in transactions."""

    def start_run(self, tenant: str, thread: int, run: NewRun, *, lease_seconds: float) -> RunRow:
        """Begin an answer, alone."""
        tenant_name(tenant)
        checked("run", run.id)
        key = run.key
        if key is not None:
            checked("key", key.name)
        at = {"tenant": tenant, "thread": thread}

        def work(running: Running) -> RunRow:
            if not running.rows("hold", **at):
                raise NotFound("thread", thread)
            for row in running.rows("run_with_key", **at, key=key.name) if key is not None else ():
                assert key is not None
                if row[-1] != key.digest:
                    raise KeyReused(key.name)
                return msgspec.structs.replace(run_of(row[:-1]), repeated=True)
            _check_free(running, at, thread)
            running.run(
                "add_run",
                **at,
                run=run.id,
                turn=run.turn,
                internal=int(run.internal),
                owner=run.owner,
                lease_us=microseconds(lease_seconds),
                key=None if key is None else key.name,
                digest=None if key is None else key.digest,
            )
            return _row(running, tenant, run.id)

        return self._write(tenant, work)

    def resume_run(self, tenant: str, run: str, owner: str, *, lease_seconds: float) -> RunRow:
        """Go on with an answer that had ended."""
        tenant_name(tenant)

        def work(running: Running) -> RunRow:
            thread = _row(running, tenant, run).thread
            at = {"tenant": tenant, "thread": thread}
            running.rows("hold", **at)
            _check_free(running, at, thread)
            running.run("reopen_run", tenant=tenant, run=run, owner=owner, lease_us=microseconds(lease_seconds))
            return _row(running, tenant, run)

        return self._write(tenant, work)

    def take_run(self, run: RunRow, owner: str, *, lease_seconds: float) -> RunRow:
        """Have an answer whose owner is dead."""
        tenant_name(run.tenant)
        at = {"tenant": run.tenant, "run": run.id}

        def work(running: Running) -> RunRow:
            lease_us = microseconds(lease_seconds)
            if not running.rows("take_run", **at, owner=run.owner, taker=owner, lease_us=lease_us):
                raise LeaseLost(turn=run.id)
            return _row(running, run.tenant, run.id)

        return self._write(run.tenant, work)

    def write_run(  # noqa: PLR0913 - as the contract has it
        self,
        tenant: str,
        run: str,
        owner: str,
        events: Sequence[RunEvent],
        *,
        lease_seconds: float,
        turn: int | None = None,
        end: RunEnd | None = None,
    ) -> RunRow:
        """Add events, stay alive, and with `end` be over."""
        tenant_name(tenant)
        at = {"tenant": tenant, "run": run}
        count = len(events)

        def work(running: Running) -> RunRow:
            lease_us = microseconds(lease_seconds)
            moved = running.rows("write_run", **at, owner=owner, count=count, turn=turn, lease_us=lease_us)
            if not moved:
                raise LeaseLost(turn=run)
            first = moved[0][0] - count + 1
            running.many(
                "add_run_event",
                [{**at, "seq": first + place, "kind": of.kind, "body": of.body} for place, of in enumerate(events)],
            )
            if end is not None:
                running.run("end_run", **at, status=end.status, stop=end.stop, error=storable(end.error))
            return _row(running, tenant, run)

        return self._write(tenant, work)

    def ask_run_to_end(self, tenant: str, run: str) -> RunRow:
        """Tell whoever has it."""
        tenant_name(tenant)

        def work(running: Running) -> RunRow:
            running.run("ask_run_to_end", tenant=tenant, run=run)
            return _row(running, tenant, run)

        return self._write(tenant, work)

    def run(self, tenant: str, run: str) -> RunRow:
        """A run by its id."""
        tenant_name(tenant)
        return self._read(tenant, lambda running: _row(running, tenant, run))

    def runs(self, tenant: str, thread: int, *, first: int = -1, last: int | None = None) -> list[RunRow]:
        """The runs of some turns."""
        tenant_name(tenant)
        turns = {"first": first, "last": LAST if last is None else last}
        found = self._read(tenant, lambda running: running.rows("runs", tenant=tenant, thread=thread, **turns))
        return [run_of(row) for row in found]

    def run_events(self, tenant: str, run: str, *, since: int = 0, limit: int = 10_000) -> list[RunEvent]:
        """What was told of it."""
        tenant_name(tenant)
        asked = {"tenant": tenant, "run": run, "since": since, "limit": limit}
        found = self._read(tenant, lambda running: running.rows("run_events", **asked))
        return [RunEvent(seq=seq, kind=kind, body=body, at=made_us / 1e6) for seq, kind, body, made_us in found]

    def open_runs(self) -> list[RunRow]:
        """What has not ended, of every tenant."""
        return [run_of(row) for row in self._read(None, lambda running: running.rows("open_runs"))]


def _check_free(running: Running, at: dict[str, Any], thread: int) -> None:
    for row in running.rows("run_of_thread", **at):
        raise ThreadBusy(thread=thread, run=run_of(row).id)


def _row(running: Running, tenant: str, run: str) -> RunRow:
    found = running.rows("run", tenant=tenant, run=storable(run))
    if not found:
        raise NotFound("turn", run)
    return run_of(found[0])


def run_of(row: Row) -> RunRow:
    """A run as it was stored."""
    id_, tenant, thread, turn, internal, status, stop, error, owner, lapsed, end_asked, last, started, ended = row
    return RunRow(
        id=id_,
        tenant=tenant,
        thread=thread,
        turn=turn,
        internal=bool(internal),
        status=status,
        stop=stop,
        error=error,
        owner=owner,
        lapsed=bool(lapsed),
        end_asked=bool(end_asked),
        last_event=last,
        started=started / 1e6,
        ended=None if ended is None else ended / 1e6,
    )
