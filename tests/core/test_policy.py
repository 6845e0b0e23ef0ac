"""Policies: every knob refused by its name when it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec
import pytest

import sash
from sash.core.budget import Allotment, Budget
from sash.core.cost import OPENAI
from sash.core.model_limits import ModelLimits
from sash.core.policy import Policy, policy_from
from sash.core.policy_fields import PolicyFields
from sash.errors import InvalidPolicy, UnknownCounter

ANY: Any = sash
"""The library, to somebody without a type checker."""

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


@pytest.mark.parametrize("name", ["abacus", "exact:", "abacus:llama3"])
def test_a_counter_that_there_is_not_is_refused_when_the_policy_is_made(name: str) -> None:
    with pytest.raises(UnknownCounter, match="use one of exact"):
        Policy(counter=name)


@pytest.mark.parametrize(
    "name", ["", "exact", "exact:llama3", "hf:FILE", "estimate:qwen", "remote:anthropic", "chars4"]
)
def test_a_counter_is_named_alone_or_with_what_it_counts_by(name: str) -> None:
    assert Policy(counter=name).counter == name


@pytest.mark.parametrize("name", PARTS)
def test_a_part_larger_than_its_window_is_refused_by_name(name: str) -> None:
    assert str(refused(window=8_000, **{name: 8_001})) == f"{name} is 8001; it takes at most the window of 8,000"
    assert getattr(policy_from({"window": 8_000, name: 8_000}), name) == 8_000


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


def test_a_policy_is_read_from_a_table_with_its_budget() -> None:
    table = {"history_tokens": 30_000, "budget": {"history": {"share": 0.4}}}
    assert policy_from(table) == Policy(history_tokens=30_000, budget=Budget(history=Allotment(share=0.4)))
    assert refused(budget={"history": {"share": 2}}).field == "budget.history.share"
    assert policy_from({"prices": {"read": 0.1, "write": 1}}).prices == OPENAI


def test_an_unknown_field_is_refused_with_the_nearest_name() -> None:
    assert "did you mean 'history_tokens'?" in str(refused(histroy_tokens=5))
    error = refused(zzz=5)
    assert error.field == "zzz"
    assert "its fields are window, default_window, " in str(error)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: ANY.Policy(histroy_tokens=1), "sash.Policy has no such field; did you mean 'history_tokens'?"),
        (lambda: ANY.Policy.chat(keepshare=0.5), "sash.Policy has no such field; did you mean 'keep_share'?"),
        (lambda: ANY.Budget(histroy=Allotment()), "sash.Budget has no such field; did you mean 'history'?"),
        (lambda: ANY.Allotment(shares=0.5), "sash.Allotment has no such field; did you mean 'share'?"),
        (lambda: ANY.Prices(zzz=1), "sash.Prices has no such field: its fields are read, write, fresh, smallest"),
        (lambda: ANY.ModelLimits(windw=1), "sash.ModelLimits has no such field; did you mean 'window'?"),
    ],
)
def test_a_field_that_a_value_has_not_is_refused_with_the_nearest_name(made: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        made()
    assert str(caught.value).endswith(f"; it takes no value, for {said}")


@pytest.mark.parametrize("name", ["", 3, None])
def test_limits_are_those_of_a_named_model(name: object) -> None:
    with pytest.raises(InvalidPolicy, match="it takes the name of a model"):
        ANY.ModelLimits(model=name, window=8)


CHANGED: list[tuple[Callable[..., Policy], dict[str, object]]] = [
    (Policy.sliding, {"history_tokens": 5_000, "min_turns": 3}),
    (Policy.priority, {"window": 50_000, "order": "oldest"}),
    (Policy.threshold, {"window": 50_000, "counter": "exact:llama3"}),
    (Policy.recent, {"recent_turns": 3, "max_chars": 900}),
    (Policy.chat, {"history_tokens": 4_000, "budget": Budget(skills=Allotment(tokens=500))}),
]


@pytest.mark.parametrize(("preset", "changes"), CHANGED)
def test_a_preset_takes_changes_to_its_fields(preset: Callable[..., Policy], changes: dict[str, object]) -> None:
    changed = preset(**changes)
    assert {name: getattr(changed, name) for name in changes} == changes


@pytest.mark.parametrize("preset", [preset for preset, _ in CHANGED])
def test_a_change_that_cannot_be_is_refused_as_a_policy_refuses_it(preset: Callable[..., Policy]) -> None:
    with pytest.raises(InvalidPolicy, match="min_turns is 0; it takes a whole number"):
        preset(min_turns=0)


def test_a_preset_computes_its_sizes_from_the_window_that_it_is_given() -> None:
    assert Policy.priority(window=50_000) == Policy.priority(50_000)
    assert Policy.priority(window=50_000).reserve_tokens == 22_500
    assert Policy.sliding(history_tokens=5_000) == Policy.sliding(5_000)


def test_a_type_checker_sees_the_fields_that_a_policy_has() -> None:
    assert get_type_hints(PolicyFields) == {name: get_type_hints(Policy)[name] for name in Policy.__struct_fields__}


@pytest.mark.parametrize("policy", PRESETS)
def test_a_policy_survives_json(policy: Policy) -> None:
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy


def test_a_changed_copy_is_checked_like_a_new_one() -> None:
    with pytest.raises(InvalidPolicy, match="min_turns"):
        msgspec.structs.replace(Policy(), min_turns=0)


@pytest.mark.parametrize("window", [0, 9, -5, 1.5, True, "200000"])
def test_a_window_too_small_to_be_divided_is_refused(window: object) -> None:
    with pytest.raises(InvalidPolicy, match="window"):
        Policy.priority(window)  # type: ignore[arg-type]  # wrong on purpose
