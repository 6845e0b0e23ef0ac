"""The fields of a policy, as a type checker has to see them where a preset takes changes to them by keyword."""

from __future__ import annotations

from typing import Literal, TypedDict

from sash.core.budget import Budget
from sash.core.cost import Prices
from sash.core.model_limits import ModelLimits

Order = Literal["oldest", "priority"]
Check = Literal["request", "turn"]
Replacement = Literal["digest", "first-sentences", "marker", "nothing"]


class PolicyFields(TypedDict, total=False):
    """Some fields of a `Policy`, which says what each means. A test keeps the two alike."""

    window: int | None
    default_window: int
    models: tuple[ModelLimits, ...]
    reserve_tokens: int | None
    fixed_tokens: int | None
    history_tokens: int
    trigger_share: float
    keep_share: float
    soft_share: float
    cache_seconds: float
    adaptive: bool
    prices: Prices
    min_turns: int
    min_messages: int
    recent_turns: int
    keep_first: bool
    order: Order
    check: Check
    replace: Replacement
    counter: str
    shorten_over_tokens: int | None
    protect_results_tokens: int | None
    worth_tokens: int | None
    record_over_tokens: int | None
    summary_tokens: int | None
    summary_min_turns: int
    facts_tokens: int | None
    pin_tokens: int | None
    carry_tokens: int
    recall_tokens: int
    step_digest_tokens: int | None
    body_bytes: int
    max_chars: int
    flat: bool
    alternate: bool
    breakpoints: bool
    budget: Budget | None
