"""What is told of a window: of each turn, result, frame and summary, where it stands and why."""

from __future__ import annotations

from itertools import groupby
from typing import Literal

import msgspec

from sash.core.frame import Reason
from sash.core.lines import aligned
from sash.core.priority import Score
from sash.core.recall import Hit
from sash.core.tokens import TokenCount, total

State = Literal["live", "carried", "evicted", "rewound"]
ResultState = Literal["whole", "shortened", "digested", "evicted"]


class ExplainedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Where a turn stands, and why."""

    number: int
    title: str
    messages: int
    tokens: TokenCount
    """As the window shows it; of an evicted turn, as it was."""
    whole: TokenCount
    """As it came in."""
    state: State
    reason: str
    since: int
    """Number of the frame that put it there; 0: it has been there since it was said."""
    back: tuple[str, ...] = ()
    """What gives it back, where something is missing."""
    digested_steps: int = 0
    """Its oldest steps, for which a step digest stands."""
    priority: Score | None = None
    """Of a turn in the window."""
    pinned: bool = False
    """Whether the user wants it to stay."""


class ExplainedResult(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a tool's result the model sees, and why."""

    handle: str
    turn: int
    tool: str
    """Name of the tool that was called; empty where the call is not at hand."""
    state: ResultState
    shown: TokenCount
    whole: TokenCount
    superseded: bool = False
    """Later work has made it stale: it is shortened before others."""
    reason: str
    since: int
    back: tuple[str, ...] = ()


class ExplainedFrame(msgspec.Struct, frozen=True, kw_only=True):
    """What a slide did, and why it was made."""

    number: int
    rule: Reason
    reason: str
    slid: bool
    """Whether it is a slide; else something at the head was changed: a pin, a fact, an undo."""
    at: int
    """How many messages stood in the log."""
    boundary: int
    evicted: tuple[int, ...]
    """Turns that left with it, also where an undo or a pin has brought them back since."""
    left: TokenCount
    """What these take as they came in: more than was freed, where the window had shortened them before."""
    shortened: int
    """Blocks it shortened that were whole before."""
    digested_steps: int
    """Steps of turns that stayed for which it let a digest stand."""
    unsigned: bool
    """From it on more messages go without their signed thinking, where they had any."""
    tokens_before: TokenCount
    tokens: TokenCount
    freed: TokenCount
    """What the window shows less; below 0 where something came back."""
    fits: bool


class ExplainedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A revision of the summary that stands for turns that left, or waits for the next frame."""

    revision: int
    in_force: bool
    first: int
    end: int
    """The first turn that it does not stand for."""
    by: Literal["model", "user"]
    model: str
    generation: int
    """How often it was merged since it was last written from the turns themselves."""
    lines: int
    removed: int
    """Lines that the turns did not support: taken out before anybody saw them."""
    lost: tuple[str, ...]
    """What the merged summary before it had lost; known when it was written from the turns again."""
    tokens: TokenCount


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to say about a window."""

    boundary: int
    frame: int
    tokens: TokenCount
    """What history takes now."""
    high: int
    low: int
    turns: tuple[ExplainedTurn, ...]
    results: tuple[ExplainedResult, ...]
    frames: tuple[ExplainedFrame, ...]
    summaries: tuple[ExplainedSummary, ...] = ()
    """The one in force, and those that wait for the next frame."""
    recalled: tuple[Hit, ...] = ()
    """Messages that left and stand beside the current input because they bear on it: score, and terms they share."""
    suspended: bool = False
    """Since an undo the high mark is not looked at, until the window is full or somebody compacts."""
    trouble: str = ""
    """Why the last attempt at a summary failed, and whether there will be another."""

    def __str__(self) -> str:
        """A line for history, and one for neighbouring turns that stand where they stand for the same reason."""
        head = (
            f"history {self.tokens}: slides above {self.high:,}, down to {self.low:,}; "
            f"frame {self.frame}, live from turn {self.boundary}"
        )
        if not self.turns:
            return head
        alike = [list(turns) for _, turns in groupby(self.turns, key=lambda turn: (turn.state, turn.reason))]
        rows = [
            (_numbers(turns), turns[0].state, str(total(turn.tokens for turn in turns)), turns[0].reason)
            for turns in alike
        ]
        return "\n".join((head, aligned([("turn", "state", "tokens", "why"), *rows], right=(2,))))


def _numbers(turns: list[ExplainedTurn]) -> str:
    first, last = turns[0].number, turns[-1].number
    return str(first) if first == last else f"{first} to {last}"
