"""The ladder, rung by rung: what loses least comes first."""

from __future__ import annotations

from collections.abc import Sequence

from sash.core.frame import Frame, Reason
from sash.core.live import LiveTurn
from sash.core.slide.current import shorten_current_turn, shrink_unseen
from sash.core.slide.order import Order, evict_what_bars_the_low_mark
from sash.core.slide.plan import Plan, Slide
from sash.core.slide.results import leave_out_pictures, shorten_old_results
from sash.core.slide.situation import Situation
from sash.core.slide.thinking import drop_thinking, tell_as_text


def plan_slide(frame: Frame, turns: Sequence[LiveTurn], situation: Situation, *, reason: Reason) -> Slide | None:
    """
    The next frame, or None when nothing would change.

    Goes down to the low mark and not just under the high one: every slide breaks
    the provider's cache, so slides must be rare.
    """
    plan = Plan(frame, turns, situation)
    _climb_down(plan, Order(plan))
    return plan.slide(reason)


def sizes_shown(frame: Frame, turns: Sequence[LiveTurn], situation: Situation) -> dict[int, tuple[int, int]]:
    """Tokens and bytes of each turn as a frame shows it, added up anew."""
    return Plan(frame, turns, situation).sizes_shown() if turns else {}


def _climb_down(plan: Plan, order: Order) -> None:
    # Rung 1: pictures, thinking, old results.
    leave_out_pictures(plan)
    drop_thinking(plan)
    tell_as_text(plan)
    shorten_old_results(plan, order)
    # Rung 2: whole turns.
    evictable = order.evictable()
    if plan.now.policy.order == "priority" and plan.over(plan.low):
        # Seed 001: what scores less is summarized, whether or not there would be room for it.
        plan.evict(order.not_worth_carrying(evictable), -1)
    plan.evict(evictable, plan.low)
    if not plan.now.limits.step_digest:
        return
    # Rung 3: inside the current turn.
    shorten_current_turn(plan)
    completed = len(plan.current.steps) - 1
    if completed > plan.current.digested:
        evict_what_bars_the_low_mark(plan, order)
    plan.digest_steps(plan.current, completed, plan.low)
    shrink_unseen(plan)
    # Nothing else is left: the turns that were to leave last leave now, and of the first only the request stays. Not
    # to just under the high mark, or the next request would slide again.
    worth = int(plan.now.limits.worth / plan.now.factor)
    enough = max(min(plan.low, plan.high), plan.high - worth) if plan.before > plan.high else plan.high
    plan.evict(order.unpinned(), enough)
    if (kept := order.kept_first()) is not None:
        plan.digest_steps(kept, len(kept.steps), enough)
