"""Entries in the shape of a wire, one by one, so that a session of any length can be written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from sash.core.message import Message
from sash.transcripts.entry import Entry
from sash.wire import Repair, carry_each

MERGED = "merged"
"""What `Repair` calls a message that lost nothing but its end: the format writes it with the one before."""
_MERGED = "it is written as part of the message before it"


def carried(entries: Iterable[Entry], wire: str, lost: list[Repair]) -> Iterator[tuple[Message, Entry]]:
    """
    Each message in this wire's shape, and the entry that it came from; notes are left out.

    What is lost, and what becomes part of the message before it, is told by its place in the log.
    """
    waiting: deque[tuple[int, Entry]] = deque()
    positions: list[int] = []
    missing: list[Repair] = []
    passed: list[int] = []
    newest = -1

    def said() -> Iterator[Message]:
        for position, entry in enumerate(entries):
            if entry.message.role != "meta":
                waiting.append((len(positions), entry))
                positions.append(position)
                yield entry.message

    for origin, message in carry_each(said(), wire, missing):
        while waiting[0][0] < origin:
            place, entry = waiting.popleft()
            if place != newest and entry.message.blocks:
                passed.append(place)
        newest = origin
        if message.role != "meta":
            # Of an item that may not be sent twice nothing is left, which is told.
            yield message, waiting[0][1]
    passed += [place for place, entry in waiting if place != newest and entry.message.blocks]
    told = {repair.message for repair in missing}
    missing += [Repair(what=MERGED, message=place, why=_MERGED) for place in passed if place not in told]
    lost += [msgspec.structs.replace(repair, message=positions[repair.message]) for repair in missing]
