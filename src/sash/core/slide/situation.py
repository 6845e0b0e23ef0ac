"""What a slide is planned from, beside the last frame and the turns in the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from sash.core.limits import Limits
from sash.core.live import LiveMessage
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.priority import SEED, SIGNALS, scores_of, superseded
from sash.core.shorten import weight
from sash.core.trigger import too_many_bytes

if TYPE_CHECKING:
    from sash.core.fold import Fold

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
    beyond: float = 0.0
    """What history takes beyond that until this slide is made: see `Fold.beyond`."""
    low: int | None = None
    """A lower mark than the policy's, for the user's own command."""
    body_over: bool = False

    def score(self, turn: int) -> int:
        """A turn's priority; 0 where it has none."""
        return self.scores.get(turn, 0)


def situation_of(fold: Fold, limits: Limits, *, low: int | None = None) -> Situation:
    """What a fold's next slide is planned from, under these limits."""
    policy, counter, turns = fold.policy, fold.counter, list(fold.turns.values())

    def measure(live: LiveMessage, block: int, keep: int) -> tuple[int, int]:
        short = fold.short(live, block, keep)
        return counter.block(short).value, weight(short)

    scores: dict[int, int] = {}
    if policy.order == "priority" or policy.carry_tokens:
        signals = SEED if policy.order == "priority" else SIGNALS
        scored = scores_of(turns, len(fold), len(fold.system), signals)
        scores = {number: score.value for number, score in scored.items()}
    return Situation(
        limits=limits,
        policy=policy,
        measure=measure,
        count=lambda message: counter.message(message).value,
        at=len(fold),
        pinned=fold.pinned,
        superseded=superseded(turns, fold.answers) if limits.shorten_over else frozenset(),
        scores=scores,
        factor=fold.factor,
        beyond=fold.beyond,
        low=low,
        body_over=too_many_bytes(fold),
    )
