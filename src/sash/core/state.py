"""
What of a fold must survive a restart: one declared type.

Messages are in it by their position only, for the log has them; a checkpoint is small however
much was said. It is a shortcut and never the truth: folding the log again gives the same.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sash.core.facts import Fact
from sash.core.frame import Frame, Reason, handle_of
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message
from sash.core.recall import Recalled
from sash.core.shorten import shorten
from sash.core.size import Size
from sash.core.standing import Standing
from sash.core.summary import Summary
from sash.core.turn import Placing

Lookup = Callable[[int], Message]
"""The message at a position of the log."""


class KeptMessage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message of the window, by reference."""

    position: int
    size: Size
    cut: tuple[int, ...] = ()
    """Its blocks that were shortened as it came in."""
    keep: int = 0
    """Characters that were kept of each."""

    @classmethod
    def of(cls, live: LiveMessage) -> KeptMessage:
        """How a message of the window is kept."""
        cut: tuple[int, ...] = ()
        if live.came is not None:
            pairs = zip(live.came.blocks, live.message.blocks, strict=True)
            cut = tuple(place for place, (came, shown) in enumerate(pairs) if came != shown)
        return cls(live.position, live.size, cut, live.keep)

    def live(self, lookup: Lookup) -> LiveMessage:
        """The message as it stood in the window."""
        came = lookup(self.position)
        if not self.cut:
            return LiveMessage(self.position, came, self.size)
        blocks = list(came.blocks)
        for place in self.cut:
            blocks[place] = shorten(blocks[place], handle_of(self.position, place), self.keep)
        return LiveMessage(self.position, came.edit(tuple(blocks)), self.size, came, self.keep)


class KeptTurn(msgspec.Struct, frozen=True, array_like=True):
    """A turn of the window, its messages by reference."""

    number: int
    title: str
    opening: tuple[KeptMessage, ...]
    steps: tuple[tuple[KeptMessage, ...], ...]
    digested: int
    tokens: int
    whole_tokens: int
    entered_tokens: int
    body: int
    after_assistant: bool

    @classmethod
    def of(cls, turn: LiveTurn) -> KeptTurn:
        """How a turn of the window is kept."""
        return cls(
            number=turn.number,
            title=turn.title,
            opening=tuple(map(KeptMessage.of, turn.opening)),
            steps=tuple(tuple(map(KeptMessage.of, step)) for step in turn.steps),
            digested=turn.digested,
            tokens=turn.tokens,
            whole_tokens=turn.whole_tokens,
            entered_tokens=turn.entered_tokens,
            body=turn.body,
            after_assistant=turn.after_assistant,
        )

    def live(self, lookup: Lookup) -> LiveTurn:
        """The turn as it stood in the window."""
        return LiveTurn(
            number=self.number,
            title=self.title,
            opening=[kept.live(lookup) for kept in self.opening],
            steps=[[kept.live(lookup) for kept in step] for step in self.steps],
            digested=self.digested,
            tokens=self.tokens,
            whole_tokens=self.whole_tokens,
            entered_tokens=self.entered_tokens,
            body=self.body,
            after_assistant=self.after_assistant,
        )


class FoldState(msgspec.Struct, frozen=True, kw_only=True):
    """A fold between two messages, without what the log holds and without what the policy says."""

    frame: Frame
    placing: Placing
    system: tuple[KeptMessage, ...]
    turns: tuple[KeptTurn, ...]
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
        turns = [kept for turn in self.turns for part in (turn.opening, *turn.steps) for kept in part]
        return sorted(kept.position for kept in (*self.system, *turns))
