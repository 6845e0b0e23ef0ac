"""Values of the wrong kind, told in the words of JSON."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from sash.errors import InvalidMessage
from sash.wire import read, read_tools
from sash.wire.kinds import wrong_kind


class Named(msgspec.Struct):
    """Something with a name."""

    name: str


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (list[int], b'"x"', "must be a list, and is text"),
        (str | list[int] | None, b"5", "must be text, a list or null, and is a whole number"),
        (bool, b"{}", "must be true or false, and is an object"),
        (Annotated[int, msgspec.Meta(ge=1)], b"0", "must be a whole number >= 1"),
        (Named, b"{}", "must have a field 'name'"),
        (Annotated[str, msgspec.Meta(pattern="a+")], b'"b"', "must be text matching regex 'a+'"),
    ],
)
def test_what_the_decoder_says_is_told_in_words(kind: Any, given: bytes, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refusal:
        msgspec.json.decode(given, type=kind)
    assert wrong_kind(str(refusal.value)) == said


def test_another_sentence_stays_as_it_is() -> None:
    assert wrong_kind("Invalid enum value 'x'") == "Invalid enum value 'x'"


@pytest.mark.parametrize(("wire", "wanted"), [("openai-chat", "a list"), ("openai-responses", "text or a list")])
def test_messages_of_the_wrong_kind_are_told_by_their_field(wire: str, wanted: str) -> None:
    field = "input" if wire == "openai-responses" else "messages"
    with pytest.raises(InvalidMessage, match=f"^{field}: must be {wanted}, and is true or false$"):
        read({field: True}, wire)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_text_stands_for_a_message_only_where_the_provider_takes_it(wire: str) -> None:
    with pytest.raises(InvalidMessage, match=r"^messages: must be a list, and is text$"):
        read({"messages": "x"}, wire)
    (message,) = read({"input": "x"}, "openai-responses").messages
    assert message.text == "x"


def test_tools_of_the_wrong_kind_are_told_by_their_field() -> None:
    with pytest.raises(InvalidMessage, match=r"^tools: must be a list, and is text$"):
        read_tools(b'"x"', "openai-chat")
