"""Compact: slide now, as an internal turn."""

from __future__ import annotations

import secrets

from sash.core.frame import Frame
from sash.server.backend import Backend
from sash.server.handles import id_of
from sash.server.owner import own_name
from sash.server.shapes import Compact, Compacted
from sash.server.told import told
from sash.server.turn import LEASE_SECONDS
from sash.store import NewRun, RunEnd, RunEvent, RunRow, ThreadRow
from sash.thread import Thread


async def compact(backend: Backend, tenant: str, thread_id: str, asked: Compact) -> Compacted:
    """What it did, or would do."""
    row = await backend.call(lambda: backend.handles.row(tenant, thread_id))
    thread = await backend.call(lambda: backend.handles.of(row))
    most = asked.max_summary_chars or backend.setup.compact_max_chars
    return await backend.call(lambda: _slid(backend, thread, row, most, dry_run=asked.dry_run))


def _slid(backend: Backend, thread: Thread, row: ThreadRow, most: int, *, dry_run: bool) -> Compacted:
    frame = thread.compact(dry_run=dry_run)
    run = ""
    if not dry_run:
        backend.metrics.slides.add("compact")
        run = _noted(backend, row, thread)
    return _told(thread, row, frame, most, run or f"{id_of(row)}:dry-run", dry_run=dry_run)


def _noted(backend: Backend, row: ThreadRow, thread: Thread) -> str:
    """A compaction is a turn of its own: an internal one, hidden unless somebody asks."""
    run = _started(backend, row, thread)
    text = thread.window.fold.digest_text()
    events = [told("message_delta", text=text)] if text else []
    _end(backend, run, [*events, told("turn_completed", status="completed", stop_reason="end_turn")])
    return run.id


def _started(backend: Backend, row: ThreadRow, thread: Thread) -> RunRow:
    new = NewRun(
        id=f"turn_{secrets.token_hex(12)}", owner=own_name(), internal=True, turn=thread.window.fold.placing.taken
    )
    return backend.store.start_run(row.tenant, row.id, new, lease_seconds=LEASE_SECONDS)


def _end(backend: Backend, run: RunRow, events: list[RunEvent], end: RunEnd | None = None) -> None:
    over = end or RunEnd(status="completed", stop="end_turn")
    backend.store.write_run(run.tenant, run.id, run.owner, events, lease_seconds=LEASE_SECONDS, end=over)


def _told(
    thread: Thread, row: ThreadRow, frame: Frame | None, most: int, turn: str, *, dry_run: bool = False
) -> Compacted:
    window = thread.window
    fold = window.fold
    summary = cut(fold.digest_text(), most)
    return Compacted(
        thread_id=id_of(row),
        turn_id=turn,
        status="completed",
        stop_reason="dry_run" if dry_run else "end_turn",
        summary=summary,
        summary_chars=len(summary),
        frame=None if frame is None else frame.number,
        boundary=window.frame.boundary if frame is None else frame.boundary,
        freed_tokens=0 if frame is None else frame.freed,
    )


def cut(text: str, most: int) -> str:
    """At most so many characters, ending with a whole line where there is one."""
    if len(text) <= most:
        return text
    kept = text[:most]
    whole, line, _ = kept.rpartition("\n")
    return whole if line and whole.strip() else kept
