"""Turns of the window as they grow."""

from __future__ import annotations

from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message, Text
from sash.core.size import Size, size_of
from tests.builders import CHARS4, Call, assistant, lines, result, user, words


def turn_of(*said: Message) -> LiveTurn:
    turn = LiveTurn(1, "", [], [])
    for position, message in enumerate(said):
        turn.add(LiveMessage(position, message, size_of(message, CHARS4)), 1)
    return turn


def test_a_step_is_what_the_assistant_said_in_one_go_with_its_results() -> None:
    mark = Message(role="meta", blocks=(Text("a mark"),))
    turn = turn_of(user("go"), assistant("a"), mark, assistant("", Call("a")), result("a", "x"), assistant("b"))
    assert [[live.position for live in step] for step in turn.steps] == [[1, 2, 3, 4], [5]]
    assert [live.position for live in turn.opening] == [0]
    assert (turn.first().position, len(turn)) == (0, 6)


def test_its_title_is_read_when_somebody_asks() -> None:
    turn = LiveTurn(1, user("read it\nand tell me"))
    assert turn.title == turn.title == "read it"
    assert LiveTurn(2, "said before").title == "said before"


def test_digested_steps_are_not_in_the_window() -> None:
    turn = turn_of(user("go"), assistant("", Call("a")), result("a", "x"), assistant("b"))
    turn.digested = 1
    assert [live.position for live in turn.messages()] == [0, 3]


def test_unseen_are_the_results_after_the_assistants_last_word() -> None:
    turn = turn_of(user("go"), assistant("", Call("a")), result("a", "x"))
    assert [live.position for live in turn.unseen()] == [2]
    assert turn_of(user("go")).unseen() == []
    assert turn_of(user("go"), assistant("done")).unseen() == []


def test_a_turn_may_start_with_the_assistant() -> None:
    assert turn_of(assistant("hello")).first().position == 0


def test_a_copy_grows_by_itself() -> None:
    turn = turn_of(user("go"), assistant("", Call("a")))
    twin = turn.copy()
    twin.add(LiveMessage(2, result("a", "x"), Size(1)), 1)
    assert (len(turn), len(twin)) == (2, 3)


def test_parts_are_found_by_their_kind_oldest_first() -> None:
    turn = turn_of(user(words(500)), assistant(words(80), Call("a")), result("a", lines(20)))
    assert [(live.position, part.block) for live, part in turn.parts("text")] == [(1, 0)]
    assert [(live.position, part.block) for live, part in turn.parts("result")] == [(2, 0)]


def test_a_block_is_asked_for_whole() -> None:
    whole, short = result("a", lines(20)), result("a", "short")
    assert LiveMessage(0, short, Size(1), whole).block(0) is whole.blocks[0]
    assert LiveMessage(0, short, Size(1)).block(0) is short.blocks[0]
