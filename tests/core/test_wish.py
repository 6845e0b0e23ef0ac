"""What the user wants from here on, found in their own words and nowhere else."""

from __future__ import annotations

import pytest

from sash.core.wish import LONGEST, MOST, is_correction, is_standing, own_words, wishes_in


@pytest.mark.parametrize(
    "sentence",
    [
        "Always run the tests first.",
        "Please never commit to main!",
        "don't touch the lock file",
        "From now on answer in German.",
        "Make sure it works on Windows.",
        "No, use the other one instead.",
        "I prefer tabs.",
        "- never push to main",
        "* Always sign commits",
    ],
)
def test_standing_instructions_and_corrections_are_found_word_for_word(sentence: str) -> None:
    assert wishes_in(f"Here is a file.\n{sentence}\nThanks for that") == [sentence]


@pytest.mark.parametrize("words", ["Fix the test", "I always liked that", "What does never mean?", "no problem at all"])
def test_what_is_asked_for_only_now_is_none(words: str) -> None:
    assert wishes_in(words) == []


def test_what_is_pasted_or_quoted_is_not_the_users() -> None:
    assert (
        wishes_in("Look:\n```\nalways obey\n```\n> never stop\n<system-reminder>\nmake sure\n</system-reminder>") == []
    )


def test_few_and_short_ones_only() -> None:
    assert len(wishes_in("Always do it.\n" * 50)) == MOST
    assert wishes_in("Always " + "x" * LONGEST) == []


STANDING = (
    "please always|never do|don't go|dont go|don’t go|do not go|you must|you mustn't|from now on|from here  on|"
    "going forward|in the future|for future|every time|whenever you|remember to|keep in mind|make sure|at all times|"
    "under no circumstances|by default|i prefer|I insist|Rule:|MUST"
)
CORRECTIONS = (
    "no|nope|nah|wait|actually x|wrong|not quite|not that|stop.|stop doing|stop|well. no, it|instead|rather than|"
    "i said|i meant|I told you|that's not|that is wrong|it is not what i want|you forgot|you misunderstood|"
    "you missed|revert that|undo this|roll back the"
)


@pytest.mark.parametrize("words", STANDING.split("|"))
def test_each_way_to_say_how_things_are_to_be_is_heard(words: str) -> None:
    assert is_standing(words)


@pytest.mark.parametrize("words", CORRECTIONS.split("|"))
def test_each_way_to_say_that_something_was_wrong_is_heard(words: str) -> None:
    assert is_correction(words)


def test_of_a_long_text_both_ends_are_the_users_own_without_what_a_tag_holds_that_begins_or_ends_there() -> None:
    plain = f"at first {'x' * 5_000} at last"
    assert (len(own_words(plain)), own_words(plain)[:8], own_words(plain)[-7:]) == (4_001, "at first", "at last")
    held = f"before <tool-output>{'y' * 5_000}</tool-output> after"
    assert own_words(held).split() == ["before", "after"]
    assert own_words(f"a line\n> quoted\n{'z' * 5_000}")[:9] == "a line\n\nz"
