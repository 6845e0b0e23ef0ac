"""What left a thread's window, found through the store: the postings of a few words, and the few messages asked for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from sash.core.event import Event
from sash.core.message import Message
from sash.core.recall import NEIGHBOURS, Archive, Gaps, Posting, Ranked, Remembered, packed, unpacked
from sash.core.terms import message_terms
from sash.store import Posting as StoredPosting
from sash.thread.edits import DECIDING, edits_of
from sash.thread.log import Log, messages_of

REACH = 12
"""Events around a message among which its neighbours are looked for: not every event is a message."""


class StoredMemory:
    """
    The memory of a thread. Nothing of it is kept here but what is about to be stored.

    What it gives for a fold is the same whenever it is asked: it goes by the rewinds of that fold,
    and not by those that the log has come to since.
    """

    def __init__(self, log: Log, pending: Archive | None = None, rewound: Gaps = ()) -> None:
        self.log = log
        self._pending = Archive() if pending is None else pending
        """Messages that are being appended: they may bear on one another before they are stored."""
        self._rewound = rewound

    def clear(self) -> None:
        """What was being appended is stored by now, or never will be."""
        self._pending = Archive()

    def hear(self, said: Remembered) -> None:
        """One of the messages that are being appended."""
        self._pending = self._pending.with_messages([said])

    def with_messages(self, left: Sequence[Remembered]) -> StoredMemory:  # noqa: ARG002 - the store has them already
        """The store has every message, also those that have not left yet."""
        return self

    def without(self, rewound: Gaps) -> StoredMemory:
        """The same, less what rewinds have taken out."""
        return StoredMemory(self.log, self._pending, rewound)

    def _stands(self, seq: int) -> bool:
        return not any(after < seq < before for after, before in self._rewound)

    def postings(self, terms: Iterable[str]) -> list[Posting]:
        """Where the terms stand, in the order of the log."""
        wanted = tuple(terms)
        found = {(one.term, one.position): one for one in self._pending.postings(wanted)}
        for stored in self.log.postings(wanted):
            number, count = unpacked(stored.count)
            found[stored.term, stored.seq - 1] = Posting(stored.term, stored.seq - 1, number, count)
        return _numbered([one for one in found.values() if self._stands(one.position + 1)])

    def remember(self, ranked: Sequence[Ranked]) -> dict[int, Remembered]:
        """The messages that are asked for: those with the words, and those so many messages before or after them."""
        events = {event.seq: event for event in self._around({one.position for one in ranked})}
        pending = {said.position + 1: said for segment in self._pending.segments for said in segment.messages.values()}
        order = sorted(filter(self._stands, {*events, *pending}))
        at = {seq: place for place, seq in enumerate(order)}
        found: dict[int, Remembered] = {}
        for one in ranked:
            place = at.get(one.position + 1, -1) + one.number - one.anchor
            if one.position + 1 not in at or not 0 <= place < len(order):
                continue
            seq = order[place]
            # What lies further away may have others before it that were not read.
            if abs(seq - 1 - one.position) <= REACH:
                found[one.number] = pending[seq] if seq in pending else _remembered(events[seq], one.number)
        return found

    def _around(self, positions: Iterable[int]) -> Iterator[Event]:
        last = 0
        for position in sorted(positions):
            first, end = max(last, position - REACH), position + 1 + REACH
            if end > first:
                yield from self.log.events(since=first, until=end, kinds={"message"})
                last = end

    def missing(self) -> tuple[StoredPosting, ...]:
        """
        Postings of messages that were said while nothing was to be recalled.

        Also of those that a rewind has taken out: it may be taken back.
        """
        events = list(self.log.events(kinds={"message", *DECIDING}))
        numbers, said = _numbers(events), messages_of(events)
        terms = {position + 1: message_terms(message) for position, message in said.items()}
        known = {posting.seq for posting in self.log.postings([next(iter(found)) for found in terms.values() if found])}
        return tuple(
            posting
            for seq, number in numbers.items()
            if seq not in known
            for posting in postings_of(terms[seq], seq, number)
        )


def _numbers(events: Iterable[Event]) -> dict[int, int]:
    """Of each message how many stood before it when it was said, as an append counts them."""
    numbers: dict[int, int] = {}
    deciding: list[Event] = []
    standing = 0
    for event in events:
        if event.kind == "message":
            numbers[event.seq] = standing
            standing += 1
        else:
            deciding.append(event)
            edits = edits_of(deciding)
            standing = sum(not edits.out(seq) for seq in numbers)
    return numbers


def _numbered(postings: Sequence[Posting]) -> list[Posting]:
    """
    Postings in the order of the log, no two messages with one number.

    What was said after a rewind is numbered from where that went back to. Where the rewind was taken back, the
    same numbers stand before it: then the rest goes further up, out of reach of its new neighbours.
    """
    ordered = sorted(postings, key=lambda one: (one.position, one.term))
    numbered: list[Posting] = []
    shift, position, number = 0, -1, -1
    for one in ordered:
        if one.position != position and one.number + shift <= number:
            shift = number + 2 * NEIGHBOURS + 1 - one.number
        position, number = one.position, one.number + shift
        numbered.append(one if not shift else msgspec.structs.replace(one, number=number))
    return numbered


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
