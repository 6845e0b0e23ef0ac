"""Entries in the shape of a wire, one by one, so that a session of any length can be written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from sash.core.message import Message
from sash.transcripts.entry import Entry
from sash.wire import Repair, carry_each


def carried(entries: Iterable[Entry], wire: str, lost: list[Repair]) -> Iterator[tuple[Message, Entry]]:
    """Each message in this wire's shape, and the entry that it came from; notes are left out."""
    waiting: deque[tuple[int, Entry]] = deque()

    def said() -> Iterator[Message]:
        spoken = (entry for entry in entries if entry.message.role != "meta")
        for place, entry in enumerate(spoken):
            waiting.append((place, entry))
            yield entry.message

    for origin, message in carry_each(said(), wire, lost):
        while waiting[0][0] < origin:
            waiting.popleft()
        yield message, waiting[0][1]
