"""What the stores on a database have in common: the verbs, as statements in transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from heapq import merge
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sash.core.event import Event
from sash.errors import Conflict, DamagedDatabase, KeyReused, LeaseLost, NotFound, ThreadExists
from sash.store.names import checked, tenant_name
from sash.store.rows import (
    ApiKey,
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
    ThreadRow,
    Trouble,
)
from sash.store.running import Running
from sash.store.sql_runs import SqlRuns, microseconds
from sash.store.stored import (
    Row,
    checksum,
    event_of,
    frame_of,
    stored_term,
    thread_of,
    values_of,
    values_of_posting,
)
from sash.store.words import phrases, storable

T = TypeVar("T")

LAST = 2**63 - 1
"""Larger than any sequence number."""

PAGE = 1024
"""Events that are read in one go."""
PAGE_BYTES = 4_000_000
"""A page ends with the event that passes this."""

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


class _Boundary(msgspec.Struct):
    """All that the store wants to know of a frame."""

    boundary: int


class SqlStore(SqlRuns, ABC):
    """A store on a database. Work is given as a function of the transaction, for it may have to be run again."""

    _place: str
    """How errors name the store."""

    @abstractmethod
    def _read(self, tenant: str | None, work: Callable[[Running], T]) -> T:
        """Run reading work on one snapshot. None stands for every tenant."""

    @abstractmethod
    def _write(self, tenant: str | None, work: Callable[[Running], T], *, erasing: bool = False) -> T:
        """Run writing work; returns when it is durable. `erasing`: what is deleted must not linger on the disk."""

    @abstractmethod
    def _add_event(self, run: Running, values: dict[str, Any]) -> None:
        """Store an event and let searches find it."""

    @abstractmethod
    def _drop_words(self, run: Running, tenant: str, thread: int, seq: int | None) -> None:
        """Let searches find an event, or any of a thread, no more. Comes before the event is changed."""

    @abstractmethod
    def _found(self, run: Running, wanted: list[list[str]], match: Matching, values: dict[str, Any]) -> list[Row]:
        """Look phrases up."""

    @abstractmethod
    def _of_kinds(self, kinds: Collection[str]) -> Any:
        """A list of kinds as a value to bind."""

    @abstractmethod
    def health(self) -> Health:
        """What is well and what is not."""

    @abstractmethod
    def backup(self, path: Path) -> None:
        """A copy of the whole store as of one moment."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    def _ask(self, statement: str, *, tenant: str, **values: Any) -> list[Row]:
        """The rows of one reading statement."""
        return self._read(tenant, lambda run: run.rows(statement, tenant=tenant, **values))

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

    def append(
        self, tenant: str, thread: int, entry: Entry, *, expected_seq: int | None = None, key: Key | None = None
    ) -> Appended:
        """Add to the log, in one transaction with the frames that the events lead to."""
        tenant_name(tenant)
        if key is not None:
            checked("key", key.name)
        return self._write(tenant, lambda run: self._append(run, tenant, thread, entry, expected_seq, key))

    def _append(
        self, run: Running, tenant: str, thread: int, entry: Entry, expected_seq: int | None, key: Key | None
    ) -> Appended:
        if key is not None:
            # Two requests with one key at a time: the second has to see what the first did.
            if not run.rows("hold", tenant=tenant, thread=thread):
                raise NotFound("thread", thread)
            if known := _outcome(run, tenant, thread, key):
                return known
        boundary = msgspec.json.decode(entry.frames[-1].body, type=_Boundary).boundary if entry.frames else None
        count = len(entry.events)
        moved = run.rows(
            "advance",
            tenant=tenant,
            thread=thread,
            count=count,
            expected=expected_seq,
            boundary=boundary,
            covered=entry.covered,
            # What was near before a frame has happened with it.
            ahead=entry.ahead if entry.ahead is not None or boundary is None else 0,
        )
        if not moved:
            last_seq = _end_of(run, tenant, thread)[1]
            assert expected_seq is not None
            raise Conflict(thread=thread, expected_seq=expected_seq, last_seq=last_seq)
        [(last_seq, last_us)] = moved
        appended = Appended(last_seq - count + 1, last_seq)
        at = {"tenant": tenant, "thread": thread}
        for behind, event in enumerate(entry.events, 1 - count):
            self._add_event(run, values_of(event, at, seq=last_seq + behind, made_us=last_us + behind))
        for frame in entry.frames:
            assert frame.after_seq <= last_seq, "a frame is made after an event that is there"
            run.run("add_frame", **at, number=frame.number, after_seq=frame.after_seq, body=frame.body)
        if entry.checkpoint is not None:
            run.run("put_checkpoint", **at, after_seq=last_seq, body=entry.checkpoint)
        if entry.postings:
            run.many("add_posting", [{**at, **values_of_posting(posting)} for posting in entry.postings])
        if key is not None:
            outcome = {"first_seq": appended.first_seq, "last_seq": last_seq}
            run.run("add_once", **at, key=key.name, digest=key.digest, **outcome)
        return appended

    def appended(self, tenant: str, thread: int, key: Key) -> Appended | None:
        """The outcome that is stored under a key."""
        tenant_name(tenant)
        checked("key", key.name)

        def work(run: Running) -> Appended | None:
            _end_of(run, tenant, thread)
            return _outcome(run, tenant, thread, key)

        return self._read(tenant, work)

    def events(
        self,
        tenant: str,
        thread: int,
        *,
        since: int = 0,
        until: int | None = None,
        kinds: Collection[str] | None = None,
    ) -> Iterator[Event]:
        """The events of a log, read page by page: no reader stands in the way of a checkpoint for long."""
        tenant_name(tenant)
        since = max(0, since)
        values: dict[str, Any] = {"until": LAST if until is None else until}
        statement = "events"
        if kinds is not None:
            statement = "kinds" if "message" in kinds else "rest"
            values["kinds"] = self._of_kinds(kinds)
        return self._pages(statement, tenant, thread, since, values)

    def events_of_turns(self, tenant: str, thread: int, turns: Collection[int]) -> Iterator[Event]:
        """All events of some turns, in the order of the log."""
        tenant_name(tenant)
        # A turn may take in events long after the next one began, so the turns are merged by number.
        wanted = [self._pages("events_of_turn", tenant, thread, 0, {"turn": turn}) for turn in sorted(set(turns))]
        return _merged(wanted)

    def _pages(self, statement: str, tenant: str, thread: int, since: int, values: dict[str, Any]) -> Iterator[Event]:
        whole, first = statement == "events", True
        while True:
            asked = {**values, "tenant": tenant, "thread": thread, "since": since, "limit": PAGE}

            def work(
                run: Running, asked: dict[str, Any] = asked, look: bool = whole or first
            ) -> tuple[list[Row], bool, Row | None]:
                page, ends = run.page(statement, **asked)
                return page, ends, _end_of(run, tenant, thread) if ends and look else None

            page, ends, row = self._read(tenant, work)
            for position, stored in enumerate(page, since + 1):
                if whole and stored[0] != position:
                    raise DamagedDatabase(self._place, f"event {position} of thread {thread} is missing")
                yield event_of(stored, self._place)
            if whole and row is not None:
                self._whole(row, page[-1][0] if page else since, values["until"])
            if ends:
                return
            since, first = page[-1][0], False

    def _whole(self, row: Row, end: int, until: int) -> None:
        """An index that has lost its end looks like a shorter log; the thread knows how long it is."""
        last_seq = min(row[1], until)
        if end < last_seq:
            raise DamagedDatabase(self._place, f"event {last_seq} of thread {row[0]} is missing")

    def last_seq(self, tenant: str, thread: int) -> int:
        """Number of the newest event."""
        tenant_name(tenant)
        last_seq: int = self._read(tenant, lambda run: _end_of(run, tenant, thread))[1]
        return last_seq

    def frames(self, tenant: str, thread: int, *, since: int = 0) -> Iterator[FrameRow]:
        """The frames of a thread, oldest first."""
        tenant_name(tenant)
        while True:
            page = self._ask("frames", tenant=tenant, thread=thread, since=since, limit=PAGE)
            if not page:
                self.thread(tenant, thread)
            for row in page:
                yield frame_of(row)
            if len(page) < PAGE:
                return
            since = page[-1][0] + 1

    def head(self, tenant: str, thread: int, *, at: int | None = None) -> Head:
        """Newest frame and checkpoint, as of one moment."""
        tenant_name(tenant)

        def work(run: Running) -> Head:
            last_seq = _end_of(run, tenant, thread)[1]
            frames = run.rows("frame_at", tenant=tenant, thread=thread, at=last_seq if at is None else at)
            frame = frame_of(frames[0]) if frames else None
            kept = run.rows("checkpoint", tenant=tenant, thread=thread) if at is None else []
            if not kept:
                return Head(last_seq=last_seq, frame=frame)
            return Head(last_seq=last_seq, frame=frame, checkpoint_seq=kept[0][0], checkpoint=kept[0][1])

        return self._read(tenant, work)

    def redact(self, tenant: str, thread: int, seq: int, tombstone: bytes) -> None:
        """Body and words give way to a tombstone."""
        tenant_name(tenant)
        at = {"tenant": tenant, "thread": thread}

        def work(run: Running) -> None:
            _end_of(run, tenant, thread)
            self._drop_words(run, tenant, thread, seq)
            old, _ = run.page("events", **at, since=seq - 1, until=seq, limit=1)
            if not old:
                raise NotFound("event", seq)
            event = msgspec.structs.replace(event_of(old[0], self._place), body=tombstone, text="")
            run.run("redact", **at, seq=seq, tombstone=tombstone, checksum=checksum(event))
            run.run("redact_postings", **at, seq=seq)
            run.run("redact_run_events", **at, turn=event.turn)
            # It may hold the words too; the fold makes it anew.
            run.run("delete_checkpoint", **at)

        self._write(tenant, work, erasing=True)

    def postings(self, tenant: str, thread: int, terms: Collection[str]) -> list[Posting]:
        """Where these terms stand."""
        tenant_name(tenant)

        def work(run: Running) -> list[Posting]:
            _end_of(run, tenant, thread)
            found = []
            for term in sorted(set(terms)):
                rows = run.rows("postings", tenant=tenant, thread=thread, term=stored_term(term))
                found += [Posting(term, seq, count) for _, seq, count in rows]
            return found

        return self._read(tenant, work)

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
            _end_of(run, tenant, thread)
            run.run("retry_lease", tenant=tenant, thread=thread)

        self._write(tenant, work)

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
        return ApiKey(tenant=tenant, label=label, at=at, revoked=bool(revoked))

    def revoke_key(self, tenant: str, digest: bytes) -> bool:
        """Whether the tenant had such a key."""
        tenant_name(tenant)
        return bool(self._write(tenant, lambda run: run.rows("revoke_key", tenant=tenant, digest=digest)))

    def search(
        self, tenant: str, text: str, *, thread: int | None = None, limit: int = 20, match: Matching = "all"
    ) -> list[Found]:
        """The messages that hold the text, newest first."""
        tenant_name(tenant)
        wanted = phrases(text, match)
        if not wanted:
            return []
        values = {"tenant": tenant, "thread": thread, "limit": limit}
        found = self._read(tenant, lambda run: self._found(run, wanted, match, values))
        return [
            Found(thread=number, name=name, seq=seq, turn=turn, role=role, text=words)
            for number, name, seq, turn, role, words in found
        ]


def _end_of(run: Running, tenant: str, thread: int) -> Row:
    """A thread's number and that of its last event."""
    found = run.rows("thread_end", tenant=tenant, thread=thread)
    if not found:
        raise NotFound("thread", thread)
    return found[0]


def _outcome(run: Running, tenant: str, thread: int, key: Key) -> Appended | None:
    known = run.rows("once", tenant=tenant, thread=thread, key=key.name)
    if not known:
        return None
    [[digest, first_seq, last_seq]] = known
    if digest != key.digest:
        raise KeyReused(key.name)
    return Appended(first_seq, last_seq, repeated=True)


def _merged(streams: list[Iterator[Event]]) -> Iterator[Event]:
    """Several streams in the order of the log."""
    return merge(*streams, key=lambda event: event.seq)
