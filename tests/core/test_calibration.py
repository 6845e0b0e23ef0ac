"""Estimates corrected by what the provider reported."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.calibration import (
    ABSURD_TOKENS,
    FACTOR_STEP,
    RATIO_BOUNDS,
    RATIO_STEP,
    Calibration,
    Factor,
    Report,
    believable,
    learn,
    observe,
    refused,
    slid,
)

KNOWN = Calibration(model="m")


def report(context: int | None, messages: int, *, fixed: int = 2_000, model: str = "m", frame: int = 0) -> Report:
    return Report(context=context, messages=messages, fixed=fixed, model=model, frame=frame)


def after(*reports: Report, start: Calibration = KNOWN) -> Calibration:
    for each in reports:
        start = observe(start, each)
    return start


REPORTS = st.builds(
    report,
    st.one_of(st.none(), st.integers(-5, 5), st.integers(0, 10**7)),
    st.integers(0, 10**6),
    fixed=st.integers(0, 30_000),
    model=st.sampled_from(["m", "n"]),
    frame=st.integers(0, 3),
)


def test_before_any_report_the_estimate_stands() -> None:
    assert KNOWN.messages(1_234) == 1_234


def test_after_a_report_only_what_was_said_since_is_estimated() -> None:
    known = after(report(12_500, 10_000))
    assert known.messages(10_000) == 10_500
    assert known.messages(10_100) == 10_600


def test_adding_the_fixed_part_again_gives_the_reported_total_however_wrong_its_estimate() -> None:
    known = after(report(19_000, 10_000, fixed=2_000))
    assert known.messages(10_000) + 2_000 == 19_000


def test_growth_that_is_larger_than_estimated_raises_the_ratio() -> None:
    known = after(report(12_000, 10_000), report(15_600, 13_000))
    assert known.ratio == pytest.approx((3_000 + 3_600) / (3_000 + 3_000))
    assert known.messages(14_000) == 13_600 + 1_100


def test_the_first_report_teaches_no_ratio_since_it_is_mostly_system_prompt_and_tools() -> None:
    assert after(report(30_000, 10_000)).ratio == 1.0


def test_one_report_moves_the_ratio_by_a_bounded_step() -> None:
    known = after(report(12_000, 10_000), report(312_000, 210_000))
    assert known.ratio == pytest.approx(1 + RATIO_STEP)


def test_the_ratio_stays_clamped_however_many_reports_agree() -> None:
    reports = [report(2_000 + 19 * size, 10 * size) for size in range(1_000, 40_000, 1_000)]
    assert after(*reports).ratio == RATIO_BOUNDS[1]


def test_a_growth_that_holds_what_the_log_does_not_teaches_nothing_but_is_the_new_size() -> None:
    known = after(report(12_000, 10_000), report(15_000, 10_500))
    assert known.ratio == 1.0
    assert known.messages(10_500) == 13_000


@pytest.mark.parametrize(
    "second",
    [report(11_000, 10_500), report(12_500, 9_000), report(13_000, 11_000, fixed=3_000)],
    ids=["the context shrank", "the log shrank", "a tool came"],
)
def test_what_is_no_growth_of_the_messages_alone_teaches_no_ratio(second: Report) -> None:
    known = after(report(12_000, 10_000), second)
    assert known.ratio == 1.0
    assert known.last == second


@pytest.mark.parametrize("context", [None, 0, -5, 10**9, 1])
def test_a_report_that_cannot_be_true_changes_nothing(context: int | None) -> None:
    known = after(report(102_000, 100_000), report(104_400, 102_000))
    assert observe(known, report(context, 1_000_000)) == known


def test_a_small_request_with_a_large_unseen_part_is_still_believed() -> None:
    assert believable(report(ABSURD_TOKENS // 2, 10, fixed=0))


def test_a_report_from_before_the_last_slide_is_ignored() -> None:
    known = slid(after(report(102_000, 100_000)), frame=1)
    assert observe(known, report(104_000, 102_000, frame=0)) == known


def test_after_a_slide_the_ratio_alone_is_left() -> None:
    known = slid(after(report(12_000, 10_000), report(15_600, 13_000)), frame=1)
    assert known.last is None
    assert known.messages(1_000) == 1_100


def test_a_report_of_a_newer_frame_is_itself_the_news_of_the_slide() -> None:
    known = after(report(102_000, 100_000), report(42_000, 40_000, frame=1))
    assert (known.frame, known.ratio, known.messages(40_000)) == (1, 1.0, 40_000)


def test_another_model_starts_anew() -> None:
    known = after(report(12_000, 10_000), report(15_600, 13_000), report(18_000, 15_000, model="n"))
    assert (known.model, known.ratio) == ("n", 1.0)
    assert known.messages(15_000) == 16_000


def test_a_request_that_lost_messages_without_a_slide_never_counts_below_nothing() -> None:
    assert after(report(2_100, 10_000)).messages(0) == 0


@given(reports=st.lists(REPORTS, max_size=20), estimate=st.integers(0, 10**6))
def test_no_reports_whatsoever_lead_out_of_bounds(reports: list[Report], estimate: int) -> None:
    known = KNOWN
    for each in reports:
        before, known = known, observe(known, each)
        assert RATIO_BOUNDS[0] <= known.ratio <= RATIO_BOUNDS[1]
        assert before.model != known.model or abs(known.ratio - before.ratio) <= RATIO_STEP + 1e-9
        assert known.frame >= before.frame
    assert known.messages(estimate) >= 0
    assert known.messages(estimate + 1) >= known.messages(estimate)


@given(reports=st.lists(REPORTS, max_size=12), cut=st.integers(0, 12))
def test_replaying_from_a_kept_state_gives_the_same_state(reports: list[Report], cut: int) -> None:
    assert after(*reports[cut:], start=after(*reports[:cut])) == after(*reports)


@given(times=st.floats(0.7, 1.6))
def test_a_steady_tokenizer_is_learned_exactly_enough(times: float) -> None:
    reports = [report(2_000 + int(times * size), size) for size in range(1_000, 400_000, 4_000)]
    known = after(*reports)
    assert known.messages(500_000) == pytest.approx(times * 500_000, rel=0.01)
    assert slid(known, frame=1).messages(100_000) == pytest.approx(times * 100_000, rel=0.02)


def test_the_factor_moves_in_steps_of_a_tenth_and_one_at_a_time() -> None:
    factor, seen = Factor(), [1.0]
    for _ in range(20):
        factor = learn(factor, report(2_000 + 13_000, 10_000))
        seen.append(factor.value)
    assert seen[-1] == 1.3
    assert {round(later - earlier, 1) for earlier, later in pairwise(seen)} == {0.0, 0.1}


def test_a_ratio_near_a_step_does_not_move_the_factor() -> None:
    factor = Factor()
    for _ in range(50):
        factor = learn(factor, report(2_000 + 10_700, 10_000))
    assert factor.value == 1.0


def test_old_reports_fade_from_the_factor() -> None:
    factor = Factor(value=1.3, reported=2_600_000, estimated=2_000_000)
    for _ in range(60):
        factor = learn(factor, report(102_000, 100_000))
    assert factor.value == 1.0


@pytest.mark.parametrize("useless", [report(None, 10_000), report(0, 10_000), report(2_000, 0)])
def test_a_report_that_says_nothing_leaves_the_factor(useless: Report) -> None:
    assert learn(Factor(), useless) == Factor()


@given(reports=st.lists(REPORTS, max_size=20))
def test_the_factor_is_always_a_tenth_within_bounds(reports: list[Report]) -> None:
    factor = Factor()
    for each in reports:
        factor = learn(factor, each)
        assert RATIO_BOUNDS[0] <= factor.value <= RATIO_BOUNDS[1]
        assert factor.value == pytest.approx(round(factor.value / FACTOR_STEP) * FACTOR_STEP)


def test_a_refusal_raises_the_ratio_at_once_and_never_lowers_it() -> None:
    learned = refused(KNOWN, report(16_000, 10_000, frame=3))
    assert learned.ratio == pytest.approx(1.4)
    assert refused(learned, report(12_500, 10_000)) == learned
    assert refused(KNOWN, report(60_000, 10_000)).ratio == RATIO_BOUNDS[1]
    assert refused(KNOWN, report(16_000, 10_000, model="other")).model == "other"


@pytest.mark.parametrize("useless", [report(None, 10_000), report(16_000, 0), report(10**7, 10_000)])
def test_a_refusal_that_cannot_be_true_leaves_the_ratio(useless: Report) -> None:
    assert refused(KNOWN, useless) == KNOWN


def test_reports_go_on_from_what_a_refusal_taught() -> None:
    learned = refused(KNOWN, report(16_000, 10_000))
    later = after(report(16_000, 10_000), report(30_000, 20_000), start=learned)
    assert learned.ratio - RATIO_STEP <= later.ratio <= learned.ratio + RATIO_STEP
