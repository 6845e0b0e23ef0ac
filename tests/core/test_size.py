"""How large a message is, and what of it could be made smaller."""

from __future__ import annotations

import pytest

from sash.core.message import Document, Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from sash.core.size import SMALL, Part, Size, size_of
from sash.counters import counter_for
from tests.builders import CHARS4, PIXEL, Script, words


def test_a_size_is_what_the_counter_says_of_the_whole_message() -> None:
    for name in ("chars4", "bytes4", "estimate:claude"):
        counter = counter_for(counter=name).counter
        for message in Script("anthropic").user("hi", image=PIXEL).step("a", words(90), text=words(90)).messages():
            size = size_of(message, counter)
            assert (size.tokens, size.exact) == (counter.message(message).value, counter.message(message).exact)
            assert size.body == len(message.source)


def test_parts_are_what_is_large_and_not_the_users_own_words() -> None:
    long = Text(words(SMALL + 1))
    assert size_of(Message(role="user", blocks=(long,)), CHARS4).parts == ()
    blocks = (long, Text("short"), ToolCall("a", "read", f'"{words(99)}"'), ToolCall("b", "read"))
    parts = size_of(Message(role="assistant", blocks=blocks), CHARS4).parts
    assert [(part.block, part.kind) for part in parts] == [(0, "text"), (2, "arguments")]
    results = (ToolResult("a", (long,)), ToolResult("b", (Text("short"),)), Opaque("x", b"x" * 999))
    assert size_of(Message(role="tool", blocks=results), CHARS4).parts == (Part(0, "result", SMALL + 1),)


def test_pictures_and_thinking_are_parts_whatever_their_size() -> None:
    blocks = (Image("image/png", PIXEL), Document("text/plain", "x"), Thinking("hm"))
    parts = size_of(Message(role="user", blocks=blocks), CHARS4).parts
    assert [part.kind for part in parts] == ["picture", "picture", "thinking"]


@pytest.mark.parametrize(
    ("blocks", "signed"),
    [((Thinking("hm"),), False), ((Thinking("hm", "p"), Thinking("hm")), True), ((Text("a"),), False)],
)
def test_a_message_is_signed_when_any_of_its_thinking_is(blocks: tuple[Thinking | Text, ...], signed: bool) -> None:
    assert size_of(Message(role="assistant", blocks=blocks), CHARS4).signed is signed


def test_a_message_that_says_nothing_takes_what_stands_around_it() -> None:
    assert size_of(Message(role="user"), CHARS4) == Size(0, exact=False)
