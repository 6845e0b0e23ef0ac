"""How full the window is: seed 001's meter at its edges, in each of its forms."""

from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, integers

from sash.core.pressure import Marks, Pressure, ascii_bar, bar_of, pressure_of
from sash.core.tokens import TokenCount
from sash.errors import InvalidPolicy

WINDOW = 200_000


def at(percent: float, *, exact: bool = False) -> Pressure:
    return pressure_of(TokenCount(round(WINDOW * percent / 100), exact), WINDOW)


def footer_of_seed_001(session_tokens: int, context_window: int) -> str:
    """`formatContextPressure`, transcribed from the seed; it throws above 104 %."""
    percent = math.floor(Fraction(session_tokens, context_window) * 100 + Fraction(1, 2))
    if percent < 30:
        return ""
    assert percent < 105
    bar = "\u2588" * (percent // 5) + "\u2591" * (20 - percent // 5)
    warning = ""
    if percent > 80:
        warning = (
            "\n\u26a0\ufe0f Context is nearly full. Consider starting a new issue for fresh context, "
            "or I'll start compressing older conversation turns."
        )
    elif percent > 60:
        warning = "\n\u2139\ufe0f Older conversation turns are being summarized to preserve context quality."
    return f"\n\n<sub>\U0001f4ca Context: {bar} {percent}%{warning}</sub>"


@pytest.mark.parametrize(
    ("percent", "shown", "level", "cells"),
    [
        (0, 0, "none", 0),
        (29, 29, "none", 5),
        (29.49, 29, "none", 5),
        (29.5, 30, "shown", 6),  # the seed rounds first, and what is shown is what counts
        (30, 30, "shown", 6),
        (60, 60, "shown", 12),
        (60.4, 60, "shown", 12),
        (60.5, 61, "notice", 12),
        (80, 80, "notice", 16),
        (80.5, 81, "warning", 16),
        (99.9, 100, "warning", 20),
        (100, 100, "warning", 20),
        (140, 140, "warning", 20),
    ],
)
def test_the_level_and_the_bar_follow_the_share(percent: float, shown: int, level: str, cells: int) -> None:
    pressure = at(percent)
    assert (pressure.percent, pressure.level) == (shown, level)
    assert pressure.bar == "█" * cells + "░" * (20 - cells)


@given(used=integers(0, WINDOW), window=integers(WINDOW, 2 * WINDOW))
def test_the_footer_is_the_seeds_own(used: int, window: int) -> None:
    assert pressure_of(TokenCount(used), window).markdown(summarized=True) == footer_of_seed_001(used, window)


def test_nobody_is_told_of_summaries_where_nobody_writes_any() -> None:
    for percent in (48, 70, 90):
        for told in (at(percent).advice(), at(percent).markdown(), at(percent).terminal()):
            assert "summar" not in told
    assert at(70).advice() == "Older conversation turns leave the window as it fills."
    assert at(70).markdown().endswith("\nℹ️ Older conversation turns leave the window as it fills.</sub>")
    assert at(90).advice() == at(90).advice(summarized=True) != ""


def test_below_thirty_percent_no_footer_is_shown() -> None:
    assert at(29).markdown() == ""
    assert at(30).markdown() == "\n\n<sub>📊 Context: ██████░░░░░░░░░░░░░░ 30%</sub>"


def test_over_the_window_the_bar_stays_full_and_says_so() -> None:
    over = at(140)
    assert over.over
    assert over.share == 1.4
    assert over.line() == "████████████████████ 140 % (over the window) · ~280k / 200k"
    assert (
        "<sub>📊 Context: ████████████████████ 140% (over the window)\n⚠️ Context is more than full." in over.markdown()
    )


def test_a_window_that_is_exactly_full_is_not_over() -> None:
    assert not at(100).over
    assert at(100).line() == "████████████████████ 100 % · ~200k / 200k"


def test_one_token_too_many_is_over_although_it_rounds_to_a_hundred() -> None:
    line = pressure_of(TokenCount(WINDOW + 1), WINDOW).line()
    assert line == "████████████████████ 100 % (over the window) · 200k / 200k"


def test_an_estimate_keeps_its_tilde_and_a_count_has_none() -> None:
    assert at(48).line() == "█████████░░░░░░░░░░░ 48 % · ~96k / 200k"
    assert at(48, exact=True).line() == "█████████░░░░░░░░░░░ 48 % · 96k / 200k"


def test_a_terminal_gets_the_advice_below_the_line() -> None:
    assert at(48).terminal() == at(48).line()
    assert (
        at(70)
        .terminal(summarized=True)
        .endswith("\nℹ️ Older conversation turns are being summarized to preserve context quality.")
    )
    assert at(90).terminal().splitlines()[1].startswith("⚠️ Context is nearly full.")


@given(used=integers(0, 3 * WINDOW), exact=booleans())
def test_the_plain_form_is_ascii_throughout(used: int, exact: bool) -> None:
    assert pressure_of(TokenCount(used, exact), WINDOW).terminal(ascii_only=True).isascii()


def test_the_plain_form_says_the_same() -> None:
    assert at(48).terminal(ascii_only=True) == "[#########-----------] 48 % - ~96k / 200k"
    assert at(70).terminal(ascii_only=True).splitlines()[1].startswith("i Older conversation turns")
    assert at(90).terminal(ascii_only=True).splitlines()[1].startswith("! Context is nearly full.")
    assert ascii_bar(140) == "[####################]"


@given(percent=integers(0, 1_000))
def test_the_bar_always_has_twenty_cells(percent: int) -> None:
    assert len(bar_of(percent)) == 20
    assert bar_of(percent).count("█") == min(20, percent // 5)


def test_the_json_form_has_everything_a_program_needs() -> None:
    assert msgspec.json.decode(msgspec.json.encode(at(48))) == {
        "used": {"value": 96_000, "exact": False},
        "window": WINDOW,
        "share": 0.48,
        "percent": 48,
        "level": "shown",
        "over": False,
        "bar": "█████████░░░░░░░░░░░",
    }


def test_a_count_below_zero_is_an_empty_window() -> None:
    pressure = pressure_of(TokenCount(-5), WINDOW)
    assert (pressure.percent, pressure.share, pressure.bar) == (0, 0.0, "░" * 20)


def test_other_marks_move_the_levels() -> None:
    marks = Marks(show=0.07, notice=0.5, warn=0.5)
    assert pressure_of(TokenCount(7), 100, marks).level == "shown"
    assert pressure_of(TokenCount(6), 100, marks).level == "none"
    assert pressure_of(TokenCount(51), 100, marks).level == "warning"


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, True, "0.3", None])
@pytest.mark.parametrize("name", ["show", "notice", "warn"])
def test_a_mark_that_is_no_share_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidPolicy, match=name) as refused:
        Marks(**{name: value})  # type: ignore[arg-type]  # wrong on purpose
    assert refused.value.field == name


def test_a_warning_below_the_notice_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match=r"warn is 0\.5; it takes at least `notice`, which is 0\.6"):
        Marks(warn=0.5)


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="window is 0"):
        pressure_of(TokenCount(1), 0)
