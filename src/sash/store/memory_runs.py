"""Runs in memory."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import RLock

import msgspec

from sash.errors import KeyReused, LeaseLost, NotFound, ThreadBusy
from sash.store.names import checked, tenant_name
from sash.store.rows import Key
from sash.store.runs import NewRun, RunEnd, RunEvent, RunRow


class _Run:
    """A run with what was told of it."""

    def __init__(self, row: RunRow, key: Key | None) -> None:
        self.row, self.key = row, key
        self.until = 0.0
        self.events: list[RunEvent] = []

    def shown(self) -> RunRow:
        """As others see it now."""
        return msgspec.structs.replace(self.row, lapsed=self.until <= time.monotonic())


class MemoryRuns(ABC):
    """The verbs about runs, in plain Python."""

    _lock: RLock

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], _Run] = {}

    @abstractmethod
    def _check_thread(self, tenant: str, thread: int) -> None:
        """`NotFound` where there is no such thread."""

    def start_run(self, tenant: str, thread: int, run: NewRun, *, lease_seconds: float) -> RunRow:
        """Begin an answer, alone."""
        checked("run", run.id)
        if run.key is not None:
            checked("key", run.key.name)
        with self._lock:
            self._check_thread(tenant, thread)
            for known in self._of_thread(tenant, thread):
                if run.key is not None and known.key is not None and known.key.name == run.key.name:
                    if known.key.digest != run.key.digest:
                        raise KeyReused(run.key.name)
                    return msgspec.structs.replace(known.shown(), repeated=True)
            self._check_free(tenant, thread)
            row = RunRow(
                id=run.id,
                tenant=tenant,
                thread=thread,
                turn=run.turn,
                internal=run.internal,
                status="running",
                stop="",
                error="",
                owner=run.owner,
                lapsed=False,
                end_asked=False,
                last_event=0,
                started=time.time(),
                ended=None,
            )
            made = self._runs[tenant, run.id] = _Run(row, run.key)
            made.until = time.monotonic() + lease_seconds
            return made.shown()

    def resume_run(self, tenant: str, run: str, owner: str, *, lease_seconds: float) -> RunRow:
        """Go on with an answer that had ended."""
        with self._lock:
            kept = self._run(tenant, run)
            self._check_free(tenant, kept.row.thread)
            kept.row = msgspec.structs.replace(
                kept.row, status="running", stop="", error="", owner=owner, end_asked=False, ended=None
            )
            kept.until = time.monotonic() + lease_seconds
            return kept.shown()

    def take_run(self, run: RunRow, owner: str, *, lease_seconds: float) -> RunRow:
        """Have an answer whose owner is dead."""
        tenant_name(run.tenant)
        with self._lock:
            kept = self._owned(run.tenant, run.id, run.owner)
            kept.row = msgspec.structs.replace(kept.row, owner=owner)
            kept.until = time.monotonic() + lease_seconds
            return kept.shown()

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
        with self._lock:
            kept = self._owned(tenant, run, owner)
            now = time.time()
            for seq, event in enumerate(events, kept.row.last_event + 1):
                kept.events.append(msgspec.structs.replace(event, seq=seq, at=now))
            changed = {"turn": turn} if turn is not None else {}
            last = kept.row.last_event + len(events)
            kept.row = msgspec.structs.replace(kept.row, last_event=last, **changed)
            kept.until = time.monotonic() + lease_seconds
            if end is not None:
                _end(kept, end)
            return kept.shown()

    def ask_run_to_end(self, tenant: str, run: str) -> RunRow:
        """Tell whoever has it."""
        with self._lock:
            kept = self._run(tenant, run)
            if kept.row.status == "running":
                kept.row = msgspec.structs.replace(kept.row, end_asked=True)
            return kept.shown()

    def run(self, tenant: str, run: str) -> RunRow:
        """A run by its id."""
        with self._lock:
            return self._run(tenant, run).shown()

    def runs(self, tenant: str, thread: int, *, first: int = -1, last: int | None = None) -> list[RunRow]:
        """The runs of some turns."""
        tenant_name(tenant)
        with self._lock:
            found = [kept.shown() for kept in self._of_thread(tenant, thread)]
        return [row for row in found if row.turn >= first and (last is None or row.turn <= last)]

    def run_events(self, tenant: str, run: str, *, since: int = 0, limit: int = 10_000) -> list[RunEvent]:
        """What was told of it."""
        tenant_name(tenant)
        with self._lock:
            kept = self._runs.get((tenant, run))
            told = kept.events if kept is not None else []
            return [event for event in told if event.seq > since][:limit]

    def open_runs(self) -> list[RunRow]:
        """What has not ended, of every tenant."""
        with self._lock:
            return [kept.shown() for kept in self._runs.values() if kept.row.status == "running"]

    def _run(self, tenant: str, run: str) -> _Run:
        tenant_name(tenant)
        try:
            return self._runs[tenant, run]
        except KeyError:
            raise NotFound("turn", run) from None

    def _owned(self, tenant: str, run: str, owner: str) -> _Run:
        kept = self._runs.get((tenant, run))
        if kept is None or kept.row.status != "running" or kept.row.owner != owner:
            raise LeaseLost(turn=run)
        return kept

    def _of_thread(self, tenant: str, thread: int) -> list[_Run]:
        return [kept for (owner, _), kept in self._runs.items() if owner == tenant and kept.row.thread == thread]

    def _check_free(self, tenant: str, thread: int) -> None:
        for before in self._of_thread(tenant, thread):
            if before.row.status == "running":
                raise ThreadBusy(thread=thread, run=before.row.id)

    def _forget_runs(self, tenant: str, thread: int, turn: int | None = None) -> None:
        """Of a thread that is deleted all of it; of a turn that is redacted what was told."""
        for kept in self._of_thread(tenant, thread):
            if turn is None:
                del self._runs[tenant, kept.row.id]
            elif kept.row.turn == turn:
                kept.events.clear()


def _end(kept: _Run, end: RunEnd) -> None:
    kept.row = msgspec.structs.replace(kept.row, status=end.status, stop=end.stop, error=end.error, ended=time.time())
