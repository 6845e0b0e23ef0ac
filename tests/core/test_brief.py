"""Spoken words in brief: what was told stays, what goes without saying goes."""

from __future__ import annotations

from sash.core.brief import MOST, REACH, in_brief
from sash.core.departed import departed_turn
from sash.core.digest import Digest
from sash.core.told import Room, digest_text
from tests.builders import assistant, user
from tests.core.test_digest import turn_of


def test_of_a_long_text_the_beginning_is_told() -> None:
    assert in_brief("The lighthouse stands in Ravenna. " + "So it is. " * 100_000).startswith("lighthouse stands")
    assert in_brief("so " * REACH + "The lighthouse stands in Ravenna.") == ""


def test_what_tells_something_stays_and_the_rest_goes() -> None:
    said = "Wow, that's great! I went to the support group in Berlin yesterday. How are you? So nice."
    assert in_brief(said) == "went support group Berlin yesterday"
    assert in_brief("Thanks! You too.") == ""


def test_who_says_it_and_the_date_stay() -> None:
    assert in_brief("(8 May) Anna: I adopted two kittens.") == "(8 May) Anna: adopted two kittens"
    assert in_brief("Anna: Yeah!") == ""


def test_it_stays_short() -> None:
    assert len(in_brief("telling words " * 100)) <= MOST
    assert in_brief("telling words. " * 100) == in_brief("telling words. " * 1_000)


def test_a_long_exchange_of_words_is_told_in_brief_and_a_short_one_as_it_was() -> None:
    digest = Digest()
    long = f"I moved to Lisbon in March. {'It was really so very nice of them all. ' * 6}"
    digest.take([departed_turn(turn_of(1, user(long), assistant("Oh, that's great! Did you take the piano?")), {})])
    digest.take([departed_turn(turn_of(2, user("Yes, I did."), assistant("Good.")), {})])
    digest.take([departed_turn(turn_of(3, user("really? " * 40), assistant("so so")), {})])
    assert digest.turns[0] == "- turn 1: moved Lisbon March"
    assert digest.turns[1] == "- turn 2: Yes, I did. -> Good."
    assert digest.turns[2].startswith("- turn 3: really?")


def test_where_names_leave_room_more_turns_are_told_of() -> None:
    digest = Digest()
    for number in range(1, 41):
        digest.take([departed_turn(turn_of(number, user(f"We saw film {number}"), assistant("ok")), {})])
    told = digest_text(digest, "digest", Room(1_600, len)).split("\n")
    at = told.index("Turns before those:")
    assert told[at - 1] == "- turn 40: We saw film 40 -> ok"
    assert told[at + 1 :]
    assert told[-1].startswith("- turn ")
