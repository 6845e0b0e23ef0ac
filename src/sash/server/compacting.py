"""Compact: slide now; and where a thread is one prompt of recent turns, have its summary written by the provider."""

from __future__ import annotations

from sash.core.frame import Frame
from sash.server.backend import Backend
from sash.server.handles import id_of
from sash.server.shapes import Compact, Compacted
from sash.store import ThreadRow
from sash.thread import Thread


async def compact(backend: Backend, tenant: str, thread_id: str, asked: Compact) -> Compacted:
    """What it did, or would do."""

    def work() -> Compacted:
        row = backend.handles.row(tenant, thread_id)
        thread = backend.handles.of(row)
        frame = thread.compact(dry_run=asked.dry_run)
        if frame is not None and not asked.dry_run:
            backend.metrics.slides.add(frame.reason)
        most = asked.max_summary_chars or backend.setup.compact_max_chars
        return told(thread, row, frame, most, dry_run=asked.dry_run)

    return await backend.call(work)


def told(thread: Thread, row: ThreadRow, frame: Frame | None, most: int, *, dry_run: bool) -> Compacted:
    """As the API says it."""
    window = thread.window
    summary = window.fold.digest_text()[:most]
    return Compacted(
        thread_id=id_of(row),
        turn_id=f"{id_of(row)}:c{thread.seq}",
        status="completed",
        stop_reason="dry_run" if dry_run else "end_turn",
        summary=summary,
        summary_chars=len(summary),
        frame=None if frame is None else frame.number,
        boundary=window.frame.boundary if frame is None else frame.boundary,
        freed_tokens=0 if frame is None else frame.freed,
    )
