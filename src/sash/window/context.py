"""What is in the window, by source."""

from __future__ import annotations

import msgspec

from sash.core.budget import Ledger, SourceName
from sash.core.pressure import Pressure
from sash.core.tokens import TokenCount


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Where the tokens of the next request go."""

    model: str
    counter: str
    """What counts, by its id."""
    counter_why: str
    """Why this counter, and how to get a better one where there is one."""
    used: TokenCount
    """All of it, as it is sent; the answer's reserve is not in it."""
    window: int
    window_known: bool
    """False when nobody knows the model's window and a default stands in."""
    high: int
    """Above it history slides."""
    low: int
    """A slide goes down to it."""
    suspended: bool
    """Since an undo the high mark is not looked at, until the window is full or somebody compacts."""
    frame: int
    boundary: int
    turns: int
    """Turns in the window."""
    messages: int
    """Messages in the window."""
    ledger: Ledger
    """Who got what of the window."""
    changes: dict[SourceName, str]
    """What gives each source less, or more."""
    around: int
    """What repairs, and what stands around words of sash's own, add to what the ledger's lines take."""
    unsent: int
    """What history counts in the window and is not sent: left out by repairs, or without a place in a flat prompt."""
    pressure: Pressure
