"""A model asks for what was shortened or has left, on every wire; what it asks wrongly it is told."""

from __future__ import annotations

import json

import pytest

import sash
from sash.errors import InvalidMessage
from tests.builders import WIRES, Call, Script, lines
from tests.thread.speaking import opened, say


@pytest.mark.parametrize("wire", WIRES)
def test_the_tools_are_written_as_the_wire_takes_them(wire: str) -> None:
    thread = opened(wire=wire, tools=sash.tools(wire))
    thread.append(Script(wire).user("hi").said)
    assert thread.request()["tools"] == sash.tools(wire)


def test_a_call_is_answered_in_every_form_a_provider_writes_it() -> None:
    thread = opened()
    say(thread, Script().user("read the lighthouse").assistant("", Call("a")).results(("a", lines(30))))
    asked = {"handle": "2.0", "first_line": 2, "last_line": 2}
    forms = [
        {"id": "x", "type": "function", "function": {"name": "sash_expand", "arguments": json.dumps(asked)}},
        {"type": "tool_use", "id": "x", "name": "sash_expand", "input": asked},
        {"type": "function_call", "call_id": "x", "name": "sash_expand", "arguments": json.dumps(asked)},
    ]
    assert {thread.answer(form) for form in forms} == {lines(30).split("\n")[1]}
    found = thread.answer({"name": "sash_search", "input": {"text": "lighthouse"}})
    assert found == "[turn 1, user] read the lighthouse"
    assert thread.answer({"name": "sash_search", "input": {"text": "submarine"}}) == "nothing found"


def test_what_is_asked_wrongly_is_told_and_other_tools_are_left_alone() -> None:
    thread = opened()
    assert thread.answer({"name": "read_file", "input": {}}) is None
    assert "no block has the handle" in str(thread.answer({"name": "sash_expand", "input": {"handle": "9.9"}}))
    assert "Error" in str(thread.answer({"name": "sash_search", "input": {"text": 3}}))
    wrongs: tuple[object, ...] = ([], {"name": 3}, {"name": "sash_expand"})
    for wrong in wrongs:
        with pytest.raises(InvalidMessage):
            thread.answer(wrong)
