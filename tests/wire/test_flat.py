"""The flat wire: three text blocks, exactly as seed 004 lays them out, and never too long."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.errors import InvalidMessage, InvalidRequest
from sash.wire import Tool, prepare, read, replaced, write, write_fields
from sash.wire.flat import Exchange, compose

TEXTS = st.text(max_size=60)
TURNS = st.lists(st.builds(Exchange, TEXTS, TEXTS), max_size=5)


def test_the_three_blocks_stand_as_the_seed_says() -> None:
    prompt = compose("now?", summary="we met", turns=[Exchange("a", "b"), Exchange("c", "d")])
    assert prompt.text == (
        "[Conversation Summary]\nwe met\n\n[Recent Turns]\nUser: a\nAssistant: b\n----\nUser: c\nAssistant: d\n----\n"
        "\n\n[Current User Input]\nnow?"
    )
    assert prompt.turns == 2


def test_what_is_missing_is_said() -> None:
    assert compose("x", turns=[Exchange("a", "b")]).text.startswith(
        "[Conversation Summary]\n(empty)\n\n[Recent Turns]\nUser"
    )
    assert (
        compose("x", summary="s").text
        == "[Conversation Summary]\ns\n\n[Recent Turns]\n(none)\n\n[Current User Input]\nx"
    )


def test_with_nothing_to_inject_the_input_passes_raw() -> None:
    assert compose("x").text == "x"
    assert compose("x", turns=[Exchange("a", "b")], recent_turns=0).text == "x"


def test_the_last_ten_turns_are_recent() -> None:
    prompt = compose("x", turns=[Exchange(str(n), "") for n in range(12)])
    assert prompt.turns == 10
    assert "User: 1\n" not in prompt.text
    assert "User: 2\n" in prompt.text


def test_the_oldest_turns_leave_first_then_the_summary_shrinks_then_the_input() -> None:
    turns = [Exchange("a" * 100, "b"), Exchange("c" * 100, "d")]
    asked = "q" * 50
    whole = len(compose(asked, summary="s" * 100, turns=turns).text)
    one = compose(asked, summary="s" * 100, turns=turns, max_chars=whole - 1)
    assert (one.turns, one.summary_cut, one.input_cut) == (1, False, False)
    assert "ccc" in one.text
    none = compose(asked, summary="s" * 100, turns=turns, max_chars=200)
    assert (none.turns, none.summary_cut, none.input_cut) == (0, True, False)
    assert none.text.endswith(asked)
    assert compose(asked, summary="s", turns=turns, max_chars=60).text == asked
    last = compose(asked, summary="s", turns=turns, max_chars=40)
    assert (last.turns, last.summary_cut, last.input_cut) == (0, True, True)
    assert last.text.startswith("q")
    assert compose(asked, turns=turns, max_chars=60).text == asked


@given(said=TEXTS, summary=TEXTS, turns=TURNS, recent=st.integers(0, 6), limit=st.integers(0, 400))
def test_a_prompt_is_never_longer_than_allowed(
    said: str, summary: str, turns: list[Exchange], recent: int, limit: int
) -> None:
    prompt = compose(said, summary=summary, turns=turns, recent_turns=recent, max_chars=limit)
    assert len(prompt.text) <= limit
    assert prompt.input_cut == (len(said) > limit)
    if not prompt.input_cut:
        assert prompt.text.endswith(said)
    if prompt.turns < min(recent, len(turns)) and prompt.text != said:
        longer = compose(said, summary=summary, turns=turns, recent_turns=prompt.turns + 1, max_chars=10**9)
        assert len(longer.text) > limit


@given(text=TEXTS)
def test_a_prompt_is_one_message_of_the_users(text: str) -> None:
    conversation = read(text, "flat")
    assert [(m.role, m.text) for m in conversation.messages] == [("user", text)]
    assert json.loads(write(conversation)) == text
    body = json.dumps({"prompt": text, "n": 1}, indent=1).encode()
    assert write(read(body, "flat")) == body
    assert json.loads(write(replaced(read(body, "flat"), messages=read(body, "flat").messages))) == {
        "prompt": text,
        "n": 1,
    }


def test_a_conversation_becomes_one_prompt_and_names_what_it_loses() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "r"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]
    sent = prepare(read(history, "openai-chat").messages, "flat")
    assert [made.why.split("'")[1] for made in sent.repairs] == ["system", "tool_call", "tool_result"]
    prompt = json.loads(write_fields(sent.messages, (), "flat")["prompt"])
    assert prompt == compose("d", turns=[Exchange("a", "b\nc")]).text
    assert json.loads(write_fields((), (), "flat")["prompt"]) == ""


def test_there_are_no_tools_in_a_flat_prompt() -> None:
    with pytest.raises(InvalidMessage, match="no tools"):
        read({"prompt": "x", "tools": [{}]}, "flat")
    with pytest.raises(InvalidRequest, match="no tools"):
        write_fields((), (Tool(name="f"),), "flat")
