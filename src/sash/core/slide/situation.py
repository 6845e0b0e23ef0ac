"""What a slide is planned from, beside the last frame and the turns in the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from sash.core.live import LiveMessage
from sash.core.message import Message
from sash.core.policy import Limits, Policy

Measure = Callable[[LiveMessage, int, int], tuple[int, int]]
"""Tokens and bytes of a shortened block: the message, the block's place, characters kept (0: the usual form)."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """All that a slide is planned from, beside frame and turns."""

    limits: Limits
    policy: Policy
    measure: Measure
    count: Callable[[Message], int]
    at: int
    """Messages in the log."""
    pinned: frozenset[int] = frozenset()
    superseded: frozenset[tuple[int, int]] = frozenset()
    """Results that later work has made stale: position and block."""
    scores: Mapping[int, int] = {}
    """Turns' priorities, where the policy asks for them."""
    factor: float = 1.0
    """What the provider's reports say a counted token is worth."""
    low: int | None = None
    """A lower mark than the policy's, for the user's own command."""
    body_over: bool = False

    def score(self, turn: int) -> int:
        """A turn's priority; 0 where it has none."""
        return self.scores.get(turn, 0)
