"""Policies: every knob refused by its name when it is wrong, and the sizes that follow for a model."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis.strategies import integers, none, one_of, sampled_from

from sash.core.budget import SOURCES, Allotment, Budget, settle
from sash.core.cost import OPENAI
from sash.core.policy import DEFAULT_WINDOW, ModelLimits, Policy, budget_of, limits_of, policy_from
from sash.core.tokens import TokenCount
from sash.errors import InvalidPolicy

PRESETS = [
    Policy(),
    Policy.sliding(),
    Policy.priority(),
    Policy.threshold(),
    Policy.recent(),
    Policy.chat(),
]
SIZES = [
    "window",
    "default_window",
    "reserve_tokens",
    "fixed_tokens",
    "history_tokens",
    "min_turns",
    "min_messages",
    "recent_turns",
    "shorten_over_tokens",
    "protect_results_tokens",
    "worth_tokens",
    "record_over_tokens",
    "summary_tokens",
    "summary_min_turns",
    "facts_tokens",
    "pin_tokens",
    "carry_tokens",
    "recall_tokens",
    "step_digest_tokens",
    "body_bytes",
    "max_chars",
]
AT_LEAST_ONE = ["window", "default_window", "min_turns", "body_bytes", "max_chars"]
SHARES = ["trigger_share", "keep_share", "soft_share"]
SWITCHES = ["adaptive", "keep_first", "alternate", "breakpoints", "flat"]
CHOICES = ["order", "check", "replace"]
OTHERS = ["cache_seconds", "counter", "budget", "prices", "models"]
PARTS = [
    "reserve_tokens",
    "fixed_tokens",
    "history_tokens",
    "summary_tokens",
    "facts_tokens",
    "pin_tokens",
    "carry_tokens",
    "recall_tokens",
    "step_digest_tokens",
]


def refused(**fields: object) -> InvalidPolicy:
    with pytest.raises(InvalidPolicy) as caught:
        policy_from(fields)
    return caught.value


def test_these_tests_know_every_field() -> None:
    assert sorted(Policy.__struct_fields__) == sorted([*SIZES, *SHARES, *SWITCHES, *CHOICES, *OTHERS])


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [-1, 1.5, 8_000.0, 1e9, math.nan, math.inf, True, "8000", [1], 10**13])
def test_a_size_that_is_no_whole_number_is_refused_by_name(name: str, value: object) -> None:
    error = refused(**{name: value})
    assert error.field == name
    assert str(error).startswith(f"{name} is {value!r}; it takes a whole number from ")


@pytest.mark.parametrize("name", [name for name in SIZES if name != "body_bytes"])
def test_a_billion_is_a_slip_of_the_keyboard(name: str) -> None:
    assert refused(**{name: 10**9}).field == name


@pytest.mark.parametrize("name", AT_LEAST_ONE)
def test_nothing_is_too_little_where_something_must_be(name: str) -> None:
    assert refused(**{name: 0}).field == name


@pytest.mark.parametrize("name", [name for name in SIZES if name not in AT_LEAST_ONE])
def test_zero_turns_a_size_off(name: str) -> None:
    assert getattr(policy_from({name: 0}), name) == 0


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("value", [0, -0.1, 1.1, 60, math.nan, math.inf, True, "0.8", None])
def test_a_share_outside_its_bounds_is_refused_by_name(name: str, value: object) -> None:
    assert refused(**{name: value}).field == name


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_a_switch_is_true_or_false(name: str, value: object) -> None:
    assert str(refused(**{name: value})) == f"{name} is {value!r}; it takes true or false"


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["newest", "", 5, None])
def test_a_choice_is_one_of_its_words(name: str, value: object) -> None:
    error = refused(**{name: value})
    assert error.field == name
    assert "one of '" in str(error)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache_seconds", -1),
        ("cache_seconds", math.nan),
        ("cache_seconds", math.inf),
        ("cache_seconds", True),
        ("cache_seconds", "300"),
        ("counter", 4),
        ("counter", None),
        ("budget", 5),
        ("prices", 5),
        ("prices", {"read": 0.1}),
        ("prices", {"read": -1, "write": 1}),
        ("models", "gpt-5"),
        ("models", ("gpt-5", 400_000)),
    ],
)
def test_other_values_are_refused_by_name_too(name: str, value: object) -> None:
    assert refused(**{name: value}).field == name


@pytest.mark.parametrize("name", PARTS)
def test_a_part_larger_than_its_window_is_refused_by_name(name: str) -> None:
    assert str(refused(window=8_000, **{name: 8_001})) == f"{name} is 8001; it takes at most the window of 8,000"
    assert getattr(policy_from({"window": 8_000, name: 8_000}), name) == 8_000


def test_the_default_of_history_works_in_any_window() -> None:
    assert limits_of(Policy(window=8_000)).high < 8_000


def test_a_policy_refuses_a_budget_that_its_window_cannot_hold() -> None:
    budget = Budget(history=Allotment(tokens=9_000))
    assert policy_from({"budget": budget}).budget == budget
    assert refused(window=8_000, budget=budget).field == "budget"


def test_a_policy_with_changes_is_the_same_policy_otherwise() -> None:
    changed = policy_from({"history_tokens": 30_000, "budget": {"history": {"share": 0.4}}}, Policy.chat())
    assert changed == Policy(recall_tokens=2_000, history_tokens=30_000, budget=Budget(history=Allotment(share=0.4)))
    assert policy_from({}, Policy.recent()) == Policy.recent()


def test_a_policy_states_the_windows_of_single_models() -> None:
    table = {"mine": 40_960, "yours": {"window": 200_000, "max_output": 8_000, "max_input": 150_000}}
    stated = policy_from({"models": table}).models
    assert stated == (
        ModelLimits(model="mine", window=40_960),
        ModelLimits(model="yours", window=200_000, max_output=8_000, max_input=150_000),
    )
    assert policy_from({}, Policy(models=stated)).models == stated


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"mine": "large"}, "models.mine"),
        ({"mine": {"windows": 1}}, "models.mine"),
        ({"mine": 0}, "models.mine.window"),
        ({"mine": {"window": 8, "max_output": 0}}, "models.mine.max_output"),
        ({"mine": {"window": 8, "max_input": 9}}, "models.mine.max_input"),
        ({"": 8}, "models"),
    ],
)
def test_what_no_model_can_have_is_refused_by_name(table: dict[str, object], field: str) -> None:
    assert refused(models=table).field == field


def test_a_model_that_nobody_knows_has_the_default_window_of_the_policy() -> None:
    limits = limits_of(Policy(default_window=32_000))
    assert (limits.window, limits.window_known) == (32_000, False)
    assert limits_of(Policy(default_window=32_000), window=8_000).window == 8_000


def test_a_policy_is_read_from_a_table_with_its_budget() -> None:
    table = {"history_tokens": 30_000, "budget": {"history": {"share": 0.4}}}
    assert policy_from(table) == Policy(history_tokens=30_000, budget=Budget(history=Allotment(share=0.4)))
    assert refused(budget={"history": {"share": 2}}).field == "budget.history.share"
    assert policy_from({"prices": {"read": 0.1, "write": 1}}).prices == OPENAI


def test_the_cap_of_sliding_is_its_own_also_for_an_unknown_model() -> None:
    assert limits_of(Policy.sliding()).high == 100_000
    assert limits_of(Policy.sliding(), window=32_000).high == 28_800


def test_an_unknown_field_is_refused_with_the_nearest_name() -> None:
    assert "did you mean 'history_tokens'?" in str(refused(histroy_tokens=5))
    error = refused(zzz=5)
    assert error.field == "zzz"
    assert "its fields are window, default_window, " in str(error)


@pytest.mark.parametrize("policy", PRESETS)
def test_a_policy_survives_json(policy: Policy) -> None:
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy


def test_a_changed_copy_is_checked_like_a_new_one() -> None:
    with pytest.raises(InvalidPolicy, match="min_turns"):
        msgspec.structs.replace(Policy(), min_turns=0)


# The sizes for a model.


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


@pytest.mark.parametrize("window", [0, 9, -5, 1.5, True, "200000"])
def test_a_window_too_small_to_be_divided_is_refused(window: object) -> None:
    with pytest.raises(InvalidPolicy, match="window"):
        Policy.priority(window)  # type: ignore[arg-type]  # wrong on purpose


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
