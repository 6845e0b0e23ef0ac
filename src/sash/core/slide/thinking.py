"""Signed thinking at a slide: it is bound to what was said before it, which is about to change."""

from __future__ import annotations

from sash.core.shorten import weight
from sash.core.slide.plan import Plan, within


def drop_thinking(plan: Plan) -> None:
    """Leaves it out, of all messages that a frame has not taken it from yet."""
    for turn in plan.turns.values():
        for live, part in turn.parts("thinking", signed=True):
            if plan.frame.unsigned_before <= live.position < plan.until:
                plan.free(turn.number, part.tokens, weight(live.block(part.block)))


def tell_as_text(plan: Plan) -> None:
    """What is told as text from now on, or no longer, takes another room."""
    if plan.plain == plan.frame.plain:
        return
    for turn in plan.turns.values():
        for live in turn.messages():
            was, will = within(live, plan.frame.plain), within(live, plan.plain)
            if was != will:
                more = plan.told(live) - plan.added_up(live)[0]
                plan.free(turn.number, more if was else -more)
