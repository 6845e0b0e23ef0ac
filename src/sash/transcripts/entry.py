"""What a transcript holds: entries in the order they were said, and what was wrong with the file."""

from __future__ import annotations

from typing import Literal

import msgspec

from sash.core.message import Message

Kind = Literal["message", "injected", "compaction", "note"]
"""
`message`: said by the user, the model or a tool. `injected`: put there by the program around the model (a
reminder, a hook's words, the surroundings): sent, and nobody's turn. `compaction`: the program summarized what was
before; in the log its message is never sent, since what it stands for is all there. `note`: what the file says about
itself, never sent.
"""


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The size of one call of the model, as its provider reported it."""

    input: int = 0
    """Tokens read that were in no cache."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def context(self) -> int:
        """Everything that the model read for this answer."""
        return self.input + self.cache_read + self.cache_write


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing said, or that happened, with what the file tells about it."""

    message: Message
    kind: Kind = "message"
    at: float | None = None
    """When, in seconds since 1970; None where the file does not say."""
    model: str = ""
    """The model that said it."""
    usage: Usage | None = None
    """What the provider reported for this answer; told once, however many lines repeat it."""
    line: int = 0
    """The line of the file, from 1; of a file that is one document, the place in its list."""
    key: str = ""
    """The name that the program gave it: the same when the file is read again after it grew."""
    stands: tuple[Message, ...] = ()
    """Of a compaction: what the program's model saw from then on in place of all before."""
    kept: tuple[str, ...] = ()
    """Of a compaction: keys of what it saw on as before, behind that."""


class Damage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something in the file that could not be read as it stands."""

    line: int
    """The line, from 1; 0 is the file as a whole."""
    why: str


class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of several conversations in a file: a branch of a tree, a session in a database, a run in a list."""

    name: str
    title: str = ""
    at: float | None = None
    """When it was last added to."""
    current: bool = False
    """It is the one that was read."""
    usual: bool = False
    """It is what is read when no part is asked for."""
