"""What left a thread's window, found through the store: the postings of a few words, and the few messages asked for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from sash.core.event import Event
from sash.core.message import Message
from sash.core.recall import Archive, Posting, Ranked, Remembered, packed, unpacked
from sash.core.terms import message_terms
from sash.store import Posting as StoredPosting
from sash.thread.edits import DECIDING, Edits, edits_of
from sash.thread.log import Log, messages_of

REACH = 12
"""Events around a message among which its neighbours are looked for: not every event is a message."""


class StoredMemory:
    """The memory of a thread. Nothing of it is kept here but what is about to be stored."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._pending = Archive()
        """Messages that are being appended: they may bear on one another before they are stored."""

    def begin(self) -> None:
        """Something is about to be appended; what was before is stored by now, or never will be."""
        self._pending = Archive()

    def hear(self, said: Remembered) -> None:
        """One of the messages that are being appended."""
        self._pending = self._pending.with_messages([said])

    def with_messages(self, left: Sequence[Remembered]) -> StoredMemory:  # noqa: ARG002 - the store has them already
        """The store has every message, also those that have not left yet."""
        return self

    def postings(self, terms: Iterable[str]) -> list[Posting]:
        """Where the terms stand, less what a rewind has taken out."""
        wanted, edits = tuple(terms), self._edits()
        found = {(one.term, one.position): one for one in self._pending.postings(wanted)}
        for stored in self.log.postings(wanted):
            if not edits.out(stored.seq):
                number, count = unpacked(stored.count)
                found[stored.term, stored.seq - 1] = Posting(stored.term, stored.seq - 1, number, count)
        return list(found.values())

    def remember(self, ranked: Sequence[Ranked]) -> dict[int, Remembered]:
        """The messages that are asked for: those with the words, and those so many messages before or after them."""
        edits = self._edits()
        places = {one.position for one in ranked}
        events = {event.seq: event for event in self._around(places) if not edits.out(event.seq)}
        pending = {said.position + 1: said for segment in self._pending.segments for said in segment.messages.values()}
        order = sorted({*events, *pending})
        at = {seq: place for place, seq in enumerate(order)}
        found: dict[int, Remembered] = {}
        for one in ranked:
            place = at.get(one.position + 1, -1) + one.number - one.anchor
            if one.position + 1 not in at or not 0 <= place < len(order):
                continue
            seq = order[place]
            found[one.number] = pending[seq] if seq in pending else _remembered(events[seq], one.number)
        return found

    def _around(self, positions: Iterable[int]) -> Iterator[Event]:
        last = 0
        for position in sorted(positions):
            first, end = max(last, position - REACH), position + 1 + REACH
            if end > first:
                yield from self.log.events(since=first, until=end, kinds={"message"})
                last = end

    def _edits(self) -> Edits:
        return edits_of(self.log.events(kinds=DECIDING))

    def missing(self) -> tuple[StoredPosting, ...]:
        """Postings of messages that were said while nothing was to be recalled."""
        edits = self._edits()
        events = [event for event in self.log.events(kinds={"message"}) if not edits.out(event.seq)]
        said = messages_of(events)
        terms = {event.seq: message_terms(said[event.seq - 1]) for event in events}
        known = {posting.seq for posting in self.log.postings([next(iter(found)) for found in terms.values() if found])}
        return tuple(
            posting
            for number, event in enumerate(events)
            if event.seq not in known
            for posting in postings_of(terms[event.seq], event.seq, number)
        )


def postings_of(terms: dict[str, int], seq: int, number: int) -> Iterator[StoredPosting]:
    """A message's postings, each with the number of the message among all messages."""
    for term, count in terms.items():
        yield StoredPosting(term, seq, packed(number, count))


def _remembered(event: Event, number: int) -> Remembered:
    message: Message = messages_of([event])[event.seq - 1]
    return Remembered(number, event.seq - 1, event.turn, message, day(event.at))


def day(at: float | None) -> str:
    """The day on which something was said, where the log knows."""
    return time.strftime("%Y-%m-%d", time.gmtime(at)) if at is not None else ""
