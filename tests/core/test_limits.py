"""The sizes that follow from a policy for a model, and the budget that is made of them."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis.strategies import integers, none, one_of, sampled_from

from sash.core.budget import SOURCES, Allotment, Budget, settle
from sash.core.limits import budget_of, limits_of
from sash.core.policy import DEFAULT_WINDOW, Policy
from sash.core.tokens import TokenCount
from sash.errors import InvalidPolicy
from tests.core.test_policy import PRESETS


def test_an_unknown_model_gets_a_default_window_that_says_so() -> None:
    limits = limits_of(Policy())
    assert (limits.window, limits.window_known) == (DEFAULT_WINDOW, False)
    assert limits_of(Policy(), window=32_000).window_known
    assert limits_of(Policy(window=32_000), window=200_000).window == 32_000


def test_the_high_mark_is_the_trigger_share_less_the_allowance_or_the_history_cap() -> None:
    limits = limits_of(Policy(), window=200_000)
    assert (limits.reserve, limits.fixed, limits.high) == (20_000, 16_000, 100_000)
    assert (limits.low, limits.soft, limits.hard) == (50_000, 85_000, 180_000)
    assert limits_of(Policy(), window=128_000).high == int(0.8 * 115_200) - 16_000
    assert limits_of(Policy(history_tokens=0), window=200_000).high == 128_000


def test_a_model_with_short_answers_needs_a_smaller_reserve() -> None:
    assert limits_of(Policy(), window=200_000, max_output=8_000).reserve == 8_000
    assert limits_of(Policy(), window=200_000, max_output=64_000).reserve == 20_000


def test_what_a_model_does_not_read_of_its_window_is_left_free() -> None:
    limits = limits_of(Policy(), window=400_000, max_output=128_000, max_input=272_000)
    assert (limits.reserve, limits.reserve_by, limits.room) == (128_000, "max_input", 272_000)
    assert limits_of(Policy(reserve_tokens=150_000), window=400_000, max_input=272_000).reserve == 150_000
    # Whoever states a window states what the model reads.
    assert limits_of(Policy(window=400_000), window=400_000, max_input=272_000).reserve_by == "reserve_tokens"
    assert limits_of(Policy(), window=400_000, max_input=272_000, told=300_000).reserve_by == "reserve_tokens"


def test_an_answer_is_left_its_own_room_and_moves_the_marks_in_steps() -> None:
    asked = [limits_of(Policy(history_tokens=0), window=400_000, answer=answer) for answer in (200_000, 200_001)]
    assert [(limits.reserve, limits.reserve_by) for limits in asked] == [
        (200_000, "max_tokens"),
        (200_001, "max_tokens"),
    ]
    assert [limits.room for limits in asked] == [200_000, 199_999]
    assert asked[0].high == asked[1].high < 200_000 - asked[0].fixed
    assert limits_of(Policy(), window=400_000, answer=10**7).room == 0


def test_what_a_provider_told_is_the_window_where_it_is_less() -> None:
    assert limits_of(Policy(), told=50_000).window == 50_000
    assert limits_of(Policy(), window=128_000, told=50_000).window == 50_000
    assert limits_of(Policy(window=8_000), told=50_000).window == 8_000


def test_one_tool_more_does_not_move_the_marks_within_the_allowance() -> None:
    assert limits_of(Policy(), window=128_000, fixed=15_000) == limits_of(Policy(), window=128_000, fixed=0)


def test_above_the_allowance_the_marks_move_in_steps_of_a_tenth() -> None:
    allowances = {limits_of(Policy(), window=128_000, fixed=fixed).fixed for fixed in range(20_000, 40_000, 100)}
    steps = sorted(allowances)
    assert len(steps) <= 9
    assert all(1.09 < after / before < 1.11 for before, after in pairwise(steps))


@given(fixed=integers(16_001, 500_000))
def test_the_allowance_holds_what_is_fixed(fixed: int) -> None:
    assert fixed <= limits_of(Policy(), window=1_000_000, fixed=fixed).fixed <= fixed * 1.1 + 1


def test_a_fixed_part_larger_than_the_window_leaves_no_room_but_no_error() -> None:
    assert limits_of(Policy(), window=8_000, fixed=20_000).high == 0


def test_a_reserve_larger_than_the_models_window_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="reserve_tokens is 40000; it takes at most the model's window of 32,000"):
        limits_of(Policy(reserve_tokens=40_000), window=32_000)
    assert limits_of(Policy(reserve_tokens=32_000), window=32_000).hard == 0


def test_defaults_shrink_with_the_window_and_stated_sizes_do_not() -> None:
    small = limits_of(Policy(), window=8_000)
    assert small.high == 4_760
    assert (small.shorten_over, small.record_over) == (297, 1_190)
    assert (small.protect_results, small.worth) == (1_904, 476)
    assert (small.summary, small.facts, small.pins, small.step_digest) == (476, 476, 476, 476)
    assert limits_of(Policy(summary_tokens=3_000), window=8_000).summary == 3_000


@given(window=integers(1, 100))
def test_a_tiny_window_turns_no_rung_off(window: int) -> None:
    limits = limits_of(Policy(), window=window)
    assert min(limits.shorten_over, limits.record_over, limits.step_digest) >= 1


@given(window=integers(10, 2_000_000))
def test_a_share_of_two_sizes_gives_the_size_back(window: int) -> None:
    limits = limits_of(Policy.priority(window))
    assert (limits.high, limits.low) == (window * 30 // 100 + window * 10 // 100, window * 30 // 100)


def test_a_model_that_nobody_knows_has_the_default_window_of_the_policy() -> None:
    limits = limits_of(Policy(default_window=32_000))
    assert (limits.window, limits.window_known) == (32_000, False)
    assert limits_of(Policy(default_window=32_000), window=8_000).window == 8_000


def test_the_default_of_history_works_in_any_window() -> None:
    assert limits_of(Policy(window=8_000)).high < 8_000


def test_the_cap_of_sliding_is_its_own_also_for_an_unknown_model() -> None:
    assert limits_of(Policy.sliding()).high == 100_000
    assert limits_of(Policy.sliding(), window=32_000).high == 28_800


# The budget of a policy.


@given(
    policy=sampled_from(PRESETS),
    window=one_of(none(), integers(10, 2_000_000)),
    fixed=integers(0, 50_000),
)
def test_every_policy_has_a_budget_that_fits_its_window(policy: Policy, window: int | None, fixed: int) -> None:
    limits = limits_of(msgspec.structs.replace(policy, reserve_tokens=None), window=window, fixed=fixed)
    own = budget_of(policy, limits).allot(limits.window)
    assert sum(own.values()) <= limits.window
    assert own["reserve"] <= limits.reserve


def test_the_budget_of_the_default_policy_is_made_from_its_sizes() -> None:
    policy = Policy()
    own = budget_of(policy, limits_of(policy, window=200_000)).allot(200_000)
    assert own == {
        "system": 8_000,
        "tools": 8_000,
        "skills": 6_000,
        "knowledge": 6_000,
        "cross-thread": 4_000,
        "facts": 1_000,
        "summary": 8_000,
        "history": 100_000,
        "recalled": 0,
        "input": 4_000,
        "reserve": 20_000,
    }
    assert set(own) == set(SOURCES)


def test_recalled_turns_have_their_own_budget_where_they_are_on() -> None:
    policy = Policy.chat()
    assert budget_of(policy, limits_of(policy)).recalled == Allotment(tokens=2_000)


def test_a_stated_budget_gives_the_limits_that_the_policy_leaves_open() -> None:
    budget = Budget(
        system=Allotment(share=0.1),
        tools=Allotment(tokens=1_000),
        summary=Allotment(tokens=7_000),
        facts=Allotment(tokens=500),
        history=Allotment(share=0.3, ceiling=40_000),
        reserve=Allotment(share=0.25),
    )
    limits = limits_of(Policy(budget=budget), window=100_000)
    assert (limits.reserve, limits.fixed, limits.high) == (25_000, 11_000, 40_000)
    assert (limits.summary, limits.facts) == (7_000, 500)
    stated = limits_of(Policy(budget=budget, reserve_tokens=5_000, fixed_tokens=0, summary_tokens=1), window=100_000)
    assert (stated.reserve, stated.fixed, stated.summary) == (5_000, 0, 1)


def test_a_budget_that_says_nothing_leaves_the_defaults() -> None:
    limits = limits_of(Policy(budget=Budget(history=Allotment(share=0.5))), window=100_000)
    assert (limits.reserve, limits.summary, limits.facts) == (10_000, 4_000, 1_000)


def test_the_reserve_in_force_goes_before_the_budgets() -> None:
    policy = msgspec.structs.replace(Policy.priority(), reserve_tokens=8_000)
    assert budget_of(policy, limits_of(policy)).reserve == Allotment(tokens=8_000)


def test_before_its_first_slide_seed_001s_history_lives_on_the_summarys_share_too() -> None:
    policy = Policy.priority()
    limits = limits_of(policy)
    ledger = settle(budget_of(policy, limits), {"history": TokenCount(limits.high)}, limits.window)
    assert ledger.row("history").given == 80_000
    full = settle(
        budget_of(policy, limits),
        {name: TokenCount(200_000) for name in SOURCES if name in ("summary", "history", "skills", "knowledge")},
        limits.window,
    )
    assert (full.row("summary").given, full.row("history").given) == (34_000, 60_000)
