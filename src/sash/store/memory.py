"""The store for tests and for trying things out: the contract in plain Python, gone when the process ends."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock

import msgspec

from sash.core.event import Event
from sash.errors import Conflict, KeyReused, LeaseLost, NotFound, StoreError, StoreUnavailable, ThreadExists
from sash.store.checkpoints import superfluous
from sash.store.memory_keys import MemoryKeys
from sash.store.memory_runs import MemoryRuns
from sash.store.memory_thread import MemoryThread, Work
from sash.store.names import checked, said_at, tenant_name
from sash.store.rows import (
    Appended,
    Entry,
    Found,
    FrameRow,
    Head,
    Health,
    Key,
    Lease,
    Matching,
    Posting,
    Share,
    ThreadRow,
    Trouble,
)
from sash.store.words import holds, phrases, storable


class MemoryStore(MemoryKeys, MemoryRuns):
    """Threads in the memory of this process."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = RLock()
        self._threads: dict[tuple[str, int], MemoryThread] = {}
        self._trunks: dict[tuple[str, int], MemoryThread] = {}
        """What is left of deleted threads, because forks begin with it."""
        self._last_id = self._last_order = 0
        self._closed = False

    def _of(self, tenant: str, thread: int, *, shared: bool = False) -> MemoryThread:
        tenant_name(tenant)
        if self._closed:
            raise StoreUnavailable("memory:", "it was closed")
        kept = self._threads.get((tenant, thread)) or (self._trunks.get((tenant, thread)) if shared else None)
        if kept is None:
            raise NotFound("thread", thread)
        return kept

    def _check_thread(self, tenant: str, thread: int) -> None:
        self._of(tenant, thread)

    def _named(self, tenant: str, name: str) -> MemoryThread | None:
        tenant_name(tenant)
        checked("thread", name)
        if self._closed:
            raise StoreUnavailable("memory:", "it was closed")
        named = (kept for (owner, _), kept in self._threads.items() if owner == tenant and kept.row.name == name)
        return next(named, None)

    def create(
        self, tenant: str, name: str, setup: bytes, *, at: float | None = None, shares: Sequence[Share] = ()
    ) -> ThreadRow:
        """A new, empty thread."""
        with self._lock:
            if self._named(tenant, name) is not None:
                raise ThreadExists(name)
            for share in shares:
                if self._of(tenant, share.thread, shared=True).row.last_seq < share.until:
                    raise NotFound("thread", share.thread)
            self._last_id += 1
            now, after = time.time(), shares[-1].until if shares else 0
            row = ThreadRow(id=self._last_id, tenant=tenant, name=name, at=at, last_seq=after, created=now, updated=now)
            self._threads[tenant, row.id] = made = MemoryThread(row, setup)
            made.shares = shares
            return row

    def find(self, tenant: str, name: str) -> ThreadRow | None:
        """The thread of that name."""
        with self._lock:
            kept = self._named(tenant, name)
            return None if kept is None else kept.row

    def thread(self, tenant: str, thread: int) -> ThreadRow:
        """A thread as it stands now."""
        with self._lock:
            return self._of(tenant, thread).row

    def threads(self, tenant: str, *, before: int | None = None, limit: int = 50) -> list[ThreadRow]:
        """Newest first."""
        tenant_name(tenant)
        with self._lock:
            rows = [kept.row for (owner, _), kept in self._threads.items() if owner == tenant]
        return [row for row in reversed(rows) if before is None or row.id < before][:limit]

    def put_title(self, tenant: str, thread: int, title: str) -> None:
        """What people call it from now on."""
        with self._lock:
            kept = self._of(tenant, thread)
            kept.row = msgspec.structs.replace(kept.row, title=storable(title))

    def setup(self, tenant: str, thread: int) -> bytes:
        """What the thread was created with."""
        with self._lock:
            return self._of(tenant, thread).setup

    def delete(self, tenant: str, thread: int) -> None:
        """Forget the thread with all that belongs to it."""
        with self._lock:
            kept = self._of(tenant, thread)
            del self._threads[tenant, thread]
            self._forget_runs(tenant, thread)
            self._trunks[tenant, thread] = kept
            kept.setup, kept.work = b"", None
            kept.once.clear()
            for left in (thread, *(share.thread for share in kept.shares)):
                self._let_go(tenant, left)

    def _let_go(self, tenant: str, thread: int) -> None:
        """Of what is left of a thread nothing stays but what forks begin with."""
        trunk = self._trunks.get((tenant, thread))
        if trunk is None:
            return
        shared = [until for _, until in self._sharing(tenant, thread)]
        if shared:
            trunk.cut(max(shared))
        else:
            del self._trunks[tenant, thread]

    def _sharing(self, tenant: str, thread: int) -> list[tuple[int, int]]:
        """The forks of a thread, and up to which event each shares it."""
        return [
            (number, share.until)
            for (owner, number), kept in self._threads.items()
            for share in kept.shares
            if owner == tenant and share.thread == thread
        ]

    def forks(self, tenant: str, thread: int, seq: int) -> list[int]:
        """The threads that share this event."""
        tenant_name(tenant)
        with self._lock:
            return sorted(fork for fork, until in self._sharing(tenant, thread) if until >= seq)

    def delete_tenant(self, tenant: str) -> int:
        """Forget all of a tenant."""
        tenant_name(tenant)
        with self._lock:
            self._forget_keys(tenant)
            gone = [place for place in self._threads if place[0] == tenant]
            for place in gone:
                self.delete(*place)
            return len(gone)

    def append(
        self, tenant: str, thread: int, entry: Entry, *, expected_seq: int | None = None, key: Key | None = None
    ) -> Appended:
        """Add to the log, with the frames that the events lead to."""
        with self._lock:
            kept = self._of(tenant, thread)
            if key is not None and (known := _outcome(kept, key)):
                return known
            last_seq = kept.row.last_seq
            if expected_seq not in (None, last_seq):
                raise Conflict(thread=thread, expected_seq=expected_seq or 0, last_seq=last_seq)
            appended = self._add(kept, entry)
            if key is not None:
                kept.once[key.name] = key.digest, msgspec.structs.replace(appended, repeated=True)
            return appended

    def _add(self, kept: MemoryThread, entry: Entry) -> Appended:
        first = kept.row.last_seq + 1
        last = kept.row.last_seq + len(entry.events)
        boundary, ahead = kept.row.boundary, kept.row.ahead
        if entry.frames:
            # What was near before a frame has happened with it.
            boundary, ahead = msgspec.json.decode(entry.frames[-1].body)["boundary"], 0
        covered = kept.row.covered if entry.covered is None else entry.covered
        events = [
            msgspec.structs.replace(event, seq=seq, text=storable(event.text), at=said_at(event.at))
            for seq, event in enumerate(entry.events, first)
        ]
        kept.log += events
        kept.order += range(self._last_order + 1, self._last_order + 1 + len(events))
        self._last_order += len(events)
        kept.frames += entry.frames
        if entry.checkpoint is not None:
            stay = {seq: state for seq, state in kept.checkpoints.items() if state[1] is not None and seq != last}
            # One that passes has nothing of its own to stand on.
            for seq in superfluous([*stay, last] if entry.rest is not None else stay, last):
                del stay[seq]
            kept.checkpoints = {**stay, last: (entry.checkpoint, entry.rest)}
        kept.postings += entry.postings
        kept.row = msgspec.structs.replace(
            kept.row,
            last_seq=last,
            boundary=boundary,
            covered=covered,
            ahead=ahead if entry.ahead is None else entry.ahead,
            updated=time.time(),
        )
        return Appended(first, last)

    def appended(self, tenant: str, thread: int, key: Key) -> Appended | None:
        """The outcome that is stored under a key."""
        with self._lock:
            return _outcome(self._of(tenant, thread), key)

    def events(
        self,
        tenant: str,
        thread: int,
        *,
        since: int = 0,
        until: int | None = None,
        kinds: Collection[str] | None = None,
        shared: bool = False,
    ) -> Iterator[Event]:
        """The events of a log."""
        with self._lock:
            kept = self._of(tenant, thread, shared=shared)
            log, after = kept.log, kept.after
            last = len(log) if until is None else min(until - after, len(log))
        for position in range(max(0, since - after), max(0, last)):
            event = log[position]
            if kinds is None or event.kind in kinds:
                yield event

    def events_of_turns(
        self, tenant: str, thread: int, turns: Collection[int], *, shared: bool = False
    ) -> Iterator[Event]:
        """All events of some turns, in the order of the log."""
        return (event for event in self.events(tenant, thread, shared=shared) if event.turn in turns)

    def bodies(
        self, tenant: str, thread: int, *, since: int = 0, until: int | None = None, shared: bool = False
    ) -> Mapping[int, bytes]:
        """The bytes of some events."""
        return {event.seq: event.body for event in self.events(tenant, thread, since=since, until=until, shared=shared)}

    def last_seq(self, tenant: str, thread: int) -> int:
        """Number of the newest event."""
        return self.thread(tenant, thread).last_seq

    def frames(self, tenant: str, thread: int, *, since: int = 0, shared: bool = False) -> Iterator[FrameRow]:
        """The frames of a thread, oldest first."""
        with self._lock:
            frames = self._of(tenant, thread, shared=shared).frames[:]
        yield from frames[bisect_left(frames, since, key=lambda frame: frame.number) :]

    def frames_back(self, tenant: str, thread: int, *, until: int, shared: bool = False) -> Iterator[FrameRow]:
        """The frames of a thread, newest first."""
        with self._lock:
            frames = self._of(tenant, thread, shared=shared).frames[:]
        yield from reversed(frames[: bisect_right(frames, until, key=lambda frame: frame.after_seq)])

    def head(self, tenant: str, thread: int, *, at: int | None = None) -> Head:
        """Newest frame and checkpoint."""
        with self._lock:
            kept = self._of(tenant, thread)
            last_seq = kept.row.last_seq
            made = bisect_right(kept.frames, last_seq if at is None else at, key=lambda frame: frame.after_seq)
            frame = kept.frames[made - 1] if made else None
            if not kept.checkpoints or at is not None:
                return Head(last_seq=last_seq, frame=frame)
            seq, (checkpoint, _) = next(reversed(kept.checkpoints.items()))
            return Head(last_seq=last_seq, frame=frame, checkpoint=checkpoint, checkpoint_seq=seq)

    def checkpoints(self, tenant: str, thread: int, *, until: int, shared: bool = False) -> list[int]:
        """After which events a checkpoint is kept, newest first."""
        with self._lock:
            return [seq for seq in reversed(self._of(tenant, thread, shared=shared).checkpoints) if seq <= until]

    def checkpoint(self, tenant: str, thread: int, seq: int) -> bytes | None:
        """The one that was written after this event."""
        with self._lock:
            kept = self._threads.get((tenant, thread)) or self._trunks.get((tenant, thread))
            return None if kept is None or seq not in kept.checkpoints else kept.checkpoints[seq][0]

    def checkpoint_rest(self, tenant: str, thread: int, seq: int) -> bytes | None:
        """What was written beside the one after this event."""
        with self._lock:
            kept = self._threads.get((tenant, thread)) or self._trunks.get((tenant, thread))
            return None if kept is None or seq not in kept.checkpoints else kept.checkpoints[seq][1]

    def redact(self, tenant: str, thread: int, seq: int, tombstone: bytes) -> None:
        """Body and words give way to a tombstone."""
        with self._lock:
            kept = self._of(tenant, thread, shared=True)
            place = seq - kept.after - 1
            if not 0 <= place < len(kept.log):
                raise NotFound("event", seq)
            self._forget_runs(tenant, thread, kept.log[place].turn)
            kept.log[place] = msgspec.structs.replace(kept.log[place], body=tombstone, text="")
            kept.postings = [posting for posting in kept.postings if posting.seq != seq]
            for derived in (kept, *(self._threads[tenant, fork] for fork in self.forks(tenant, thread, seq))):
                derived.checkpoints = {after: body for after, body in derived.checkpoints.items() if after < seq}

    def postings(self, tenant: str, thread: int, terms: Collection[str], *, shared: bool = False) -> list[Posting]:
        """Where these terms stand."""
        with self._lock:
            found = [posting for posting in self._of(tenant, thread, shared=shared).postings if posting.term in terms]
        return sorted(found, key=lambda posting: (posting.term, posting.seq))

    def claim_due_summary(self, tenant: str | None, *, lease_seconds: float, turns: int = 1) -> Lease | None:
        """The right to summarize a thread."""
        now = time.monotonic()
        with self._lock:
            for (owner, thread), kept in self._threads.items():
                row, work = kept.row, kept.work or Work()
                end = max(row.boundary, row.ahead)
                due = end - row.covered >= max(1, turns) and tenant in (None, owner)
                if due and not work.parked and work.until <= now and work.retry <= now:
                    kept.work = work
                    work.token += 1
                    work.attempts += 1
                    work.until = now + lease_seconds
                    return Lease(
                        tenant=owner,
                        thread=thread,
                        token=work.token,
                        covered=row.covered,
                        end=end,
                        attempts=work.attempts,
                    )
        return None

    def _own(self, lease: Lease) -> tuple[MemoryThread, Work]:
        kept = self._threads.get((lease.tenant, lease.thread))
        if kept is None or kept.work is None or kept.work.token != lease.token:
            raise LeaseLost(thread=lease.thread, token=lease.token)
        return kept, kept.work

    def finish_summary(self, lease: Lease, entry: Entry, *, expected_seq: int | None = None) -> Appended:
        """Publish and give the lease back."""
        with self._lock:
            _, work = self._own(lease)
            appended = self.append(lease.tenant, lease.thread, entry, expected_seq=expected_seq)
            work.token += 1
            work.until = work.retry = 0.0
            work.attempts, work.error = 0, ""
            return appended

    def fail_summary(self, lease: Lease, error: str, *, retry_seconds: float, park: bool = False) -> None:
        """Give the lease back and say why."""
        with self._lock:
            _, work = self._own(lease)
            work.token += 1
            work.until, work.retry = 0.0, time.monotonic() + retry_seconds
            work.parked, work.error = park, storable(error)

    def troubles(self, tenant: str) -> list[Trouble]:
        """The threads whose last attempt at a summary failed."""
        tenant_name(tenant)
        with self._lock:
            return [
                Trouble(thread=thread, attempts=work.attempts, error=work.error, parked=work.parked)
                for (owner, thread), kept in self._threads.items()
                if owner == tenant and (work := kept.work) is not None and (work.parked or work.error)
            ]

    def retry_summary(self, tenant: str, thread: int) -> None:
        """Take a parked or waiting thread up again."""
        with self._lock:
            if (work := self._of(tenant, thread).work) is not None:
                work.retry, work.parked, work.attempts = 0.0, False, 0

    def search(
        self, tenant: str, text: str, *, thread: int | None = None, limit: int = 20, match: Matching = "all"
    ) -> list[Found]:
        """The messages that hold the text, newest first."""
        tenant_name(tenant)
        wanted = phrases(text, match)
        found: list[tuple[int, Found]] = []
        with self._lock:
            for (owner, number), kept in (*self._threads.items(), *self._trunks.items()):
                if owner != tenant or thread not in (None, number) or not wanted:
                    continue
                for order, event in zip(kept.order, kept.log, strict=True):
                    if holds(event.text, wanted, match):
                        found.append((order, _found(self._whose(kept.row, event), event)))
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [one for _, one in found[:limit]]

    def _whose(self, row: ThreadRow, event: Event) -> ThreadRow:
        """The thread itself, or the oldest fork that begins with what is left of it."""
        if (row.tenant, row.id) in self._threads:
            return row
        return self._threads[row.tenant, self.forks(row.tenant, row.id, event.seq)[0]].row

    def health(self) -> Health:
        """There is not much that could be wrong with it."""
        problem = "nothing in it outlives this process; use sqlite:///FILE to keep threads"
        return Health(kind="memory", engine="Python", place="memory:", schema=0, problems=(problem,))

    def backup(self, path: Path) -> None:
        """What was not meant to last is not copied."""
        raise StoreError(f"a store in memory cannot be copied to {str(path)!r}; use sqlite:///FILE")

    def close(self) -> None:
        """Forget all of it."""
        with self._lock:
            self._closed = True
            self._threads.clear()
            self._trunks.clear()


def _outcome(kept: MemoryThread, key: Key) -> Appended | None:
    checked("key", key.name)
    if key.name not in kept.once:
        return None
    digest, appended = kept.once[key.name]
    if digest != key.digest:
        raise KeyReused(key.name)
    return appended


def _found(row: ThreadRow, event: Event) -> Found:
    return Found(thread=row.id, name=row.name, seq=event.seq, turn=event.turn, role=event.role, text=event.text)
