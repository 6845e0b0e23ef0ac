"""What requests cost when a provider caches prompts."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.cost import (
    ANTHROPIC,
    HIGHEST_KEEP,
    LOWEST_KEEP,
    NO_CACHE,
    OPENAI,
    OPENAI_HALF,
    Charge,
    Piece,
    Prices,
    account,
    best_keep_share,
    charge,
    shared_prefix,
)
from sash.errors import InvalidPolicy


def request(names: str, tokens: int = 10) -> list[Piece]:
    """A request of one message per letter."""
    return [Piece(name.encode(), tokens) for name in names]


def test_the_first_request_is_written_whole() -> None:
    assert charge(None, request("ab"), fixed=5) == Charge(written=25)


def test_a_request_that_grew_reads_all_of_the_one_before() -> None:
    assert charge(request("ab"), request("abc"), fixed=5) == Charge(read=25, written=10)


def test_all_behind_the_first_difference_is_written_again() -> None:
    assert charge(request("abcd"), request("acd"), fixed=5) == Charge(read=15, written=20)


def test_system_prompt_and_tools_survive_any_slide() -> None:
    assert charge(request("ab"), request("cd"), fixed=5) == Charge(read=5, written=20)


def test_a_cold_cache_is_written_anew() -> None:
    assert charge(request("ab"), request("abc"), fixed=5, cold=True) == Charge(written=35)


def test_what_is_too_small_to_be_cached_is_fresh() -> None:
    assert charge(request("ab"), request("abc"), smallest=31) == Charge(fresh=30)
    assert charge(request("ab"), request("abc"), smallest=30) == Charge(written=30)
    assert charge(request("ab"), request("abc"), smallest=20) == Charge(read=20, written=10)


def test_a_charge_is_priced_by_how_its_tokens_were_paid_for() -> None:
    paid = Charge(read=1000, written=100, fresh=10)
    assert paid.cost(ANTHROPIC) == pytest.approx(100 + 125 + 10)
    assert paid.cost(OPENAI) == pytest.approx(100 + 100 + 10)
    assert paid.cost(OPENAI_HALF) == pytest.approx(500 + 100 + 10)
    assert paid.cost(NO_CACHE) == paid.tokens == 1110
    assert paid.cached_share == pytest.approx(1000 / 1110)
    assert Charge().cached_share == 0


def test_a_run_of_requests_adds_up() -> None:
    run = account([request("a"), request("ab"), request("abc"), request("bc"), request("bcd")])
    assert run.charge == Charge(read=10 + 20 + 0 + 20, written=10 + 10 + 10 + 20 + 10)
    assert (run.requests, run.breaks) == (5, 1)
    assert run.average == 22
    assert run.cached_share == pytest.approx(50 / 110)
    assert run.cost(ANTHROPIC) == pytest.approx(5 + 75)


def test_small_first_requests_are_fresh_and_add_up_too() -> None:
    run = account([request("a"), request("ab"), request("abc")], smallest=25)
    assert run.charge == Charge(written=30, fresh=30)


def test_no_requests_cost_nothing() -> None:
    run = account([])
    assert (run.average, run.cached_share, run.cost(ANTHROPIC)) == (0, 0, 0)


def test_a_request_cut_at_its_end_breaks_the_cache_too() -> None:
    # The next one will not find what was cut: it is no longer a prefix of anything.
    assert account([request("abc"), request("ab")]).breaks == 1


@given(before=st.text("abc", max_size=8), after=st.text("abc", max_size=8))
def test_every_token_is_paid_for_exactly_once(before: str, after: str) -> None:
    assert charge(request(before), request(after), fixed=3).tokens == 3 + 10 * len(after)
    alike = shared_prefix(request(before), request(after))
    assert before[:alike] == after[:alike]
    assert before[alike : alike + 1] != after[alike : alike + 1] or alike == len(before) == len(after)


@pytest.mark.parametrize("name", ["read", "write", "fresh"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, True, "0.1", None])
def test_a_price_that_cannot_be_is_refused_by_name(name: str, value: Any) -> None:
    prices: dict[str, Any] = {"read": 0.1, "write": 1.0, "fresh": 1.0, name: value}
    with pytest.raises(InvalidPolicy, match=f"{name} is "):
        Prices(read=prices["read"], write=prices["write"], fresh=prices["fresh"])


@pytest.mark.parametrize(("prices", "share"), [(ANTHROPIC, 0.53), (OPENAI, 0.59), (OPENAI_HALF, 0.86)])
def test_the_best_low_mark_is_what_was_measured_for_each_providers_prices(prices: Prices, share: float) -> None:
    assert best_keep_share(prices, growth=970, high=100_000) == pytest.approx(share, abs=0.01)


def test_without_a_cache_there_is_nothing_to_break() -> None:
    assert best_keep_share(NO_CACHE, growth=1_000, high=100_000) == 1.0


def test_the_best_low_mark_stays_within_what_a_model_can_live_with() -> None:
    assert best_keep_share(ANTHROPIC, growth=50_000, high=100_000) == LOWEST_KEEP
    assert best_keep_share(ANTHROPIC, growth=0, high=100_000) == HIGHEST_KEEP
    assert best_keep_share(ANTHROPIC, growth=-5, high=100_000) == HIGHEST_KEEP
    assert best_keep_share(Prices(read=0, write=1), growth=1, high=100_000) == LOWEST_KEEP
    assert best_keep_share(ANTHROPIC, growth=1, high=0) == LOWEST_KEEP


def cost_of_a_thread(keep: float, prices: Prices, *, growth: int, high: int) -> float:
    """A long thread that adds so much at each request and slides from the high mark to the share of it, simulated."""
    low, first, requests = int(high * keep), 0, []
    for end in range(1, 1_501):
        if (end - first) * growth > high:
            first = end - low // growth
        requests.append([Piece(b"%d" % name, growth) for name in range(first, end)])
    run = account(requests)
    # At equal average context: what a lower mark forgets is no saving.
    return run.cost(prices) / run.charge.tokens


@pytest.mark.parametrize("prices", [ANTHROPIC, OPENAI, OPENAI_HALF])
def test_the_best_low_mark_is_cheaper_than_marks_near_the_top(prices: Prices) -> None:
    best = best_keep_share(prices, growth=1_000, high=100_000)
    ours = cost_of_a_thread(best, prices, growth=1_000, high=100_000)
    assert ours < cost_of_a_thread((1 + best) / 2, prices, growth=1_000, high=100_000)
    assert ours < 0.7 * cost_of_a_thread(1.0, prices, growth=1_000, high=100_000)
