"""For strict chat templates no role speaks twice in a row."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sash.core.message import Image, Message, Text, ToolCall, ToolResult
from sash.wire.alternate import alternated


def user(*words: str) -> Message:
    return Message(role="user", blocks=tuple(map(Text, words)))


def assistant(*words: str) -> Message:
    return Message(role="assistant", blocks=tuple(map(Text, words)))


@given(st.lists(st.builds(lambda make, word: make(word), st.sampled_from([user, assistant]), st.text(min_size=1))))
def test_roles_take_turns_and_no_word_is_lost(said: list[Message]) -> None:
    joined = alternated(said)
    assert all(one.role != other.role for one, other in pairwise(joined))
    assert "\n\n".join(message.text for message in joined) == "\n\n".join(message.text for message in said)


def test_what_is_not_twice_in_a_row_stays_the_same_object() -> None:
    said = [user("a"), assistant("b"), user("c")]
    assert all(one is other for one, other in zip(alternated(said), said, strict=True))


def test_pictures_stay_blocks_of_their_own() -> None:
    picture = Message(role="user", blocks=(Image("image/png", "eA=="),))
    assert alternated([user("look"), picture])[0].blocks == (Text("look"), *picture.blocks)


def test_calls_and_their_results_are_left_alone() -> None:
    calls = Message(role="assistant", blocks=(ToolCall("a", "f"),))
    result = Message(role="tool", blocks=(ToolResult("a"),))
    said = [calls, result, result, assistant("done")]
    assert alternated(said) == tuple(said)
    assert alternated([calls, assistant("more")]) == (calls, assistant("more"))
