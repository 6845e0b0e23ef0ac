"""When history slides next, in words."""

from __future__ import annotations

from sash.core.explanation import Explanation
from sash.core.tokens import short
from sash.window import Context

SUSPENDED = "slides only when the window is full, since an undo"


def when_it_slides(told: Explanation | Context) -> str:
    """Above which mark, and how far; after an undo no mark is looked at."""
    return SUSPENDED if told.suspended else f"slides above {short(told.high)}, down to {short(told.low)}"
