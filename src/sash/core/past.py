"""What a fold leaves behind: its frames, and the turns that left the window. It grows with the log."""

from __future__ import annotations

import msgspec

from sash.core.frame import START, Frame


class Evicted(msgspec.Struct, frozen=True):
    """A turn that left the window."""

    number: int
    title: str
    tokens: int
    messages: int
    first: int
    """Position of its first message."""
    frame: int
    """The frame that evicted it."""


class Past(msgspec.Struct):
    """
    What explains a window and is not needed to go on.

    A fold that comes from a checkpoint knows only what happened since; the store has the rest.
    """

    frames: list[Frame] = msgspec.field(default_factory=lambda: [START])
    evicted: list[Evicted] = []
    rewound: list[Evicted] = []
    """Turns that a rewind has taken out."""
    undone: dict[int, str] = {}
    """What each frame that an undo has made takes back."""

    def copy(self) -> Past:
        """A past that grows by itself."""
        return Past(self.frames[:], self.evicted[:], self.rewound[:], self.undone.copy())
