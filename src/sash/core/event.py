"""What happened in a thread: one sequence for all of it, one number each."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal[
    "message",
    "usage",
    "pin",
    "unpin",
    "mark",
    "rewind",
    "configure",
    "compact",
    "undo",
    "summary",
    "fact",
    "forget",
    "redact",
    "veto",
    "overflow",
]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a thread's log. Never changes; order is by `seq` alone, never by a clock."""

    seq: int = 0
    """Its number in the thread, from 1; given by the store."""
    kind: Kind
    body: bytes
    """Of a message the exact bytes that came in; of anything else its JSON."""
    wire: str = ""
    role: str = ""
    turn: int = -1
    """The turn that it belongs to."""
    tokens: int = 0
    exact: bool = True
    counter: str = ""
    """What counted the tokens: its id and version."""
    text: str = ""
    """What a search finds it by."""
    at: float | None = None
    """When it was said, as the caller says: for display and for cold caches."""
