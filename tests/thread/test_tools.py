"""A model asks for what was shortened or has left, on every wire; what it asks wrongly it is told."""

from __future__ import annotations

import json

import pytest

import sash
from sash.core.policy import Policy
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
    assert {thread.answer(form) for form in forms} == {f"[sash: expanded '2.0']\n{lines(30).split(chr(10))[1]}"}
    found = thread.answer({"name": "sash_search", "input": {"text": "lighthouse"}})
    assert found == "[turn 1, user] read the lighthouse"
    assert thread.answer({"name": "sash_search", "input": {"text": "submarine"}}) == "nothing found"


def search(text: str) -> dict[str, object]:
    """A call that looks for a text."""
    return {"name": "sash_search", "input": {"text": text}}


def test_what_a_model_looks_for_is_text_and_never_a_pattern() -> None:
    thread = opened()
    said = "one (a+)+ b\ntwo aaaa b\nthree c\nfour"
    say(thread, Script().user(said))
    handle = f"{thread.seq - 1}.0"

    def found(grep: str) -> list[str]:
        asked = {"name": "sash_expand", "input": {"handle": handle, "grep": grep}}
        return str(thread.answer(asked)).split("\n")[1:]

    assert found("(a+)+") == ["one (a+)+ b"]
    assert found("three|four") == ["three c", "four"]


def test_what_was_rewound_is_marked_where_somebody_looks_for_it_and_not_told_to_a_model() -> None:
    thread = opened()
    say(thread, Script().user("the door is green").assistant("ok"))
    thread.mark("before")
    say(thread, Script().user("my pin is 4711, and the door is red").assistant("ok"))
    thread.rewind("before")
    assert [(found.turn, found.rewound) for found in thread.search("door")] == [(2, True), (1, False)]
    assert thread.answer(search("4711")) == "nothing found"
    assert thread.answer(search("door")) == "[turn 1, user] the door is green"
    asked = {"name": "sash_search", "input": {"text": "door", "limit": 1}}
    assert thread.answer(asked) == "[turn 1, user] the door is green"
    thread.undo()
    assert not any(found.rewound for found in thread.search("4711"))


def test_what_is_asked_wrongly_is_told_and_other_tools_are_left_alone() -> None:
    thread = opened()
    assert thread.answer({"name": "read_file", "input": {}}) is None
    assert "no block has the handle" in str(thread.answer({"name": "sash_expand", "input": {"handle": "9.9"}}))
    assert "Error" in str(thread.answer({"name": "sash_search", "input": {"text": 3}}))
    say(thread, Script().user("go"))
    backwards = {"handle": f"{thread.seq - 1}.0", "first_line": 5, "last_line": 2}
    assert "Error: lines is (5, 2)" in str(thread.answer({"name": "sash_expand", "input": backwards}))
    wrongs: tuple[object, ...] = ([], {"name": 3}, {"name": "sash_expand"})
    for wrong in wrongs:
        with pytest.raises(InvalidMessage):
            thread.answer(wrong)


def test_an_answer_is_no_larger_than_a_result_may_be_and_is_not_shortened_again() -> None:
    policy = Policy(history_tokens=4_000, counter="chars4", worth_tokens=0, protect_results_tokens=0)
    thread = opened(policy=policy)
    say(thread, Script().user(lines(400)).assistant("", Call("a", '{"handle": "0.0"}', "sash_expand")))
    answer = str(thread.answer({"name": "sash_expand", "input": {"handle": "0.0"}}))
    assert answer.startswith("[sash: expanded '0.0', ")
    assert "of 400 lines]" in answer
    say(thread, Script().results(("a", answer)).assistant("thanks"))
    for _ in range(12):
        say(thread, Script().turn(ask=100, answer=100))
        shown = [message["content"] for message in thread.request()["messages"] if message["role"] == "tool"]
        assert shown in ([], [answer]), "it is whole, or it left with its turn"
    say(thread, Script().user("x" * 9_000))
    whole = str(thread.answer({"name": "sash_expand", "input": {"handle": f"{thread.seq - 1}.0"}}))
    assert 100 < len(whole) < 9_000
