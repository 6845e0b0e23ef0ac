"""Why a window slides: what is looked at at every request point, in few numbers, however long the log is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sash.core.frame import Reason
from sash.core.turn import Placed

if TYPE_CHECKING:
    from sash.core.fold import Fold

BODY_SHARE = 0.95
"""Of the most bytes of a body: the rest is for system prompt, tools and what stands between messages."""
EARLY_SHARE = 0.85
"""Of the high mark: above it a slide between turns may come early, for it loses less than one inside a turn."""


def reason_to_slide(fold: Fold, placed: Placed, *, pause: float) -> Reason | None:
    """
    Why a slide is to be considered at this request point, if it is.

    `pause` is what passed before the newest message, in seconds.
    """
    policy, limits, taken = fold.policy, fold.limits, fold.taken
    if policy.recent_turns and len(fold.turns) - 1 > policy.recent_turns:
        return "recent turns"
    if too_many_bytes(fold):
        return "bytes"
    if fold.suspended or policy.check == "turn":
        return "window" if taken > limits.hard - limits.fixed else None
    early = EARLY_SHARE * limits.high
    if taken <= early and taken <= limits.soft and fold.frame.fits:
        # Far below every mark, as at nearly every request.
        return None
    if taken > high_mark(fold):
        return "high mark"
    usual = fold.usual_turn if placed.starts and policy.soft_share < 1 else 0.0
    if usual and taken > max(early, limits.high - usual):
        return "between turns"
    if pause > policy.cache_seconds and taken > limits.soft:
        return "cold cache"
    return None


def high_mark(fold: Fold) -> int:
    """
    The high mark in force.

    Where what may not leave is over it, a slide at every request would free next to
    nothing and break the cache each time: then enough has to gather first.
    """
    frame, limits = fold.frame, fold.limits
    current = next(reversed(fold.turns.values()))
    if frame.fits or current.first().position >= frame.at:
        return limits.high
    return min(int(frame.tokens * fold.factor) + limits.worth, limits.hard - limits.fixed)


def too_many_bytes(fold: Fold) -> bool:
    """Whether a request of all that is in the window would be too large to send, whatever it takes in tokens."""
    return fold.body > BODY_SHARE * fold.policy.body_bytes
