"""Results and pictures that were shown before: what is shortened while no turn has to leave for it."""

from __future__ import annotations

from collections.abc import Iterable

from sash.core.live import LiveMessage
from sash.core.message import Document, Image, ToolResult
from sash.core.size import Kind, Part
from sash.core.slide.order import Order
from sash.core.slide.plan import Plan

USUAL_TOKENS = 600
"""What a shortened result takes, about: where turns leave and the cache breaks anyway, that is near enough."""

_WITH_PICTURES: tuple[Kind, ...] = ("picture", "result")


def leave_out_pictures(plan: Plan) -> None:
    """Pictures of closed turns, oldest first, when the body is too large to send."""
    if not plan.too_many_bytes():
        return
    for turn in plan.turns.values():
        if turn is plan.current or turn.number in plan.now.pinned:
            continue
        for kind in _WITH_PICTURES:
            for live, part in turn.parts(kind):
                if plan.too_many_bytes() and not plan.is_short(live, part) and _holds_picture(live, part):
                    plan.shorten(turn.number, live, part)


def _holds_picture(live: LiveMessage, part: Part) -> bool:
    block = live.block(part.block)
    within = block.content if isinstance(block, ToolResult) else (block,)
    return any(isinstance(piece, Image | Document) and piece.data for piece in within)


def shorten_old_results(plan: Plan, order: Order) -> None:
    """Large results, superseded ones first, then the oldest; the newest stay whole."""
    limits = plan.now.limits
    if plan.total <= plan.low or not limits.shorten_over:
        return
    protected, candidates = limits.protect_results, []
    unseen = plan.unseen()
    turns = [turn for turn in plan.turns.values() if turn.number not in plan.now.pinned]
    results = [(turn, live, part) for turn in turns for live, part in turn.parts("result")]
    for turn, live, part in reversed(results):
        protected -= part.tokens
        stale = (live.position, part.block) in plan.now.superseded
        if live.position in unseen or (protected >= 0 and not stale) or plan.is_short(live, part):
            continue
        if part.tokens > limits.shorten_over:
            candidates.append((not stale, live.position, part.block, turn, live, part))
    short = min(USUAL_TOKENS, limits.shorten_over // 2)
    if sum(part.tokens - short for *_, part in candidates) < limits.worth:
        return
    candidates.sort(key=lambda candidate: candidate[:3])
    leaving = _leaving_all_the_same(plan, order, [(turn.number, part.tokens) for *_, turn, _, part in candidates])
    if not leaving and sum(plan.gain(live, part) for *_, live, part in candidates) < limits.worth:
        # Where no turn has to leave the cache could stay whole: then it is measured.
        return
    for *_, turn, live, part in candidates:
        if plan.total <= plan.low:
            return
        if turn.number not in leaving and plan.gain(live, part) > 0:
            plan.shorten(turn.number, live, part)


def _leaving_all_the_same(plan: Plan, order: Order, shortened: Iterable[tuple[int, int]]) -> set[int]:
    """Turns that would leave even if these results took nothing: it is in vain to shorten what is in them."""
    if plan.now.policy.carry_tokens:
        # A turn may be carried because it has been shortened.
        return set()
    least, total, leaving = plan.sizes.copy(), plan.total, set()
    for number, tokens in shortened:
        least[number] -= tokens
        total -= tokens
    for number in order.evictable():
        if total <= plan.low:
            break
        total -= least[number]
        leaving.add(number)
    return leaving
