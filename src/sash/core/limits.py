"""A policy's sizes for one model: the marks of its window, and what each source may have."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from sash.core.budget import Allotment, Budget
from sash.core.policy import Policy
from sash.errors import InvalidPolicy

WindowBy = Literal["window", "model", "told", "default"]
ReserveBy = Literal["reserve_tokens", "max_input", "max_tokens"]
HighBy = Literal["history_tokens", "budget", "trigger_share", "reserve", "fixed"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A policy for one model: every size a number, and of those that hold others back, what they come from."""

    window: int
    window_by: WindowBy
    """Who says so: the policy, what is known of the model, its provider, or nobody."""
    reserve: int
    """What a request leaves free of the window: for the answer, or because the model does not read it."""
    reserve_by: ReserveBy
    """What asks for the most: the policy, a model that reads less than its window, or the answer asked for."""
    hard: int
    """Above it the window slides whatever the marks say: its room, where the answer asked for counts in steps."""
    fixed: int
    high: int
    """Above it the window slides."""
    high_by: HighBy
    """The field that would have to change before history could take more; of `reserve`, what that comes from."""
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
    def room(self) -> int:
        """The most that a request may take."""
        return self.window - self.reserve

    @property
    def window_known(self) -> bool:
        """False when nobody knows the model's window and a default stands in."""
        return self.window_by != "default"


def limits_of(  # noqa: PLR0913 - each is one number, and each is known by somebody else
    policy: Policy,
    *,
    window: int | None = None,
    max_output: int | None = None,
    max_input: int | None = None,
    fixed: int = 0,
    answer: int = 0,
    told: int = 0,
) -> Limits:
    """
    The policy's sizes for a model with that window.

    `fixed` is the real size of system prompt and tools, `answer` the largest answer that was
    asked for. Boundaries must not move when one tool more is sent or one token more asked
    for, so within the allowance and the reserve neither counts, and above in steps of a tenth;
    what a request may take in the end goes by the answer itself.
    What the provider has `told` that the model takes goes before what anybody else said, where it is less.
    """
    size, window_by = _window_of(policy, window, told)
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
    grown = fixed > allowance
    if grown:
        allowance = _stepped(fixed)
    triggers = _part(size - reserve, policy.trigger_share)
    reserve_by: ReserveBy = "reserve_tokens"
    if max_input is not None and window_by == "model" and size - max_input > reserve:
        # Some models read less than their window holds.
        reserve, reserve_by = size - max_input, "max_input"
    hard = size - reserve
    if answer > reserve:
        reserve, reserve_by = min(answer, size), "max_tokens"
        hard = size - min(_stepped(answer), size)
    room = max(0, min(triggers, hard) - allowance)
    high, high_by = room, _room_by(reserved=triggers >= hard, crowded=grown and allowance > room)
    if 0 < policy.history_tokens <= room:
        high, high_by = policy.history_tokens, "history_tokens"
    if policy.budget is not None and policy.budget.history.within(high) < high:
        high, high_by = policy.budget.history.within(high), "budget"

    def at_most(given: int | None, default: int, share: float) -> int:
        # At least 1: a tiny window must not turn a rung off, which is what 0 says.
        return given if given is not None else max(1, min(default, _part(high, share)))

    facts = 0
    if not policy.flat:
        # A flat prompt has no place for them.
        facts = at_most(policy.facts_tokens, own.get("facts") or 1_000, 1.0 if own.get("facts") else 0.1)
    return Limits(
        window=size,
        window_by=window_by,
        reserve=reserve,
        reserve_by=reserve_by,
        hard=hard,
        fixed=allowance,
        high=high,
        high_by=high_by,
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


def _window_of(policy: Policy, window: int | None, told: int) -> tuple[int, WindowBy]:
    size: int
    by: WindowBy
    if policy.window is not None:
        size, by = policy.window, "window"
    elif window is not None:
        size, by = window, "model"
    else:
        size, by = policy.default_window, "default"
    if told:
        return (told if by == "default" else min(size, told)), "told"
    return size, by


def _room_by(*, reserved: bool, crowded: bool) -> HighBy:
    """What holds back a history that has all the room there is for it."""
    if crowded:
        return "fixed"
    return "reserve" if reserved else "trigger_share"


def budget_of(policy: Policy, limits: Limits) -> Budget:
    """
    The budget that a ledger is settled with.

    The policy's own, with the reserve that is in force, in steps where an answer was asked
    for; else the best known: what the limits say, and of the rest, in seed 001's proportions,
    something for each source from outside and for the input.
    """
    reserve = Allotment(tokens=limits.window - limits.hard)
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
