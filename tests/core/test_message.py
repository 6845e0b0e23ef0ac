"""Messages: values that never change, and what makes two of them the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult, by_sash, identity
from sash.wire import read
from tests.wire.strategies import ODD_TEXT, WIRES, spelled_bodies


def one(message: Any, wire: str = "anthropic") -> bytes:
    return identity(read([message], wire).messages[0])


CACHE = {"cache_control": {"type": "ephemeral"}}


@given(text=ODD_TEXT)
def test_a_string_and_a_single_text_block_are_the_same(text: str) -> None:
    plain, block = (
        {"role": "user", "content": text},
        {"role": "user", "content": [{"type": "text", "text": text, **CACHE}]},
    )
    assert one(plain) == one(block) == one(block | CACHE)
    assert one(plain, "openai-chat") == one(block, "openai-chat")
    item = {"role": "user", "content": [{"type": "input_text", "text": text}]}
    assert one(plain, "openai-responses") == one(item, "openai-responses")


def test_breakpoints_and_blocks_inside_results_make_no_difference() -> None:
    def result(content: Any, **more: Any) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content, **more}]}

    assert one(result("x")) == one(result([{"type": "text", "text": "x", **CACHE}], **CACHE))
    assert one(result("x")) != one(result("y"))


@pytest.mark.parametrize(
    "other",
    [
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": "y"},
        {"role": "user", "content": "x", "name": "bob"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "x"}]},
        {"role": "user", "content": [{"type": "text", "text": "x", "citations": []}]},
        {"role": "user", "content": [{"type": "odd", "text": "x"}]},
        {"role": "user", "content": []},
    ],
)
def test_anything_else_makes_another_message(other: dict[str, Any]) -> None:
    assert one(other) != one({"role": "user", "content": "x"})


def test_arguments_of_a_call_are_not_looked_into() -> None:
    def call(arguments: Any) -> bytes:
        return one({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": arguments}]})

    assert call({"content": "x"}) != call({"content": [{"type": "text", "text": "x"}]})
    assert call({"n": 1}) != call({"n": "1"})
    assert call({"cache_control": 1}) != call({})


def test_numbers_are_told_apart_by_their_spelling() -> None:
    spellings = ["1", "1.0", "1e400", "1e401", "-0", "0", '"1"', "9" * 5_000]
    sources = [f'[{{"role":"user","content":"x","n":{number}}}]' for number in spellings]
    assert len({identity(read(source, "openai-chat").messages[0]) for source in sources}) == len(spellings)


def test_system_prompts_and_inputs_without_a_message_around_them_have_an_identity() -> None:
    said = read({"system": "x", "messages": []}, "anthropic").messages[0]
    blocks = read({"system": [{"type": "text", "text": "x", **CACHE}], "messages": []}, "anthropic").messages[0]
    assert identity(said) == identity(blocks)
    asked = read({"input": "x"}, "openai-responses").messages[0]
    assert identity(asked) == one({"role": "user", "content": "x"}, "openai-responses") != identity(said)


def test_blocks_that_are_no_objects_have_an_identity() -> None:
    message = Message(
        role="user", wire="x", source=b'{"content":[1],"output":[{"content":[{"content":[{"content":[]}]}]}]}'
    )
    assert len(identity(message)) == 16


def test_an_edited_message_is_another_one() -> None:
    message = read([{"role": "user", "content": "x"}], "openai-chat").messages[0]
    edited = message.edit((Text("y"),))
    assert (edited.text, edited.edited, message.text) == ("y", True, "x")
    assert len({identity(message), identity(edited), identity(Message(role="user", blocks=(Text("x"),)))}) == 3


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_every_message_has_an_identity_that_survives_another_encoder(wire: str, drawn: st.DataObject) -> None:
    body = drawn.draw(spelled_bodies(wire))
    respelled = json.dumps(json.loads(body, parse_int=str, parse_float=str))
    for ours, theirs in zip(read(body, wire).messages, read(respelled, wire).messages, strict=True):
        # Numbers are text in the other spelling, so only messages without any must agree.
        if not any(char in b"0123456789" for char in ours.source):
            assert identity(ours) == identity(theirs)


def test_calls_and_results_are_found_in_opaque_blocks_too() -> None:
    blocks = (
        Text("x"),
        ToolCall("a", "f"),
        Opaque("k", b"{}", opens="b"),
        ToolResult("c"),
        Opaque("k", b"{}", closes="d"),
        Thinking(),
    )
    message = Message(role="assistant", blocks=blocks)
    assert (message.opened(), message.closed(), message.text) == (["a", "b"], ["c", "d"], "x")


def test_words_of_sash_are_known_when_they_come_back() -> None:
    ours = Text(by_sash("a note"))
    assert Message(role="user", blocks=(ours,)).written_by_sash
    assert not Message(role="user", blocks=(ours, Text("and mine"))).written_by_sash
    assert not Message(role="user", blocks=(ours, ToolResult("a"))).written_by_sash
    assert not Message(role="user").written_by_sash


def test_all_that_a_model_reads_is_one_text_and_lines_of_arguments_are_lines() -> None:
    call, given = ToolCall("a", "run", '{"a": "x\\ny"}'), ToolResult("a", (Text("z"), Image()))
    said = Message(role="assistant", blocks=(Text("words"), Thinking("hidden"), call, given))
    assert said.whole_text == 'words\n{"a": "x\ny"}\nz'
