"""Compact: slide now; and where a thread is one prompt of recent turns, have its summary written by the provider."""

from __future__ import annotations

import asyncio
import secrets
from threading import Event as Flag

from sash.core.frame import Frame
from sash.errors import LeaseLost, SashError, SummaryRejected
from sash.server.backend import Backend
from sash.server.fault import Fault, fault_of
from sash.server.handles import id_of
from sash.server.owner import own_name
from sash.server.shapes import Compact, Compacted
from sash.server.told import told
from sash.server.turn import BEAT_SECONDS, LEASE_SECONDS
from sash.store import NewRun, RunEnd, RunEvent, RunRow, ThreadRow
from sash.summarize import Summarizer
from sash.thread import Thread


async def compact(backend: Backend, tenant: str, thread_id: str, asked: Compact) -> Compacted:
    """What it did, or would do. A compaction is a turn of its own: an internal one, hidden unless somebody asks."""
    row = await backend.call(lambda: backend.handles.row(tenant, thread_id))
    thread = await backend.call(lambda: backend.handles.of(row))
    most = asked.max_summary_chars or backend.setup.compact_max_chars
    if asked.dry_run:
        return await backend.call(lambda: _planned(thread, row, most))
    # Taken before anything changes: while another turn runs it is a conflict, and the window stays as it is.
    run = await backend.runner.claimed(row, await backend.call(lambda: _new_run(thread)))
    try:
        if await backend.call(lambda: backend.wire_of(thread)) == "flat":
            frame, summary = await _summarized(backend, thread, run, most)
        else:
            frame, summary = await backend.call(lambda: _slid(backend, thread))
    except SashError as error:
        fault = fault_of(error)
        await backend.call(lambda: _failed(backend, run, fault))
        raise fault from None
    await backend.call(lambda: _completed(backend, run, summary))
    return await backend.call(lambda: _told(thread, row, frame, cut(summary, most), run.id))


def _planned(thread: Thread, row: ThreadRow, most: int) -> Compacted:
    frame = thread.compact(dry_run=True)
    summary = cut(thread.window.fold.digest_text(), most)
    return _told(thread, row, frame, summary, f"{id_of(row)}:dry-run", dry_run=True)


def _slid(backend: Backend, thread: Thread) -> tuple[Frame | None, str]:
    frame = thread.compact()
    backend.metrics.slides.add("compact")
    return frame, thread.window.fold.digest_text()


async def _summarized(backend: Backend, thread: Thread, run: RunRow, most: int) -> tuple[Frame | None, str]:
    """
    Seed 004: the provider writes the summary, of the recent turns too, and no boundary moves.

    It is checked against the turns it cites; one that is empty, refused or cut off never replaces the old.
    """
    setup = await backend.call(lambda: thread.setup)
    summarizer = Summarizer(backend.answering.provider(setup.model), policy=setup.policy)
    cancelled = Flag()

    def write() -> tuple[Frame | None, str]:
        try:
            thread.summarize(summarizer, live=True, most_characters=most, cancelled=cancelled, at=backend.now())
        except asyncio.CancelledError:
            raise SummaryRejected("it was cancelled before it was written") from None
        frame = thread.compact()
        summary = thread.window.fold.summary
        return frame, "" if summary is None else summary.whole

    writing = asyncio.ensure_future(backend.call(write))
    try:
        while not writing.done():
            await asyncio.wait((writing,), timeout=BEAT_SECONDS)
            if not writing.done() and await backend.call(lambda: _is_to_end(backend, run)):
                cancelled.set()
    finally:
        # Whatever ends us, nobody goes on asking a provider for what nobody waits for.
        cancelled.set()
    return writing.result()


def _is_to_end(backend: Backend, run: RunRow) -> bool:
    """Says that it is alive, and hears whether somebody wants it to end."""
    try:
        return backend.store.write_run(run.tenant, run.id, run.owner, [], lease_seconds=LEASE_SECONDS).end_asked
    except LeaseLost:
        return True


def _new_run(thread: Thread) -> NewRun:
    turn = thread.window.fold.placing.taken
    return NewRun(id=f"turn_{secrets.token_hex(12)}", owner=own_name(), internal=True, turn=turn)


def _completed(backend: Backend, run: RunRow, summary: str) -> None:
    events = [told("message_delta", text=summary)] if summary else []
    events.append(told("turn_completed", status="completed", stop_reason="end_turn"))
    _end(backend, run, events, RunEnd(status="completed", stop="end_turn"))


def _failed(backend: Backend, run: RunRow, fault: Fault) -> None:
    event = told("error", error=fault.told, status="failed", stop_reason="error")
    _end(backend, run, [event], RunEnd(status="failed", stop="error", error=fault.message))


def _end(backend: Backend, run: RunRow, events: list[RunEvent], end: RunEnd) -> None:
    try:
        backend.store.write_run(run.tenant, run.id, run.owner, events, lease_seconds=LEASE_SECONDS, end=end)
    except LeaseLost:
        # The thread was deleted meanwhile, or somebody took us for dead and wrote down how it ended.
        return


def _told(
    thread: Thread, row: ThreadRow, frame: Frame | None, summary: str, turn: str, *, dry_run: bool = False
) -> Compacted:
    return Compacted(
        thread_id=id_of(row),
        turn_id=turn,
        status="completed",
        stop_reason="dry_run" if dry_run else "end_turn",
        summary=summary,
        summary_chars=len(summary),
        frame=None if frame is None else frame.number,
        boundary=thread.window.frame.boundary if frame is None else frame.boundary,
        freed_tokens=0 if frame is None else frame.freed,
    )


def cut(text: str, most: int) -> str:
    """At most so many characters, ending with a whole line where there is one."""
    if len(text) <= most:
        return text
    kept = text[:most]
    whole, line, _ = kept.rpartition("\n")
    return whole if line and whole.strip() else kept
