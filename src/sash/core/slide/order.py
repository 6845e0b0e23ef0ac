"""Which turns may leave the window, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Reversible, Sequence

from sash.core.live import LiveTurn
from sash.core.message import Opaque
from sash.core.slide.plan import Plan

WORTH_CARRYING = 70
"""Seed 001's threshold: turns of this priority are kept as they are."""


class Order:
    """The order in which turns leave. The current one and pinned ones never do."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._last = _compacted(plan.turns.values()) if plan.now.limits.step_digest else frozenset()
        """Turns that leave after all others. Seeds know whole turns alone, the oldest first."""

    def evictable(self) -> list[int]:
        """Turns that may leave before the ladder goes into the current turn, first to leave first."""
        policy = self.plan.now.policy
        numbers = list(self.plan.turns)
        last = {*numbers[-policy.min_turns :], *self._last}
        if policy.min_messages:
            last |= self._holding_newest(policy.min_messages)
        may_leave = [number for number in self.unpinned() if number not in last]
        if policy.order == "priority":
            return sorted(may_leave, key=lambda number: (self.plan.now.score(number), -number))
        carried = self._for_their_priority(may_leave)
        return [number for number in may_leave if number not in carried]

    def unpinned(self) -> list[int]:
        """All turns that may leave at all, also those that leave last."""
        plan = self.plan
        kept = {plan.current.number} | plan.now.pinned
        if self._keeps_first():
            kept.add(plan.first())
        unpinned = [number for number in plan.turns if number not in kept]
        return sorted(unpinned, key=self._last.__contains__)

    def kept_first(self) -> LiveTurn | None:
        """The first turn, where it stays only because the policy keeps it."""
        plan = self.plan
        first = plan.turns[plan.first()]
        stays_anyhow = first is plan.current or first.number in plan.now.pinned
        return first if self._keeps_first() and not stays_anyhow else None

    def _keeps_first(self) -> bool:
        return self.plan.now.policy.keep_first and self.plan.first() <= 1

    def not_worth_carrying(self, numbers: Iterable[int]) -> list[int]:
        """Those of the turns that their priority does not keep."""
        return [number for number in numbers if self.plan.now.score(number) < WORTH_CARRYING]

    def _holding_newest(self, messages: int) -> set[int]:
        holding: set[int] = set()
        for turn in reversed(self.plan.turns.values()):
            if messages <= 0:
                break
            holding.add(turn.number)
            messages -= sum(1 for _ in turn.messages())
        return holding

    def _for_their_priority(self, may_leave: Sequence[int]) -> set[int]:
        """Turns worth carrying although they are old, best first, within their allowance."""
        score, sizes, room = self.plan.now.score, self.plan.sizes, self.plan.now.policy.carry_tokens
        carried: set[int] = set()
        if room:
            for number in sorted(may_leave, key=lambda number: (-score(number), number)):
                if score(number) >= WORTH_CARRYING and sizes[number] <= room:
                    room -= sizes[number]
                    carried.add(number)
        return carried


def evict_what_bars_the_low_mark(plan: Plan, order: Order) -> None:
    """
    Turns that were to leave last leave now, where what stands beside the current turn is over the low mark.

    Else only the current turn could give way, a few steps at a time, with a slide at every other request. Of a first
    turn that is kept the request stays, and its steps leave. Where it would be over the low mark without them too,
    they leave as late as ever.
    """
    leaving, first = [number for number in order.unpinned() if number not in plan.evicted], order.kept_first()
    least = plan.beside_current() - sum(plan.sizes[number] for number in leaving)
    if first is not None:
        least -= plan.sizes[first.number] - plan.shown_of(first.opening)
    if least > plan.low:
        return
    for number in leaving:
        if plan.beside_current() <= plan.low:
            return
        plan.evict([number], plan.low)
    if first is not None:
        plan.digest_steps(first, len(first.steps), plan.low + plan.sizes[plan.current.number])


def _compacted(turns: Reversible[LiveTurn]) -> frozenset[int]:
    """The turn, if there is one, in which the provider itself wrote what stands for all before it."""
    for turn in reversed(turns):
        for live in turn.messages():
            for block in live.message.blocks:
                if type(block) is Opaque and block.covers:
                    return frozenset({turn.number})
    return frozenset()
