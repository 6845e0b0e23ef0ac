"""What is told to give more room does give more room."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from sash.core.budget import SOURCES, Allotment, Budget
from sash.core.context_json import read_context_json
from sash.core.limits import Limits, limits_of
from sash.core.policy import Policy
from sash.core.remedy import change_of, more_history, more_room

GPT_4O = {"window": 128_000, "max_output": 16_384}
GPT_5 = {"window": 400_000, "max_output": 128_000, "max_input": 272_000}
UNBOUND = Policy(history_tokens=0, trigger_share=1.0)


def with_more(policy: Policy, field: str) -> Policy:
    """The policy in which what a remedy names is a little larger."""
    size = getattr(policy, field)
    more = min(1.0, size + 0.1) if field.endswith("_share") else (size or policy.default_window) + 1_000
    return msgspec.structs.replace(policy, **{field: more})


@pytest.mark.parametrize(
    ("policy", "model", "remedy"),
    [
        (Policy(), {"window": 200_000}, "raise `history_tokens`"),
        (Policy(), GPT_4O, "raise `trigger_share`"),
        (Policy(), {}, "raise `trigger_share` or `window`"),
        (Policy(window=50_000), GPT_5, "raise `trigger_share` or `window`"),
        (Policy.sliding(), {"window": 200_000}, "raise `history_tokens`"),
        (Policy.threshold(), {"window": 200_000}, "raise `trigger_share` or `window`"),
        (Policy.priority(), {}, "raise `history_tokens`"),
        (read_context_json(b"{}").policy, {}, "raise `trigger_share` or `window`"),
        (UNBOUND, {}, "raise `window`, or lower `reserve_tokens`"),
        (msgspec.structs.replace(UNBOUND, reserve_tokens=0), {}, "raise `window`"),
        (UNBOUND, GPT_4O, "take a model with a larger window, or lower `reserve_tokens`"),
        (UNBOUND, {**GPT_4O, "told": 90_000}, "take a model with a larger window, or lower `reserve_tokens`"),
        (Policy(history_tokens=0), GPT_5, "take a model that reads more"),
        (Policy(), {**GPT_4O, "answer": 80_000}, "ask for a shorter answer (`max_tokens`)"),
        (Policy(), {**GPT_4O, "fixed": 70_000}, "send fewer tools, or shorten the system prompt"),
        (Policy(budget=Budget(history=Allotment(ceiling=9_000))), {}, "raise `budget.history.ceiling`"),
    ],
)
def test_what_lets_history_take_more_is_what_binds(policy: Policy, model: dict[str, Any], remedy: str) -> None:
    limits = limits_of(policy, **model)
    assert more_history(limits) == remedy
    for field in re.findall(r"`(\w+)`", remedy.replace("lower `reserve_tokens`", "").replace("`max_tokens`", "")):
        assert limits_of(with_more(policy, field), **model).high > limits.high
    if "raise `history_tokens`" not in remedy and policy.history_tokens:
        # What binds is another limit, so this one may be as large as it likes.
        wide = msgspec.structs.replace(policy, history_tokens=policy.window or 100_000)
        assert limits_of(wide, **model).high <= limits.high


def test_a_fuller_request_is_told_from_a_longer_history() -> None:
    assert more_room(limits_of(Policy(), **GPT_4O)) == "take a model with a larger window, or lower `reserve_tokens`"
    assert more_room(limits_of(Policy(window=9_000))) == "raise `window`, or lower `reserve_tokens`"


def changes(policy: Policy, **model: Any) -> tuple[str, str]:
    limits = limits_of(policy, **model)
    return change_of("history", policy, limits), change_of("reserve", policy, limits)


def test_each_source_is_told_with_what_changes_it() -> None:
    assert changes(Policy(), window=200_000) == ("set history_tokens, or compact", "set reserve_tokens")
    assert changes(Policy(), **GPT_4O) == ("set trigger_share, or compact", "set reserve_tokens")
    assert changes(Policy(), **GPT_5) == ("set history_tokens, or compact", "the model does not read it")
    assert changes(Policy(history_tokens=0), **GPT_5)[0] == "take a model that reads more, or compact"
    assert changes(Policy(), **GPT_4O, answer=80_000) == (
        "ask for a shorter answer, or compact",
        "ask for a shorter answer",
    )
    assert changes(Policy(), **GPT_4O, fixed=70_000)[0] == "send fewer tools, or compact"
    assert changes(UNBOUND, **GPT_4O)[0] == "set reserve_tokens, or compact"
    assert changes(UNBOUND)[0] == "set window, or compact"
    assert changes(Policy(budget=Budget(history=Allotment(ceiling=9))))[0] == "set budget.history, or compact"
    assert changes(Policy.recent())[0] == "set recent_turns, or max_chars"
    assert changes(Policy(history_tokens=0, recent_turns=3))[0] == "set recent_turns"
    limits: Limits = limits_of(Policy())
    assert all(change_of(source, Policy(), limits) for source in SOURCES)
