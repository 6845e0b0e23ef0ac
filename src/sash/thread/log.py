"""A thread's log as one sequence, also where its beginning is another thread's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import attrgetter

import msgspec

from sash.core.event import Event
from sash.core.frame import START, Frame
from sash.core.message import Message
from sash.errors import NotFound
from sash.store import Found, Matching, Posting, Store
from sash.wire import read_list

_frame = msgspec.json.Decoder(Frame)

APART = 4
"""Events between two messages that are read together."""


class Segment(msgspec.Struct, frozen=True):
    """A stretch of the log, in the thread that holds it."""

    thread: int
    after: int = 0
    until: int | None = None
    """None: it still grows."""

    def within(self, since: int, until: int | None) -> tuple[int, int | None] | None:
        """The part of it between two events, None where there is none."""
        first = max(since, self.after)
        ends = [end for end in (until, self.until) if end is not None]
        last = min(ends, default=None)
        return None if last is not None and last <= first else (first, last)


class Log:
    """The events of a thread, those that it shares with the threads it was forked from among them."""

    def __init__(self, store: Store, tenant: str, segments: tuple[Segment, ...]) -> None:
        self.store, self.tenant, self.segments = store, tenant, segments

    @property
    def thread(self) -> int:
        """The thread itself."""
        return self.segments[-1].thread

    def events(
        self, *, since: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[Event]:
        """The events after number `since`, up to and with `until`."""
        for segment in self.segments:
            part = segment.within(since, until)
            if part is not None:
                yield from self.store.events(
                    self.tenant,
                    segment.thread,
                    since=part[0],
                    until=part[1],
                    kinds=kinds,
                    shared=self._shares(segment),
                )

    def _shares(self, segment: Segment) -> bool:
        """Whether it is another thread's; then it stands although that thread may be gone."""
        return segment.thread != self.thread

    def event(self, seq: int) -> Event:
        """One event by its number."""
        for event in self.events(since=seq - 1, until=seq) if seq > 0 else ():
            return event
        raise NotFound("event", seq)

    def turn(self, number: int) -> list[Event]:
        """The messages of a turn."""
        return self.turns([number])

    def turns(self, numbers: Collection[int]) -> list[Event]:
        """The messages of some turns, in the order of the log."""
        found: list[Event] = []
        for segment in self.segments:
            shared = self._shares(segment)
            events = self.store.events_of_turns(self.tenant, segment.thread, numbers, shared=shared)
            found += [event for event in events if event.kind == "message" and segment.within(event.seq - 1, event.seq)]
        return found

    def frames(self, *, since: int = 0) -> Iterator[tuple[int, Frame]]:
        """The frames from a number on, each with the event that it was made after."""
        if since == 0:
            yield 0, START
        for segment in self.segments:
            rows = self.store.frames(self.tenant, segment.thread, since=since, shared=self._shares(segment))
            for row in rows:
                if segment.within(row.after_seq - 1, row.after_seq):
                    yield row.after_seq, _frame.decode(row.body)

    def frames_back(self, *, until: int) -> Iterator[tuple[int, Frame]]:
        """The frames that were made up to some event, newest first, each with the event that it was made after."""
        for segment in reversed(self.segments):
            part = segment.within(0, until)
            if part is not None:
                end = until if part[1] is None else part[1]
                shared = self._shares(segment)
                for row in self.store.frames_back(self.tenant, segment.thread, until=end, shared=shared):
                    if row.after_seq > segment.after:
                        yield row.after_seq, _frame.decode(row.body)

    def numbered(self) -> dict[int, int]:
        """
        Of each event after which a thread goes on as a fork, the number of the newest frame until then.

        The fork counts on from it: numbers are never given again, also where folding again makes fewer frames.
        """
        starts = [segment.after for segment in self.segments[1:]]
        return {seq: next((frame.number for _, frame in self.frames_back(until=seq)), 0) for seq in starts}

    def checkpoints(self, *, until: int) -> Iterator[tuple[int, int]]:
        """The threads that hold a checkpoint of this log, each with the event it was written after; newest first."""
        for segment in reversed(self.segments):
            part = segment.within(segment.after - 1, until)
            if part is not None or until == segment.after:
                end = until if part is None or part[1] is None else part[1]
                shared = self._shares(segment)
                for seq in self.store.checkpoints(self.tenant, segment.thread, until=end, shared=shared):
                    if seq >= segment.after:
                        yield segment.thread, seq

    def postings(self, terms: Collection[str]) -> Iterator[Posting]:
        """Where these terms stand."""
        for segment in self.segments:
            shared = self._shares(segment)
            for posting in self.store.postings(self.tenant, segment.thread, terms, shared=shared):
                if not shared or segment.within(posting.seq - 1, posting.seq):
                    yield posting

    def messages(self, positions: Collection[int]) -> dict[int, Message]:
        """The messages at these positions of the log."""
        found: list[Event] = []
        for since, until in _stretches(positions):
            found += self.events(since=since, until=until)
        wanted = set(positions)
        return messages_of(event for event in found if event.seq - 1 in wanted)

    def bodies(self, positions: Collection[int]) -> dict[int, bytes]:
        """The bytes of the events around these positions, by their numbers; not tested, unlike messages are."""
        found: dict[int, bytes] = {}
        for since, until in _stretches(positions):
            for segment in self.segments:
                part = segment.within(since, until)
                if part is not None:
                    shared = self._shares(segment)
                    found |= self.store.bodies(self.tenant, segment.thread, since=part[0], until=part[1], shared=shared)
        return found

    def search(self, text: str, *, limit: int, match: Matching) -> tuple[Found, ...]:
        """The messages that hold a text, newest first."""
        found: list[Found] = []
        for segment in reversed(self.segments):
            # A thread that was forked from may have gone on since: what it said then is not ours.
            more = self.store.search(self.tenant, text, thread=segment.thread, limit=limit, match=match)
            found += [one for one in more if segment.within(one.seq - 1, one.seq)]
        return tuple(found[:limit])

    def redact(self, event: Event, tombstone: bytes) -> None:
        """Puts a tombstone in the place of an event, in the thread that holds it."""
        self.store.redact(self.tenant, self._holder(event.seq), event.seq, tombstone)

    def others_with(self, seq: int) -> list[int]:
        """The other threads that have this event: the one that said it, and those that begin with it too."""
        holder = self._holder(seq)
        return [thread for thread in (holder, *self.store.forks(self.tenant, holder, seq)) if thread != self.thread]

    def _holder(self, seq: int) -> int:
        return next(segment.thread for segment in self.segments if segment.within(seq - 1, seq))


def _stretches(positions: Collection[int]) -> Iterator[tuple[int, int]]:
    """Where positions lie close together they are read in one go: between messages stand other, small events."""
    ordered = sorted(positions)
    if ordered and ordered[-1] - ordered[0] < APART * len(ordered):
        yield ordered[0], ordered[-1] + 1
        return
    first = 0
    for place, position in enumerate(ordered):
        if place + 1 == len(ordered) or ordered[place + 1] - position > APART:
            yield ordered[first], position + 1
            first = place + 1


def messages_of(events: Iterable[Event]) -> dict[int, Message]:
    """The messages among some events, by their positions; those of one wire are read together."""
    found: dict[int, Message] = {}
    said = [event for event in events if event.kind == "message"]
    for wire, run in groupby(said, key=attrgetter("wire")):
        together = list(run)
        listed = b"[" + b",".join([event.body for event in together]) + b"]"
        for event, message in zip(together, read_list(listed, wire), strict=True):
            found[event.seq - 1] = message
    return found


def message_of(event: Event) -> Message:
    """The message that an event holds."""
    (message,) = read_list(b"[" + event.body + b"]", event.wire)
    return message
