"""Inside the current turn: for an agent at work this is the normal path. The user's own words stay whole."""

from __future__ import annotations

from collections.abc import Sequence

from sash.core.live import LiveMessage
from sash.core.shorten import weight
from sash.core.size import Kind, Part
from sash.core.slide.plan import Plan

LEAST_CHARS = 160
"""A result that nobody has seen yet is never cut below this."""

_KINDS: tuple[Kind, ...] = ("result", "arguments", "text")


def shorten_current_turn(plan: Plan) -> None:
    """Results the model has seen, then what it wrote itself."""
    turn, unseen = plan.current, plan.unseen()
    for kind in _KINDS:
        for live, part in list(turn.parts(kind)):
            if not plan.over(plan.low):
                return
            if live.position in unseen or plan.is_short(live, part):
                continue
            if not plan.first_step() <= live.position < plan.until:
                continue
            if plan.gain(live, part) > 0:
                plan.shorten(turn.number, live, part)


def shrink_unseen(plan: Plan) -> None:
    """Results that the model has not seen yet shrink only as far as they must, the largest to one size."""
    if plan.total <= plan.high:
        return
    unseen = plan.unseen()
    parts = [(live, part) for live, part in plan.current.parts("result") if live.position in unseen]
    sizes = [plan.tokens_of(live, part) for live, part in parts]
    level = _level(sizes, sum(sizes) - (plan.total - plan.high))
    for (live, part), tokens in zip(parts, sizes, strict=True):
        if tokens > level:
            keep = _characters_for(plan, live, part, level)
            if plan.measure(live, part.block, keep)[0] < tokens:
                plan.shorten(plan.current.number, live, part, keep)


def _characters_for(plan: Plan, live: LiveMessage, part: Part, tokens: int) -> int:
    """How many characters of a result take about so many tokens, or fewer."""
    keep, taken = weight(live.block(part.block)), max(1, part.tokens)
    while taken > tokens:
        # Tokens per character differ along a text: a little less is kept, and measured.
        keep = int(keep * tokens / taken * 0.9)
        if keep <= LEAST_CHARS:
            return LEAST_CHARS
        taken, _ = plan.measure(live, part.block, keep)
    return keep


def _level(sizes: Sequence[int], room: int) -> int:
    """The size to which the largest must shrink for all to fit into the room."""
    left = len(sizes)
    for size in sorted(sizes):
        if size * left > room:
            return max(0, room) // left
        room -= size
        left -= 1
    return max(sizes, default=0)
