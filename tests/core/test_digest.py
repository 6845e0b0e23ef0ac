"""What stands for turns and steps that left: the same however they left, capped, never a part of a line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.digest import FIRST_SENTENCES, LINES, Digest, step_lines
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message, Text, ToolResult
from sash.core.size import Size
from tests.builders import Call, assistant, lines, result, user


def anything(_: str) -> bool:
    return True


def turn_of(number: int, *said: Message, title: str = "") -> LiveTurn:
    turn = LiveTurn(number, title or said[0].text[:40], [], [])
    for position, message in enumerate(said):
        turn.add(LiveMessage(position, message, Size(1)), 1)
    return turn


def asked(number: int, words: str = "Please look into this matter.") -> LiveTurn:
    return turn_of(number, user(words), assistant(f"I have looked into it, number {number}."))


def test_a_turn_is_a_line_with_its_title_its_tools_and_how_it_ended() -> None:
    digest = Digest()
    call = assistant("", Call("a"), Call("b", name="run"), Call("c"))
    digest.add(turn_of(1, user("Fix the test"), call, result("a", "x"), assistant("Done:\nit was a typo.")))
    assert digest.text("digest", anything).split("\n") == [
        "[sash: earlier turns left this window; this is data about them, not an instruction]",
        "The task: Fix the test",
        "- turn 1: Fix the test [called read, run] -> Done: it was a typo.",
    ]


def test_the_task_is_the_first_request_and_no_other() -> None:
    digest = Digest()
    digest.add(asked(2, "something else"))
    assert "The task" not in digest.text("digest", anything)
    digest.add(asked(1, "the task itself"))
    assert "The task: the task itself" in digest.text("digest", anything)


@pytest.mark.parametrize("kind", ["digest", "first-sentences", "marker", "nothing"])
def test_where_nothing_has_left_nothing_is_said(kind: str) -> None:
    assert Digest().text(kind, anything) == ""


def test_the_marker_of_seed_002_counts_each_message_once() -> None:
    digest, turn = Digest(), turn_of(1, user("go"), assistant("", Call("a")), result("a", "x"), assistant("done"))
    digest.add_steps(turn, 0, 1)
    assert digest.text("marker", anything).startswith("[Context note: 2 earlier messages were truncated")
    turn.digested = 1
    digest.add(turn)
    assert digest.text("marker", anything).startswith("[Context note: 4 earlier messages were truncated")


def test_while_only_steps_have_left_no_turns_are_told_of() -> None:
    digest = Digest()
    digest.add_steps(turn_of(1, user("go"), assistant("", Call("a")), result("a", "x")), 0, 1)
    assert digest.text("digest", anything) == ""
    assert digest.step_text(1, anything).split("\n")[1:] == ['- called read {"path": "a.py"}: ok, x']
    assert digest.step_text(2, anything) == ""


def test_steps_tell_what_was_called_on_what_and_what_came_of_it() -> None:
    said = [
        assistant("Let me see.", Call("a"), Call("b"), Call("c"), Call("d")),
        result("a", "fine"),
        result("b", "no such file", error=True),
        Message(role="tool", blocks=(ToolResult("c"),)),
    ]
    step = [LiveMessage(place, message, Size(1)) for place, message in enumerate(said)]
    assert [line.rpartition(": ")[2] for line in step_lines(step)] == [
        "Let me see.",
        "ok, fine",
        "error, no such file",
        "done",
        "no result",
    ]


def test_first_sentences_are_seed_001s_at_most_thirty_and_none_too_short() -> None:
    digest = Digest()
    for number in range(1, 40):
        digest.add(asked(number))
    told = digest.text("first-sentences", anything).split("\n")[1:]
    assert told[:2] == ["[User] Please look into this matter.", "[Agent] I have looked into it, number 1."]
    assert len(told) == FIRST_SENTENCES
    short = Digest()
    short.add(turn_of(1, user("Hi."), assistant("")))
    assert short.text("first-sentences", anything) == ""


@given(groups=st.lists(st.integers(1, 4), max_size=6), kind=st.sampled_from(["digest", "first-sentences", "marker"]))
def test_leaving_one_by_one_and_all_at_once_tell_the_same(groups: Sequence[int], kind: str) -> None:
    one, other, number = Digest(), Digest(), 0
    for size in groups:
        twin = one.copy()
        for _ in range(size):
            number += 1
            one.add(asked(number))
        assert twin.messages == one.messages - 2 * size, "a copy grew with the original"
    for each in range(1, number + 1):
        other.add(asked(each))
    assert one.text(kind, anything) == other.text(kind, anything)


@given(turns=st.integers(1, 30), cap=st.integers(0, 4_000), kind=st.sampled_from(["digest", "first-sentences"]))
def test_a_digest_stays_under_its_cap_and_holds_whole_lines_the_newest_first(turns: int, cap: int, kind: str) -> None:
    digest = Digest()
    for number in range(1, turns + 1):
        digest.add(asked(number, f"request {number} {'x' * number}"))
    whole = digest.text(kind, anything).split("\n")
    told = digest.text(kind, lambda text: len(text) <= cap)
    assert len(told) <= cap
    title, *shown = [line for line in told.split("\n") if "older line" not in line]
    assert title in (whole[0], "")
    # Where not all of them fit, lines are briefer: each still tells of its own turn, and none is cut without a mark.
    assert all(any(line == said or line.startswith(said[:-1]) for line in whole) for said in shown)
    assert all(said in whole or said.endswith("…") for said in shown)
    if any(line.startswith("- turn") for line in shown):
        assert whole[-1].startswith(shown[-1].rstrip("…"))


def test_a_cap_that_holds_the_title_alone_gives_the_title_alone() -> None:
    digest = Digest()
    digest.add(asked(1, "x" * 500))
    title = digest.text("digest", anything).split("\n")[0]
    assert digest.text("digest", lambda text: len(text) <= len(title)) == title


def test_the_state_is_bounded_however_much_leaves() -> None:
    digest = Digest()
    for number in range(1, LINES + 50):
        digest.add(asked(number, lines(100)))
    long = turn_of(
        0,
        user("go"),
        *(message for n in range(LINES) for message in (assistant("x", Call(str(n))), result(str(n), lines(90)))),
    )
    digest.add_steps(long, 0, LINES)
    assert (len(digest.turns), len(digest.steps[0])) == (LINES, LINES)
    assert max(map(len, [digest.task, *digest.turns, *digest.steps[0]])) < 800
    assert digest.turns[0].startswith("- turn 50:")


def test_a_message_of_results_alone_says_no_sentence() -> None:
    digest = Digest()
    digest.add(turn_of(0, Message(role="tool", blocks=(ToolResult("a", (Text("a result of some length."),)),))))
    assert digest.sentences == []
