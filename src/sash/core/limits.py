"""A policy's sizes for one model: the marks of its window, and what each source may have."""

from __future__ import annotations

import math

import msgspec

from sash.core.budget import Allotment, Budget
from sash.core.policy import Policy
from sash.errors import InvalidPolicy


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A policy for one model: every size a number."""

    window: int
    window_known: bool
    reserve: int
    fixed: int
    high: int
    """Above it the window slides."""
    low: int
    """A slide goes down to it."""
    soft: int
    shorten_over: int
    protect_results: int
    worth: int
    record_over: int
    summary: int
    facts: int
    pins: int
    step_digest: int

    @property
    def hard(self) -> int:
        """The most that a request may take."""
        return self.window - self.reserve


def limits_of(
    policy: Policy,
    *,
    window: int | None = None,
    max_output: int | None = None,
    fixed: int = 0,
    answer: int = 0,
    told: int = 0,
) -> Limits:
    """
    The policy's sizes for a model with that window.

    `fixed` is the real size of system prompt and tools, `answer` the largest answer that was
    asked for. Boundaries must not move when one tool more is sent or one token more asked
    for, so within the allowance and the reserve neither counts, and above in steps of a tenth.
    What the provider has `told` that the model takes goes before what anybody else said, where it is less.
    """
    known = policy.window or window
    if told:
        known = min(known or told, told)
    size = known or policy.default_window
    own = policy.budget.allot(size) if policy.budget is not None else {}
    reserve = policy.reserve_tokens
    if reserve is None:
        reserve = own.get("reserve") or min(max_output or size // 10, size // 10)
    if told:
        # Stated for a larger window.
        reserve = min(reserve, size // 2)
    if reserve > size:
        raise InvalidPolicy("reserve_tokens", reserve, f"at most the model's window of {size:,}")
    allowance = policy.fixed_tokens
    if allowance is None:
        allowance = own["system"] + own["tools"] if own else min(16_000, size // 8)
    if fixed > allowance:
        allowance = _stepped(fixed)
    triggers = _part(size - reserve, policy.trigger_share)
    if answer > reserve:
        reserve = min(_stepped(answer), size)
    room = max(0, min(triggers, size - reserve) - allowance)
    high = min(policy.history_tokens, room) if policy.history_tokens else room
    if policy.budget is not None:
        high = policy.budget.history.within(high)

    def at_most(given: int | None, default: int, share: float) -> int:
        # At least 1: a tiny window must not turn a rung off, which is what 0 says.
        return given if given is not None else max(1, min(default, _part(high, share)))

    facts = 0
    if not policy.flat:
        # A flat prompt has no place for them.
        facts = at_most(policy.facts_tokens, own.get("facts") or 1_000, 1.0 if own.get("facts") else 0.1)
    return Limits(
        window=size,
        window_known=known is not None,
        reserve=reserve,
        fixed=allowance,
        high=high,
        low=_part(high, policy.keep_share),
        soft=_part(high, policy.soft_share),
        shorten_over=at_most(policy.shorten_over_tokens, 2_000, 1 / 16),
        protect_results=at_most(policy.protect_results_tokens, 40_000, 0.4),
        worth=at_most(policy.worth_tokens, 20_000, 0.1),
        record_over=at_most(policy.record_over_tokens, 25_000, 0.25),
        summary=at_most(policy.summary_tokens, own.get("summary") or 4_000, 1.0 if own.get("summary") else 0.1),
        facts=facts,
        pins=at_most(policy.pin_tokens, 10_000, 0.1),
        step_digest=at_most(policy.step_digest_tokens, 4_000, 0.1),
    )


def budget_of(policy: Policy, limits: Limits) -> Budget:
    """
    The budget that a ledger is settled with.

    The policy's own, with the reserve that is in force; else the best known: what the
    limits say, and of the rest, in seed 001's proportions, something for each source
    from outside and for the input.
    """
    reserve = Allotment(tokens=limits.reserve)
    if policy.budget is not None:
        return msgspec.structs.replace(policy.budget, reserve=reserve)
    sizes = {
        "system": limits.fixed - limits.fixed // 2,
        "tools": limits.fixed // 2,
        "facts": limits.facts,
        # What stands for turns and for steps that left is one source.
        "summary": limits.summary + limits.step_digest,
        "recalled": policy.recall_tokens,
        "history": limits.high,
    }
    rest = max(0, limits.hard - sum(sizes.values()))
    for name, percent in _OUTSIDE.items():
        sizes[name] = min(limits.window * percent // 100, rest * percent // sum(_OUTSIDE.values()))
    return Budget(reserve=reserve, **{name: Allotment(tokens=tokens) for name, tokens in sizes.items() if tokens})


_OUTSIDE = {"skills": 3, "knowledge": 3, "cross_thread": 2, "input": 2}
"""Seed 001's percentages of the window."""


def _part(tokens: int, share: float) -> int:
    """A share of so many tokens, rounded down; a hair more, because 81 x (61 / 81) must be 61."""
    return math.floor(tokens * share + 1e-6)


def _stepped(tokens: int) -> int:
    """The next of the sizes 1,000, 1,100, 1,210, ... that holds so many."""
    step = 1_000.0
    while step < tokens:
        step *= 1.1
    return math.ceil(step)
