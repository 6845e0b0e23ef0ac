"""A number of tokens: what it adds up to, and how it is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis.strategies import booleans, builds, integers, lists

from sash.core.tokens import NO_TOKENS, TokenCount, short, total

COUNTS = builds(TokenCount, integers(0, 10**12), booleans())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (812, "812"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_049, "1.0k"),
        (1_050, "1.1k"),
        (9_400, "9.4k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (77_123, "77k"),
        (128_000, "128k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (999_950, "1.0M"),
        (1_000_000, "1.0M"),
        (1_050_000, "1.1M"),
        (1_200_000, "1.2M"),
        (9_949_999, "9.9M"),
        (9_950_000, "10M"),
        (999_499_999, "999M"),
        (12_345_678_901, "12,346M"),
        (-1_500, "-1.5k"),
    ],
)
def test_a_number_is_shown_short(value: int, shown: str) -> None:
    assert short(value) == shown


@given(integers(0, 10**9))
def test_what_is_shown_is_never_off_by_more_than_a_twentieth(value: int) -> None:
    shown = short(value).replace(",", "")
    unit = {"k": 1_000, "M": 1_000_000}.get(shown[-1], 1)
    said = float(shown.rstrip("kM")) * unit
    assert abs(said - value) <= value * 0.05
    assert len(shown) <= 4 or value >= 999_500_000


@given(integers(0, 10**9), integers(0, 10**9))
def test_the_larger_number_never_shows_as_the_smaller(one: int, other: int) -> None:
    def said(value: int) -> float:
        shown = short(value).replace(",", "")
        return float(shown.rstrip("kM")) * {"k": 1_000, "M": 1_000_000}.get(shown[-1], 1)

    smaller, larger = sorted((one, other))
    assert said(smaller) <= said(larger)


def test_an_estimate_is_marked_wherever_it_is_shown() -> None:
    assert str(TokenCount(77_123)) == "77k"
    assert str(TokenCount(77_123, exact=False)) == "~77k"
    assert TokenCount(77_123).full == "77,123"
    assert TokenCount(77_123, exact=False).full == "~77,123"


@given(lists(COUNTS, max_size=20))
def test_a_sum_is_exact_only_if_every_part_is(counts: list[TokenCount]) -> None:
    added = NO_TOKENS
    for count in counts:
        added += count
    assert added == total(counts)
    assert added.value == sum(count.value for count in counts)
    assert added.exact == all(count.exact for count in counts)


@given(COUNTS, COUNTS)
def test_what_was_added_can_be_taken_away(one: TokenCount, other: TokenCount) -> None:
    assert (one + other - other).value == one.value
    assert (one - other).exact == (one.exact and other.exact)


def test_a_count_is_a_number_where_one_is_asked_for_and_lines_up_in_tables() -> None:
    assert int(TokenCount(812, exact=False)) == 812
    assert f"{TokenCount(77_123, exact=False):>6}|" == "  ~77k|"


def test_counts_are_never_mixed_with_bare_numbers() -> None:
    with pytest.raises(TypeError):
        TokenCount(1) + 1  # type: ignore[operator]  # what must fail
    with pytest.raises(TypeError):
        TokenCount(1) - 1  # type: ignore[operator]  # what must fail


def test_a_corrected_count_is_an_estimate_and_rounded_up() -> None:
    assert TokenCount(100).scaled(1.001) == TokenCount(101, exact=False)
    assert TokenCount(0).scaled(1.3) == TokenCount(0, exact=False)
