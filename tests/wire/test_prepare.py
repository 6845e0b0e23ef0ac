"""A request that is prepared while it grows is the request that is prepared at once."""

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sash.core.message import Message, Text, Thinking, ToolCall, ToolResult
from sash.core.turn import Grouping
from sash.errors import InvalidRequest
from sash.wire import WIRES, Preparing, Sent, prepare, read, wire_named
from sash.wire.check import Checking
from tests.wire.strategies import broken_messages

Outcome = Sent | tuple[str, ...]


def outcome_of(preparing: Preparing) -> Outcome:
    try:
        return preparing.sent()
    except InvalidRequest as error:
        return error.problems


def at_once(messages: Sequence[Message], wire: str) -> Outcome:
    try:
        return prepare(messages, wire)
    except InvalidRequest as error:
        return error.problems


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=40)
@given(drawn=st.data())
def test_growing_gives_what_preparing_the_whole_gives_at_every_length(wire: str, drawn: st.DataObject) -> None:
    spoken = drawn.draw(st.sampled_from(sorted({"openai-chat", "anthropic", "openai-responses"})))
    history = read(drawn.draw(broken_messages(spoken)), spoken).messages
    preparing = Preparing(wire)
    for length, message in enumerate(history, start=1):
        preparing.take([message])
        if drawn.draw(st.booleans()):
            assert outcome_of(preparing) == at_once(history[:length], wire)
    assert outcome_of(preparing) == at_once(history, wire)


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "flat"])
@settings(max_examples=40)
@given(drawn=st.data())
def test_what_was_sent_at_a_request_point_is_never_changed_on_any_wire(wire: str, drawn: st.DataObject) -> None:
    spoken = drawn.draw(st.sampled_from(sorted({"openai-chat", "anthropic", "openai-responses"})))
    history = read(drawn.draw(broken_messages(spoken)), spoken).messages
    grouping = Grouping()
    points = [length for length, message in enumerate(history, start=1) if grouping.add(message).request_point]
    whole = at_once(history, wire)
    for length in points:
        part = at_once(history[:length], wire)
        if isinstance(part, Sent):
            assert isinstance(whole, Sent)
            assert whole.messages[: len(part.messages)] == part.messages


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=40)
@given(drawn=st.data())
def test_a_copy_grows_by_itself(wire: str, drawn: st.DataObject) -> None:
    history = read(drawn.draw(broken_messages("openai-chat")), "openai-chat").messages
    cut = drawn.draw(st.integers(0, len(history)))
    preparing = Preparing(wire)
    preparing.take(history[:cut])
    twin = preparing.copy()
    twin.take(history[cut:])
    assert outcome_of(preparing) == at_once(history[:cut], wire)
    assert outcome_of(twin) == at_once(history, wire)


def test_what_stands_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Message] = []
    take = Checking.take

    def counted(self: Checking, messages: Sequence[Message]) -> None:
        looked.extend(messages)
        take(self, messages)

    monkeypatch.setattr(Checking, "take", counted)
    history = read([{"role": "user", "content": f"line {n}"} for n in range(200)], "openai-chat").messages
    preparing = Preparing("openai-chat")
    for message in history:
        preparing.take([message])
        preparing.sent()
    assert len(looked) == len(history)


def test_places_tell_what_each_message_was_made_of() -> None:
    call, result = ToolCall("a", "f"), ToolResult("a", (Text("r"),))
    history = [
        Message(role="user", blocks=(Text("go"),)),
        Message(role="assistant", blocks=(Text("I will"),)),
        Message(role="assistant", blocks=(call,)),
        Message(role="tool", blocks=(result,)),
        Message(role="user", blocks=(Text("thanks"),)),
    ]
    preparing = Preparing("openai-chat")
    preparing.take(history)
    assert [message.role for message in preparing.messages] == ["user", "assistant", "tool", "user"]
    assert preparing.places == [0, 1, 3, 4]


def chat_call(*names: str) -> dict[str, Any]:
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_result(name: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": "r"}


ASKED: dict[str, Any] = {"role": "user", "content": "go"}


def sent_at(sizes: tuple[int, int], history: list[dict[str, Any]], wire: str) -> tuple[list[Message], list[Message]]:
    """What is sent of a chat on another wire, at two of its lengths."""
    messages = read(history, "openai-chat").messages
    before, after = (list(prepare(messages[:size], wire).messages) for size in sizes)
    return before, after


def test_what_another_wire_may_go_on_with_ends_where_somebody_else_speaks() -> None:
    own = read([{"role": "user", "content": "and here"}], "anthropic").messages
    answered = read([ASKED, {"role": "assistant", "content": "yes"}], "openai-chat").messages
    assert [message.role for message in prepare([*answered, *own], "anthropic").messages] == [
        "user",
        "assistant",
        "user",
    ]
    stopped = [ASKED, chat_call("a", "b"), chat_result("a"), {"role": "user", "content": "stop"}]
    sent = prepare(read(stopped, "openai-chat").messages, "anthropic").messages
    assert [(message.role, message.closed(), message.text) for message in sent[2:]] == [
        ("user", ["a"], ""),
        ("user", ["b"], ""),
        ("user", [], "stop"),
    ]


def test_a_result_that_comes_after_the_last_of_its_step_stands_in_a_message_of_its_own() -> None:
    history = [ASKED, chat_call("a", "b"), chat_result("x"), chat_result("b"), chat_result("a"), chat_result("a")]
    before, after = sent_at((5, 6), history, "anthropic")
    assert after[:-1] == before
    assert [block.call_id for block in before[2].blocks if type(block) is ToolResult] == ["b", "a"]


def test_a_late_result_replaces_no_stub_where_what_the_assistant_said_has_no_place() -> None:
    nothing = {"role": "assistant", "content": ""}
    history = [ASKED, chat_call("a"), ASKED, nothing, ASKED, chat_result("a"), ASKED]
    before, after = sent_at((5, 7), history, "openai-responses")
    assert after[: len(before)] == before


def test_what_came_after_a_step_that_has_no_place_is_no_part_of_what_was_said_before_it() -> None:
    old: dict[str, Any] = {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}
    said = {"role": "assistant", "content": "yes"}
    history = [ASKED, said, old, {"role": "function", "name": "old", "content": "r"}, said]
    before, after = sent_at((4, 5), history, "anthropic")
    assert after[: len(before)] == before
    assert [message.text for message in after] == ["go", "yes", "yes"]


def test_reasoning_is_dropped_when_the_call_it_led_to_is_left_out() -> None:
    history = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "mcp_approval_request", "id": "m", "arguments": "{}", "name": "f", "server_label": "s"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
        {"role": "assistant", "content": "done"},
    ]
    messages = read(history, "openai-responses").messages
    assert any(type(block) is Thinking for message in messages for block in message.blocks)
    sent = prepare(messages, "openai-responses")
    assert wire_named("openai-responses").problems(sent.messages) == ()


def test_the_checker_sees_reasoning_that_somebody_else_interrupts() -> None:
    history = [{"type": "reasoning", "id": "r", "summary": []}, {"role": "user", "content": "stop"}]
    messages = read(history, "openai-responses").messages
    problems = wire_named("openai-responses").problems(messages)
    assert [(problem.message, problem.what) for problem in problems] == [(0, "reasoning without the item it led to")]


def test_a_flat_prompt_takes_whatever_is_said() -> None:
    assert wire_named("flat").problems((Message(role="assistant"),)) == ()
