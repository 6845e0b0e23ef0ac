"""A request that is prepared while it grows is the request that is prepared at once."""

from collections.abc import Sequence

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sash.core.message import Message, Text, Thinking, ToolCall, ToolResult
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
