"""The log on a database: events with the frames that they lead to, and all that is found by them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from heapq import merge
from typing import Any

import msgspec

from sash.core.event import Event
from sash.errors import Conflict, DamagedDatabase, KeyReused, NotFound
from sash.store.checkpoints import superfluous
from sash.store.names import checked, tenant_name
from sash.store.rows import Appended, Entry, Found, FrameRow, Head, Key, Matching, Posting
from sash.store.running import PAGE, Running
from sash.store.stored import (
    LAST,
    Row,
    checksum,
    event_of,
    events_of,
    frame_of,
    stored_term,
    values_of,
    values_of_posting,
)
from sash.store.transactions import Transactions, end_of
from sash.store.words import phrases

FEW = 32
"""Frames that are read in one go by who looks for a recent one."""


class _Boundary(msgspec.Struct):
    """All that the store wants to know of a frame."""

    boundary: int


_boundary = msgspec.json.Decoder(_Boundary)


class SqlLog(Transactions):
    """The verbs about a log, as statements in transactions."""

    @abstractmethod
    def _add_event(self, run: Running, values: dict[str, Any]) -> None:
        """Store an event and let searches find it."""

    @abstractmethod
    def _drop_words(self, run: Running, tenant: str, thread: int, *, after: int, until: int = LAST) -> None:
        """Let searches find the events of a stretch no more. Comes before the events are changed."""

    @abstractmethod
    def _found(self, run: Running, wanted: list[list[str]], match: Matching, values: dict[str, Any]) -> list[Row]:
        """Look phrases up."""

    @abstractmethod
    def _of_kinds(self, kinds: Collection[str]) -> Any:
        """A list of kinds as a value to bind."""

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
        boundary = _boundary.decode(entry.frames[-1].body).boundary if entry.frames else None
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
            last_seq = end_of(run, tenant, thread)[1]
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
            run.run("drop_passing_checkpoints", **at)
            run.run("put_checkpoint", **at, after_seq=last_seq, body=entry.checkpoint, rest=entry.rest)
            kept = [seq for (seq,) in run.rows("checkpoints", **at, until=last_seq)]
            # One that passes has nothing of its own to stand on.
            for seq in superfluous(kept if entry.rest is not None else kept[1:], last_seq):
                run.run("drop_checkpoint", **at, after_seq=seq)
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
            end_of(run, tenant, thread)
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
        shared: bool = False,
    ) -> Iterator[Event]:
        """The events of a log, read page by page: no reader stands in the way of a checkpoint for long."""
        tenant_name(tenant)
        since = max(0, since)
        values: dict[str, Any] = {"until": LAST if until is None else until}
        statement = "events"
        if kinds is not None:
            statement = "kinds" if "message" in kinds else "rest"
            values["kinds"] = self._of_kinds(kinds)
        return self._pages(statement, tenant, thread, since, values, shared=shared)

    def events_of_turns(
        self, tenant: str, thread: int, turns: Collection[int], *, shared: bool = False
    ) -> Iterator[Event]:
        """All events of some turns, in the order of the log."""
        tenant_name(tenant)
        # A turn may take in events long after the next one began, so the turns are merged by number.
        wanted = [
            self._pages("events_of_turn", tenant, thread, 0, {"turn": turn}, shared=shared)
            for turn in sorted(set(turns))
        ]
        return _merged(wanted)

    def bodies(
        self, tenant: str, thread: int, *, since: int = 0, until: int | None = None, shared: bool = False
    ) -> Mapping[int, bytes]:
        """The bytes of some events, in one go: this is most of what opening a thread costs."""
        tenant_name(tenant)
        asked = {"thread": thread, "since": since, "until": LAST if until is None else until}

        def work(run: Running) -> Mapping[int, bytes]:
            found: dict[int, bytes] = dict(run.rows("bodies", tenant=tenant, **asked))  # type: ignore[arg-type]  # pairs
            if not found:
                end_of(run, tenant, thread, shared=shared)
            return found

        return self._read(tenant, work)

    def _pages(
        self, statement: str, tenant: str, thread: int, since: int, values: dict[str, Any], *, shared: bool
    ) -> Iterator[Event]:
        whole, first = statement == "events", True
        while True:
            asked = {**values, "tenant": tenant, "thread": thread, "since": since, "limit": PAGE}

            def work(
                run: Running, asked: dict[str, Any] = asked, look: bool = whole or first
            ) -> tuple[list[Row], bool, Row | None]:
                page, ends = run.page(statement, **asked)
                return page, ends, end_of(run, tenant, thread, shared=shared) if ends and look else None

            page, ends, row = self._read(tenant, work)
            if whole and page and page[-1][0] - since != len(page):
                missing = next(at for at, stored in enumerate(page, since + 1) if stored[0] != at)
                raise DamagedDatabase(self._place, f"event {missing} of thread {thread} is missing")
            yield from events_of(page, self._place)
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
        last_seq: int = self._read(tenant, lambda run: end_of(run, tenant, thread))[1]
        return last_seq

    def frames(self, tenant: str, thread: int, *, since: int = 0, shared: bool = False) -> Iterator[FrameRow]:
        """The frames of a thread, oldest first."""
        tenant_name(tenant)
        self._read(tenant, lambda run: end_of(run, tenant, thread, shared=shared))
        while True:
            page = self._ask("frames", tenant=tenant, thread=thread, since=since, limit=PAGE)
            for row in page:
                yield frame_of(row)
            if len(page) < PAGE:
                return
            since = page[-1][0] + 1

    def frames_back(self, tenant: str, thread: int, *, until: int, shared: bool = False) -> Iterator[FrameRow]:
        """The frames of a thread, newest first."""
        tenant_name(tenant)
        self._read(tenant, lambda run: end_of(run, tenant, thread, shared=shared))
        before = {"after_seq": until, "number": LAST}
        while True:
            page = self._ask("frames_back", tenant=tenant, thread=thread, limit=FEW, **before)
            for row in page:
                yield frame_of(row)
            if len(page) < FEW:
                return
            before = {"after_seq": page[-1][1], "number": page[-1][0]}

    def head(self, tenant: str, thread: int, *, at: int | None = None) -> Head:
        """Newest frame and checkpoint, as of one moment."""
        tenant_name(tenant)

        def work(run: Running) -> Head:
            last_seq = end_of(run, tenant, thread)[1]
            frames = run.rows("frame_at", tenant=tenant, thread=thread, at=last_seq if at is None else at)
            frame = frame_of(frames[0]) if frames else None
            kept = run.rows("newest_checkpoint", tenant=tenant, thread=thread) if at is None else []
            if not kept:
                return Head(last_seq=last_seq, frame=frame)
            return Head(last_seq=last_seq, frame=frame, checkpoint_seq=kept[0][0], checkpoint=kept[0][1])

        return self._read(tenant, work)

    def checkpoints(self, tenant: str, thread: int, *, until: int, shared: bool = False) -> list[int]:
        """After which events a checkpoint is kept, newest first."""
        tenant_name(tenant)

        def work(run: Running) -> list[int]:
            end_of(run, tenant, thread, shared=shared)
            return [seq for (seq,) in run.rows("checkpoints", tenant=tenant, thread=thread, until=until)]

        return self._read(tenant, work)

    def checkpoint(self, tenant: str, thread: int, seq: int) -> bytes | None:
        """The one that was written after this event."""
        tenant_name(tenant)
        found = self._ask("checkpoint", tenant=tenant, thread=thread, after_seq=seq)
        return bytes(found[0][0]) if found else None

    def checkpoint_rest(self, tenant: str, thread: int, seq: int) -> bytes | None:
        """What was written beside the one after this event."""
        tenant_name(tenant)
        found = self._ask("checkpoint_rest", tenant=tenant, thread=thread, after_seq=seq)
        return bytes(found[0][0]) if found and found[0][0] is not None else None

    def redact(self, tenant: str, thread: int, seq: int, tombstone: bytes) -> None:
        """Body and words give way to a tombstone."""
        tenant_name(tenant)
        at = {"tenant": tenant, "thread": thread}

        def work(run: Running) -> None:
            end_of(run, tenant, thread, shared=True)
            self._drop_words(run, tenant, thread, after=seq - 1, until=seq)
            old, _ = run.page("events", **at, since=seq - 1, until=seq, limit=1)
            if not old:
                raise NotFound("event", seq)
            event = msgspec.structs.replace(event_of(old[0], self._place), body=tombstone, text="")
            run.run("redact", **at, seq=seq, tombstone=tombstone, checksum=checksum(event))
            run.run("redact_postings", **at, seq=seq)
            run.run("redact_run_events", **at, turn=event.turn)
            run.run("redact_checkpoints", **at, seq=seq)

        self._write(tenant, work, erasing=True)

    def postings(self, tenant: str, thread: int, terms: Collection[str], *, shared: bool = False) -> list[Posting]:
        """Where these terms stand."""
        tenant_name(tenant)

        def work(run: Running) -> list[Posting]:
            end_of(run, tenant, thread, shared=shared)
            found = []
            for term in sorted(set(terms)):
                rows = run.rows("postings", tenant=tenant, thread=thread, term=stored_term(term))
                found += [Posting(term, seq, count) for _, seq, count in rows]
            return found

        return self._read(tenant, work)

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
