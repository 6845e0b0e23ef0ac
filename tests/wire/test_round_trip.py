"""What is read can be written back: byte for byte, or equal as JSON once it was taken apart."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.message import identity
from sash.wire import prepare, read, replaced, write, write_fields
from tests.wire.strategies import FIELDS, HISTORIES, WIRES, bodies, spelled, spelled_bodies


def plain(text: bytes) -> Any:
    """JSON as values, numbers kept in their spelling."""
    return json.loads(text, parse_int=lambda n: f"#{n}", parse_float=lambda n: f"#{n}")


TOUCHED = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_what_was_read_is_written_byte_for_byte(wire: str, drawn: st.DataObject) -> None:
    body = drawn.draw(spelled_bodies(wire))
    assert write(read(body, wire)) == body


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_a_body_put_together_from_its_own_messages_says_the_same(wire: str, drawn: st.DataObject) -> None:
    body = drawn.draw(spelled_bodies(wire))
    conversation = read(body, wire)
    assert plain(write(replaced(conversation, messages=conversation.messages))) == plain(body)


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_each_message_is_written_from_its_own_bytes_where_nothing_needs_repair(wire: str, drawn: st.DataObject) -> None:
    body = drawn.draw(bodies(wire))
    conversation = read(spelled(body, Random(drawn.draw(st.integers(0, 999)))).encode(), wire)
    sent = prepare(conversation.messages, wire)
    assert sent.repairs == ()
    assert sent.messages == conversation.messages


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_a_message_whose_blocks_are_laid_over_it_again_says_the_same(wire: str, drawn: st.DataObject) -> None:
    conversation = read(drawn.draw(spelled_bodies(wire)), wire)
    laid = [message.edit(message.blocks) for message in conversation.messages]
    again = replaced(conversation, messages=laid)
    field = FIELDS[wire]
    before, after = plain(write(replaced(conversation, messages=conversation.messages))), plain(write(again))
    if isinstance(before[field], str):
        # An input that is a string becomes a message once somebody touched it.
        before[field] = [{"role": "user", "content": before[field]}]
    if wire == "openai-responses":
        for item in before[field]:
            if item.get("type", "message") in TOUCHED:
                # What somebody touched is no longer the item that the provider knows by that id.
                item.pop("id", None)
    assert after == before


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_sdk_shaped_objects_read_like_their_json(wire: str, drawn: st.DataObject) -> None:
    history = drawn.draw(HISTORIES[wire]())
    text = spelled(history, Random(drawn.draw(st.integers(0, 999))))
    plainly = json.loads(text, parse_int=str, parse_float=str)
    as_objects, as_text = read(plainly, wire), read(json.dumps(plainly), wire)
    assert list(map(identity, as_objects.messages)) == list(map(identity, as_text.messages))


def test_fields_that_are_empty_are_absent_from_a_request() -> None:
    conversation = read({"messages": [{"role": "user", "content": "hi"}]}, "anthropic")
    assert write_fields(conversation.messages, conversation.tools, "anthropic").keys() == {"messages"}


def test_emptied_fields_leave_the_body() -> None:
    body = {"system": "be kind", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    conversation = read(body, "anthropic")
    without = json.loads(write(replaced(conversation, messages=conversation.messages[1:])))
    assert without == {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}


def test_several_system_prompts_become_the_one_that_stands_apart() -> None:
    given = [
        {"role": "system", "content": "a"},
        {"role": "developer", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    sent = prepare(read(given, "openai-chat").messages, "anthropic")
    fields = write_fields(sent.messages, (), "anthropic")
    assert json.loads(fields["system"]) == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def test_a_single_message_is_read_alone() -> None:
    conversation = read({"role": "user", "content": "hi"}, "openai-chat")
    assert [message.text for message in conversation.messages] == ["hi"]
    assert json.loads(write(conversation)) == {"role": "user", "content": "hi"}
