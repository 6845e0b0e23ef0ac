"""Entries in the shape of a wire, one by one, so that a session of any length can be written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from sash.core.message import Message
from sash.core.turn import Placing
from sash.transcripts.entry import Entry
from sash.wire import Repair, carry_each

MERGED = "merged"
"""What `Repair` calls a message that lost nothing but its end: the format writes it with the one before."""
NEW_TURN = "new-turn"
"""What `Repair` calls a message of which a part starts a turn when the file is read, where it started none before."""
_MERGED = "it is written as part of the message before it"
_BESIDE = "what the user says beside a result is written as a message of its own, and starts a turn when it is read"
_SYSTEM = "what the system says is written as the user's words, and starts a turn when it is read"


def carried(
    entries: Iterable[Entry], wire: str, lost: list[Repair], *, injects: bool = False
) -> Iterator[tuple[Message, Entry]]:
    """
    Each message in this wire's shape, and the entry that it came from; notes are left out.

    What is lost, what becomes part of the message before it, and where turns begin that did not, is told by its
    place in the log. A format that `injects` has a place of its own for what its tool says among the messages.
    """
    before, after = Placing(), Placing()
    starts: set[int] = set()
    kept: set[int] = set()
    waiting: deque[tuple[int, Entry]] = deque()
    positions: list[int] = []
    missing: list[Repair] = []
    passed: list[int] = []
    newest = -1

    def said() -> Iterator[Message]:
        for position, entry in enumerate(entries):
            if entry.message.role != "meta":
                waiting.append((len(positions), entry))
                if before.add(entry.message).starts:
                    starts.add(len(positions))
                positions.append(position)
                yield entry.message

    for origin, message in carry_each(said(), wire, missing):
        while waiting[0][0] < origin:
            place, entry = waiting.popleft()
            if place != newest and entry.message.blocks:
                passed.append(place)
        newest = origin
        if message.role != "meta":
            entry = waiting[0][1]
            if injects and entry.message.role == "system" and entry.message.wire == wire:
                # Only in a request would it have to become the user's.
                message = entry.message  # noqa: PLW2901  (as it was said)
                kept.add(origin)
            if after.add(message).starts and origin not in starts:
                why = _BESIDE if entry.message.role == "user" else _SYSTEM
                missing.append(Repair(what=NEW_TURN, message=origin, why=why))
            starts.discard(origin)
            # Of an item that may not be sent twice nothing is left, which is told.
            yield message, entry
    passed += [place for place, entry in waiting if place != newest and entry.message.blocks]
    told = {repair.message for repair in missing}
    missing += [Repair(what=MERGED, message=place, why=_MERGED) for place in passed if place not in told]
    lost += [
        msgspec.structs.replace(repair, message=positions[repair.message])
        for repair in missing
        if repair.message not in kept
    ]
