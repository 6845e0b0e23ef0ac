"""A frame: the recorded decision that fixes the head of the window until the next one."""

from __future__ import annotations

from typing import Literal

import msgspec

from sash.errors import UnknownHandle

Reason = Literal[
    "start",
    "high mark",
    "between turns",
    "cold cache",
    "window",
    "bytes",
    "recent turns",
    "compact",
    "pin",
    "unpin",
    "undo",
    "rewind",
    "configure",
    "redact",
    "overflow",
    "summary",
    "forget",
]


def handle_of(message: int, block: int) -> str:
    """Names a block of the log, so that the whole of it can be asked back."""
    return f"{message}.{block}"


def place_of(handle: str) -> tuple[int, int]:
    """The message and the block that a handle names, whether or not the log has them."""
    message, _, block = handle.partition(".")
    if not (message.isascii() and message.isdigit() and block.isascii() and block.isdigit()):
        raise UnknownHandle(handle)
    return int(message), int(block)


class Shortened(msgspec.Struct, frozen=True, order=True):
    """A block of which the model sees head, tail and a handle."""

    message: int
    """Position in the log."""
    block: int
    """Its place in the message."""
    keep: int = 0
    """Characters kept; 0: the usual few lines."""

    @property
    def handle(self) -> str:
        """Names the block, so that the whole of it can be asked back."""
        return handle_of(self.message, self.block)


class DigestedSteps(msgspec.Struct, frozen=True, order=True):
    """The oldest steps of a live turn, for which a step digest stands."""

    turn: int
    steps: int


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that fixes the head of the window until the next one."""

    number: int
    parent: int | None = None
    """Number of the frame before it."""
    at: int
    """How many entries stood in the log when it was made."""
    reason: Reason
    boundary: int
    """Number of the first live turn."""
    carried: tuple[int, ...] = ()
    """Turns before the boundary that stay in the window whole."""
    shortened: tuple[Shortened, ...] = ()
    digested: tuple[DigestedSteps, ...] = ()
    unsigned_before: int = 0
    """Messages before this position go without their signed thinking: its proof would not hold any more."""
    plain: tuple[int, int] = (0, 0)
    """Messages from the one position up to the other are told as text: a tool loop that lost its thinking."""
    summary: int = 0
    """The summary that stands for turns that left: number of its event; 0: none, only a digest."""
    rewound: tuple[tuple[int, int], ...] = ()
    """Events after the one number and before the other that rewinds have taken out of the thread."""
    tokens_before: int = 0
    """What history took when the slide was made."""
    tokens: int = 0
    """What history took right after it."""
    fits: bool = True
    """
    False when what may not leave is over the high mark: the user's own words, pins, or all of the newest turns of a
    policy that shortens none.
    """

    @property
    def freed(self) -> int:
        """Tokens that the slide took out of the window."""
        return self.tokens_before - self.tokens

    @property
    def slid(self) -> bool:
        """Whether it is a slide; else somebody has changed what stands at the head, and nothing had to leave."""
        return self.reason not in _CHANGES and self.freed > 0


_CHANGES: frozenset[Reason] = frozenset({"start", "pin", "unpin", "undo", "rewind", "redact", "summary", "forget"})
"""Why a frame is made that is no slide, whatever left with it."""

START = Frame(number=0, at=0, reason="start", boundary=0)
"""Before anything happened: all that is said is live."""


def shortened_by_message(frame: Frame) -> dict[int, list[Shortened]]:
    """What a frame shortens, by the message it is in."""
    found: dict[int, list[Shortened]] = {}
    for short in frame.shortened:
        found.setdefault(short.message, []).append(short)
    return found
