"""Turns: from a message the user wrote up to the next one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.message import Image, Message, Text, ToolCall, ToolResult, by_sash
from sash.core.turn import SYSTEM, Grouping, group, title_of
from sash.wire import read
from tests.wire.strategies import WIRES, broken_messages


def user(text: str = "hi") -> Message:
    return Message(role="user", blocks=(Text(text),))


def says(*calls: str, text: str = "yes") -> Message:
    return Message(role="assistant", blocks=(Text(text), *(ToolCall(name, "f") for name in calls)))


def result(*calls: str, beside: str = "") -> Message:
    words = (Text(beside),) if beside else ()
    return Message(role="user", blocks=(*(ToolResult(name) for name in calls), *words))


SYS, MARK = Message(role="system", blocks=(Text("s"),)), Message(role="meta")


def shape(*messages: Message) -> list[tuple[int, str, tuple[int, ...], list[tuple[int, ...]]]]:
    return [(turn.number, turn.state, turn.opening, [step.messages for step in turn.steps]) for turn in group(messages)]


def test_a_picture_alone_is_something_the_user_wrote_and_a_result_alone_is_not() -> None:
    shown = Message(role="user", blocks=(Image(),))
    assert [turn.messages for turn in group([user(), says("a"), result("a"), shown, result("lost")])] == [
        (0, 1, 2),
        (3, 4),
    ]


def test_a_turn_starts_at_what_the_user_wrote() -> None:
    assert shape(user(), says(), user(), says()) == [(1, "complete", (0,), [(1,)]), (2, "complete", (2,), [(3,)])]


def test_a_message_with_a_result_of_an_open_call_starts_none_whatever_else_it_carries() -> None:
    assert shape(user(), says("a"), result("a", beside="and hurry"), says()) == [(1, "complete", (0,), [(1, 2), (3,)])]


def test_words_beside_a_result_that_nobody_waits_for_start_a_turn() -> None:
    assert [turn[0] for turn in shape(user(), says(), result("a", beside="x"))] == [1, 2]


def test_parallel_calls_and_their_results_are_one_step() -> None:
    assert shape(user(), says("a", "b"), result("b"), result("a"), says()) == [(1, "complete", (0,), [(1, 2, 3), (4,)])]


def test_words_said_while_calls_are_open_start_their_turn_after_the_results() -> None:
    turns = shape(user(), says("a"), user("wait"), result("a"), says())
    assert turns == [(1, "interrupted", (0,), [(1, 3)]), (2, "complete", (2,), [(4,)])]


def test_a_result_that_comes_after_the_model_went_on_does_not_count() -> None:
    turns = shape(user(), says("a"), user(), says(), result("a"))
    assert turns == [(1, "interrupted", (0,), [(1,)]), (2, "open", (2,), [(3, 4)])]


def test_states_follow_the_last_word() -> None:
    assert [turn[1] for turn in shape(user())] == ["open"]
    assert [turn[1] for turn in shape(user(), says("a"))] == ["open"]
    assert [turn[1] for turn in shape(user(), says("a"), result("a"))] == ["open"]
    assert [turn[1] for turn in shape(user(), says("a"), result("a"), user())] == ["interrupted", "open"]
    assert [turn[1] for turn in shape(user(), says("a"), user())] == ["open", "open"]
    assert [turn[1] for turn in shape(user(), user(), says())] == ["interrupted", "complete"]


def test_marks_belong_to_their_turn_and_change_nothing() -> None:
    assert shape(user(), says(), MARK, user()) == [(1, "complete", (0,), [(1, 2)]), (2, "open", (3,), [])]
    assert shape(user(), says("a"), MARK, says(), result("a"))[0][3] == [(1, 2, 3, 4)]


def test_system_and_developer_messages_before_the_user_are_the_system_source() -> None:
    grouping = Grouping()
    places = [grouping.add(m).turn for m in (SYS, Message(role="developer", blocks=(Text("d"),)), user(), SYS)]
    assert (places, grouping.system, len(grouping)) == ([SYSTEM, SYSTEM, 1, 1], [0, 1], 4)


def test_other_preamble_is_turn_zero() -> None:
    assert shape(says(text="welcome"), SYS, user()) == [(0, "complete", (), [(0,)]), (1, "open", (2,), [])]
    assert shape(MARK)[0][:3] == (0, "open", (0,))


def test_words_of_sash_start_no_turn() -> None:
    assert [turn[0] for turn in shape(user(by_sash("a digest")), user(), says())] == [0, 1]


def test_an_empty_log_has_no_turns() -> None:
    assert group(()) == ()


def test_a_request_may_follow_the_user_and_the_last_result_of_a_step() -> None:
    grouping = Grouping()
    log = (user(), says("a", "b"), result("a"), result("b"), says(), MARK, user(), says("c"), user(), result("c"))
    points = [grouping.add(message).request_point for message in log]
    assert points == [True, False, False, True, False, False, True, False, False, True]
    assert not grouping.calls_open


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n  Fix it\nplease", "Fix it"),
        ("x" * 40, "x" * 40),
        ("x" * 40 + " \nmore", "x" * 40),
        ("x" * 41, "x" * 39 + "…"),
        ("x" * 38 + " yy", "x" * 38 + "…"),
        ("", ""),
        (" " * 2000 + "x", "x"),
    ],
)
def test_a_title_is_the_first_line_cut_at_40_and_marked_where_it_is_cut(text: str, title: str) -> None:
    assert title_of(user(text)) == title


def test_a_title_is_taken_from_the_first_words() -> None:
    assert title_of(Message(role="user", blocks=(ToolResult("a"), Text(" "), Text("go")))) == "go"


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_turns_hold_the_whole_log_once_and_grow_one_message_at_a_time(wire: str, drawn: st.DataObject) -> None:
    log = read(drawn.draw(broken_messages(wire)), wire).messages
    grouping = Grouping()
    for length, message in enumerate(log, start=1):
        placed = grouping.add(message)
        turns = grouping.turns()
        assert turns == group(log[:length])
        holder = [turn for turn in turns if length - 1 in turn.messages]
        assert [turn.number for turn in holder] == ([] if placed.turn == SYSTEM else [placed.turn])
        assert placed.starts == (bool(holder) and holder[0].opening[:1] == (length - 1,) and placed.turn > 0)
        assert not (placed.request_point and grouping.calls_open)
    turns = grouping.turns()
    numbers = [turn.number for turn in turns]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else not turns
    placed_once = [*grouping.system, *(position for turn in turns for position in turn.messages)]
    assert sorted(placed_once) == list(range(len(log)))
    for turn in turns:
        assert list(turn.messages) == sorted(turn.messages)
