"""
What of a fold must survive a restart: one declared type.

Messages are in it by their position only, for the log has them; a checkpoint is small however
much was said. It is a shortcut and never the truth: folding the log again gives the same.
"""

from __future__ import annotations

import msgspec

from sash.core.facts import Fact
from sash.core.frame import Frame, Reason
from sash.core.kept import KeptMessage, Resting
from sash.core.recall import Recalled
from sash.core.standing import Standing
from sash.core.summary import Summary
from sash.core.turn import Placing


class FoldState(msgspec.Struct, frozen=True, kw_only=True):
    """A fold between two messages, without what the log holds and without what the policy says."""

    frame: Frame
    placing: Placing
    system: tuple[KeptMessage, ...]
    turns: Resting
    digest: msgspec.Raw
    """Its JSON: it is needed at the next slide only."""
    summaries: tuple[Summary, ...] = ()
    pinned: tuple[int, ...]
    tokens: int
    exact: bool
    body: int
    factor: float
    beyond: float = 0.0
    suspended: bool
    closed: tuple[int, ...]
    requests: int
    added: int
    asked: int
    said_at: float | None
    due: tuple[Reason, int | None] | None
    standing: Standing
    """What stands for what left: put together once for each frame, and not at each start."""
    facts: tuple[Fact, ...] = ()
    said: int = 0
    input: tuple[int, int] | None = None
    """Position and number of what the user said last, where something may be recalled for it."""
    recalled: Recalled | None = None

    def positions(self) -> list[int]:
        """Where the messages of the window stand in the log, in its order."""
        turns = [position for turn in self.turns.kept() for position in turn.positions()]
        return sorted([*(kept.position for kept in self.system), *turns])
