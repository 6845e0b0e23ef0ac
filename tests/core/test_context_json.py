"""Seed 001's `context.json`: read as it is, refused by the field's name."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists

from sash.core.budget import Budget
from sash.core.context_json import PERCENTAGES, read_context_json
from sash.core.limits import limits_of
from sash.core.policy import Policy
from sash.core.pressure import Marks
from sash.errors import InvalidPolicy

THE_SEEDS_OWN = b"""{
  "totalTokens": 200000,
  "allocations": {
    "systemPrompt": 5,
    "skills": 3,
    "knowledgeBase": 3,
    "crossIssue": 2,
    "sessionSummary": 10,
    "sessionRecent": 30,
    "currentPrompt": 2,
    "reservedForResponse": 45
  },
  "compressionThreshold": 0.6,
  "showPressureAbove": 0.3,
  "useLLMSummarization": false
}"""


def changed(**fields: object) -> bytes:
    return json.dumps({**json.loads(THE_SEEDS_OWN), **fields}).encode()


def allocated(**percentages: object) -> bytes:
    return changed(allocations={**PERCENTAGES, **percentages})


def test_the_seeds_own_file_says_what_the_seed_says() -> None:
    settings = read_context_json(THE_SEEDS_OWN)
    assert settings.budget == Budget.priority()
    assert settings.pressure == Marks(show=0.3, notice=0.6, warn=0.8)
    assert not settings.summarize
    policy = settings.policy
    assert (policy.window, policy.reserve_tokens, policy.trigger_share) == (200_000, 90_000, 0.6)
    assert (policy.history_tokens, policy.summary_tokens) == (80_000, 20_000)


def test_but_for_the_trigger_it_is_the_priority_preset() -> None:
    assert read_context_json(changed(compressionThreshold=1)).policy == Policy.priority()
    limits = limits_of(read_context_json(changed(compressionThreshold=1)).policy)
    assert (limits.high, limits.low) == (80_000, 60_000)


def test_what_the_file_leaves_out_is_the_seeds_default() -> None:
    assert read_context_json(b"{}") == read_context_json(THE_SEEDS_OWN)


def test_a_byte_order_mark_is_no_part_of_it() -> None:
    assert read_context_json(b"\xef\xbb\xbf" + THE_SEEDS_OWN) == read_context_json(THE_SEEDS_OWN)


@given(cuts=lists(integers(0, 100), min_size=7, max_size=7), window=integers(1_000, 2_000_000))
def test_each_source_gets_what_the_seeds_arithmetic_gives_it(cuts: list[int], window: int) -> None:
    """`calculateBudgets`: `Math.floor(totalTokens * pct / 100)`."""
    edges = [0, *sorted(cuts), 100]
    percentages = dict(zip(PERCENTAGES, (b - a for a, b in pairwise(edges)), strict=True))
    if not percentages["sessionRecent"]:
        return
    settings = read_context_json(json.dumps({"totalTokens": window, "allocations": percentages}).encode())
    own = settings.budget.allot(window)
    ours = ("system", "skills", "knowledge", "cross-thread", "summary", "history", "input", "reserve")
    assert [own[name] for name in ours] == [window * percent // 100 for percent in percentages.values()]  # type: ignore[index]  # the names are sources


def test_other_numbers_are_taken_as_they_are() -> None:
    settings = read_context_json(
        changed(totalTokens=1_000_000, compressionThreshold=0.5, showPressureAbove=0, useLLMSummarization=True)
    )
    assert settings.policy.window == 1_000_000
    assert settings.policy.trigger_share == 0.5
    assert settings.pressure.show == 0
    assert settings.summarize


def test_percentages_may_have_fractions() -> None:
    settings = read_context_json(allocated(systemPrompt=5, knowledgeBase=2.5, crossIssue=2.5))
    assert settings.budget.allot(200_000)["knowledge"] == 5_000


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (b"", "context.json"),
        (b"{", "context.json"),
        (b'{"totalTokens": NaN}', "context.json"),
        (b'{"totalTokens": "\xff"}', "context.json"),
        (b"[]", "context.json"),
        (changed(totalToken=5), "totalToken"),
        (changed(totalTokens=0), "totalTokens"),
        (changed(totalTokens=-1), "totalTokens"),
        (changed(totalTokens=1.5), "totalTokens"),
        (changed(totalTokens=10**9), "totalTokens"),
        (changed(totalTokens="200000"), "totalTokens"),
        (changed(allocations=5), "allocations"),
        (changed(allocations={}), "allocations"),
        (allocated(sessionRecent=31), "allocations"),
        (allocated(sessionRecent=29), "allocations"),
        (allocated(weather=5), "allocations.weather"),
        (allocated(skills=-3), "allocations.skills"),
        (allocated(skills=101), "allocations.skills"),
        (allocated(skills=True), "allocations.skills"),
        (allocated(skills="3"), "allocations.skills"),
        (allocated(sessionRecent=0, reservedForResponse=75), "allocations.sessionRecent"),
        (changed(compressionThreshold=0), "compressionThreshold"),
        (changed(compressionThreshold=60), "compressionThreshold"),
        (changed(showPressureAbove=-0.3), "showPressureAbove"),
        (changed(showPressureAbove=None), "showPressureAbove"),
        (changed(useLLMSummarization=1), "useLLMSummarization"),
    ],
)
def test_a_file_that_cannot_be_followed_is_refused_by_the_fields_name(text: bytes, field: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        read_context_json(text)
    assert refused.value.field == field
