"""What goes into a store and what comes out of it, beside the events themselves."""

from __future__ import annotations

from typing import Literal

import msgspec

from sash.core.event import Event

Matching = Literal["all", "any", "phrase"]
"""Every word (or run of letters such as `don't`) of a text, any of them, or the whole of it in one piece."""


class ThreadRow(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as the store knows it."""

    id: int
    """Never given again, also after the thread was deleted: a stale handle finds nothing and revives nothing."""
    tenant: str
    name: str
    at: float | None = None
    """When it was created, as the caller says."""
    last_seq: int = 0
    boundary: int = 0
    """Of its newest frame: number of the first live turn."""
    covered: int = 0
    """Turns before this number are covered by its summary. Below the boundary a summary is due."""
    ahead: int = 0
    """Turns before this number would leave with the next slide, which is near: a summary of them is due already."""
    title: str = ""
    """What people call it."""
    created: float = 0.0
    """By the store's clock, in seconds since 1970."""
    updated: float = 0.0
    """When its newest event was stored."""


class Share(msgspec.Struct, frozen=True):
    """What a fork has of another thread's log: its events up to and with one of them."""

    thread: int
    until: int


class FrameRow(msgspec.Struct, frozen=True, kw_only=True):
    """A frame and the event it was made after."""

    number: int
    after_seq: int
    body: bytes
    """Its JSON."""


class Posting(msgspec.Struct, frozen=True, gc=False):
    """How often a term stands in a message."""

    term: str
    seq: int
    count: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What one append adds: all of it is stored, or nothing."""

    events: tuple[Event, ...]
    frames: tuple[FrameRow, ...] = ()
    """The frames that the events lead to."""
    checkpoint: bytes | None = None
    """The fold's state after the last event; of the older ones some stay, the further back the fewer."""
    rest: bytes | None = b""
    """
    What of that state is not needed to go on, and may be asked for later.

    None: it is what was written with an earlier one. Such a checkpoint stays until the next is written.
    """
    postings: tuple[Posting, ...] = ()
    covered: int | None = None
    """From now on the summary covers the turns before this number; None: as before."""
    ahead: int | None = None
    """The next slide is near and would evict the turns before this number; None: as before, until the next frame."""


class Key(msgspec.Struct, frozen=True):
    """Makes a request safe to send twice."""

    name: str
    """The idempotency key, as the client chose it."""
    digest: bytes
    """Of the request: the same key with another request is a mistake, never a repetition."""


class Appended(msgspec.Struct, frozen=True):
    """Which numbers the events of an append have."""

    first_seq: int
    last_seq: int
    repeated: bool = False
    """It had been stored before, under the same key; nothing was added now."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a thread stands: what is needed to go on without reading its whole log."""

    last_seq: int
    frame: FrameRow | None = None
    checkpoint: bytes | None = None
    checkpoint_seq: int = 0
    """The last event that the checkpoint knows of."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a search found."""

    thread: int
    name: str
    """The thread's."""
    seq: int
    turn: int
    role: str
    text: str
    rewound: bool = False
    """A rewind took it out of its thread; told by `Thread.search` only, for a store knows of no rewinds."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to write one thread's summary, for a while."""

    tenant: str
    thread: int
    token: int
    """Grows with each claim, so that a worker that was asleep cannot publish over its successor."""
    covered: int
    end: int
    """The turns from `covered` up to this one are to be summarized: they have left, or will with the next slide."""
    attempts: int
    """This one included: counted before the work starts, so that a crash counts."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A thread whose summary failed."""

    thread: int
    attempts: int
    error: str
    parked: bool
    """Nobody tries any more until it is taken up again by hand."""

    def told(self) -> str:
        """In a sentence."""
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        then = "given up until it is tried again by hand" if self.parked else "it will be tried again"
        return f"writing a summary failed {times}, {then}: {self.error}"


_ID = 12
"""Digits of a key's digest that tell it from all others."""


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a key lets in. The key itself is nowhere stored."""

    digest: bytes
    tenant: str
    label: str
    at: float | None
    revoked: bool

    @property
    def id(self) -> str:
        """What it is listed and revoked by; it lets nobody in."""
        return self.digest.hex()[:_ID]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What a doctor wants to know about a store."""

    kind: str
    engine: str
    """The database and its version."""
    place: str
    """Without a password."""
    schema: int
    """Number of the newest migration applied."""
    wal_bytes: int = 0
    problems: tuple[str, ...] = ()
    """Empty when it is well; each says what to do."""
