"""What a provider teaches by refusing a request as too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.limits import limits_of
from sash.core.policy import Policy
from sash.core.refusal import Lesson, Refusal, lesson_of


def lesson(sent: int = 12_900, window: int = 128_000, *, known: bool = False, **told: int) -> Lesson:
    return lesson_of(Refusal(**told), sent=sent, window=window, known=known)


def test_what_the_model_takes_is_learned_from_its_own_words() -> None:
    assert lesson(tokens=13_100, limit=4_096) == Lesson(window=4_096, context=13_100)
    assert lesson(limit=4_096) == Lesson(window=4_096, context=4_096)


def test_a_limit_that_is_known_already_says_that_we_count_too_little() -> None:
    assert lesson(sent=110_000, tokens=130_000, limit=128_000) == Lesson(context=130_000)
    assert lesson(sent=110_000, limit=128_000) == Lesson(context=128_000)


def test_room_for_the_answer_is_learned_where_it_was_counted() -> None:
    assert lesson(sent=5_100, window=8_192, tokens=5_000, limit=8_192, answer=4_000) == Lesson(
        answer=4_000, context=5_000
    )
    assert lesson(limit=4_096, answer=5_000) == Lesson(window=4_096, answer=5_000)


@pytest.mark.parametrize("nonsense", [Refusal(limit=16), Refusal(limit=0), Refusal(tokens=90), Refusal(tokens=0)])
def test_numbers_that_cannot_be_meant_are_not_believed(nonsense: Refusal) -> None:
    learned = lesson_of(nonsense, sent=12_900, window=128_000, known=False)
    assert learned == Lesson(window=12_900)


def test_nothing_that_fits_is_refused_so_it_was_not_that_number() -> None:
    assert lesson(tokens=90, limit=4_096) == lesson(limit=4_096)


def test_of_a_provider_that_tells_only_what_it_read_the_model_takes_less_than_that() -> None:
    assert lesson(tokens=14_000) == Lesson(window=14_000, context=14_000)
    assert lesson(window=10_000, tokens=14_000) == Lesson(context=14_000)


def test_of_a_provider_that_tells_nothing_a_known_window_says_how_it_counts() -> None:
    assert lesson(sent=110_000, known=True) == Lesson(context=128_000)
    assert lesson(sent=110_000, known=True, answer=200_000) == Lesson(answer=200_000)


def test_of_a_provider_that_tells_nothing_the_window_is_below_what_was_sent() -> None:
    assert lesson() == Lesson(window=12_900)
    assert lesson(sent=20_000, known=True) == Lesson(window=20_000)
    assert lesson(sent=100) == Lesson()


NUMBERS = st.one_of(st.none(), st.integers(0, 10**7))


@given(
    told=st.builds(Refusal, tokens=NUMBERS, limit=NUMBERS, answer=NUMBERS),
    sent=st.integers(0, 10**6),
    window=st.integers(1, 10**6),
    known=st.booleans(),
)
def test_a_lesson_never_makes_the_window_larger(told: Refusal, sent: int, window: int, known: bool) -> None:
    learned = lesson_of(told, sent=sent, window=window, known=known)
    assert 0 <= learned.window < window
    assert learned.context is None or learned.context > 0


def test_what_the_provider_told_goes_before_what_anybody_said_where_it_is_less() -> None:
    stated = Policy(window=8_000, reserve_tokens=5_000)
    limits = limits_of(stated, told=4_096)
    assert (limits.window, limits.reserve, limits.window_known) == (4_096, 2_048, True)
    assert limits_of(stated, told=9_000).window == 8_000
    assert limits_of(Policy(), told=4_096).window == 4_096
