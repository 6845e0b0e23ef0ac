"""From one wire to another: the meaning stays, what cannot be carried is named, and both SDKs agree with the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from anthropic.types import MessageParam, ToolUnionParam, ToolUseBlock
from anthropic.types import TextBlock as AnthropicText
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam
from openai.types.responses import ResponseFunctionToolCall, ResponseInputItemParam, ResponseOutputMessage
from pydantic import TypeAdapter

from sash.core.message import Document, Image, Message, Text, ToolCall, ToolResult
from sash.errors import InvalidRequest
from sash.wire import carry_tools, prepare, read, write_fields
from sash.wire.repair import BEGINS
from tests.wire.strategies import FIELDS, HISTORIES, TOOLS, WIRES, bodies, broken_messages, spelled

ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "openai-chat": TypeAdapter(list[ChatCompletionMessageParam]),
    "openai-responses": TypeAdapter(list[ResponseInputItemParam]),
    "anthropic": TypeAdapter(list[MessageParam]),
}
PAIRS = [(a, b) for a in WIRES for b in WIRES if a != b]


def judged(messages: tuple[Message, ...], wire: str) -> bytes:
    """The messages as JSON, once the provider's own SDK found nothing wrong with them."""
    sent = write_fields(messages, (), wire)[FIELDS[wire]]
    exhausted(ADAPTERS[wire].validate_python(json.loads(sent)))
    return sent


def exhausted(node: Any) -> None:
    """pydantic looks into an Iterable only when somebody asks for what is in it."""
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, Iterator | list) else ():
        exhausted(inner)


def calls(messages: tuple[Message, ...]) -> list[tuple[str, str, Any]]:
    return [(b.id, b.name, _arguments(b)) for m in messages for b in m.blocks if isinstance(b, ToolCall)]


def _arguments(call: ToolCall) -> Any:
    """What is asked for; other wires put text that is no object into one."""
    try:
        # What a custom tool is given is text, also where it reads like JSON.
        meant = (call.arguments or {}) if call.custom else json.loads(call.arguments)
    except ValueError:
        meant = call.arguments or {}
    if isinstance(meant, dict) and meant.keys() in ({"INVALID_JSON"}, {"input"}):
        meant = next(iter(meant.values()))
    return json.loads(meant) if meant == "[1]" else meant


def results(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    found = []
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolResult):
                text = "\n".join(part.text for part in block.content if isinstance(part, Text))
                found.append((block.call_id, text.removeprefix("Error").removeprefix(": ").strip("\n")))
    return found


def texts(messages: tuple[Message, ...], role: str) -> str:
    said = [b.text for m in messages if m.role == role for b in m.blocks if isinstance(b, Text) and b.text != BEGINS]
    return "".join("".join(said).split())


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=12)
@given(drawn=st.data())
def test_the_sdk_takes_what_passed_through(wire: str, drawn: st.DataObject) -> None:
    history = [
        {k: v for k, v in message.items() if k not in ("x_vendor", "metadata2", "é")}
        for message in drawn.draw(HISTORIES[wire]())
    ]
    judged(prepare(read(spelled(history, Random(1)), wire).messages, wire).messages, wire)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=12)
@given(drawn=st.data())
def test_the_sdk_takes_what_was_repaired(wire: str, drawn: st.DataObject) -> None:
    source = drawn.draw(st.sampled_from([other for other in WIRES if other != wire]))
    history = read(drawn.draw(broken_messages(source)), source).messages
    try:
        sent = prepare(history, wire)
    except InvalidRequest as error:
        assert error.problems[0].startswith("no message")  # noqa: PT017  (most repairs do not raise)
        return
    judged(sent.messages, wire)


@pytest.mark.parametrize(("here", "there"), PAIRS)
@settings(max_examples=12)
@given(drawn=st.data())
def test_meaning_is_kept_there_and_back(here: str, there: str, drawn: st.DataObject) -> None:
    before = read(spelled(drawn.draw(HISTORIES[here]()), Random(1)), here).messages
    sent = prepare(before, there)
    assert not {made.what for made in sent.repairs} - {"left-out", "moved", "empty-message", "sorted-results"}
    fields = write_fields(sent.messages, (), there)
    judged(sent.messages, there)
    system = "instructions" if there == "openai-responses" else "system"
    arrived = read(
        {FIELDS[there]: json.loads(fields[FIELDS[there]])}
        | {k: json.loads(v) for k, v in fields.items() if k == system},
        there,
    ).messages
    back = prepare(arrived, here).messages
    judged(tuple(m for m in back if m.role != "system" or here != "anthropic"), here)
    assert calls(before) == calls(arrived) == calls(back)
    assert [name for name, _ in results(before)] == [name for name, _ in results(back)]
    for (_, told), (_, first) in zip(results(back), results(before), strict=True):
        assert "".join(first.split()) in "".join(told.split()) or any(
            isinstance(p, Document) for m in before for b in m.blocks if isinstance(b, ToolResult) for p in b.content
        )
    assert texts(before, "assistant") == texts(back, "assistant")


def sent_as(message: dict[str, Any], here: str, there: str) -> tuple[list[dict[str, Any]], list[str]]:
    sent = prepare(read([{"role": "user", "content": "x"}, message], here).messages, there)
    said = json.loads(write_fields(sent.messages, (), there)[FIELDS[there]])
    return said[1:], [made.why.split("'")[1] for made in sent.repairs if made.what == "left-out"]


def test_errors_are_told_in_words_where_there_is_no_flag_for_them() -> None:
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    for content, chat in (("no", "Error: no"), ([], "Error")):
        failed = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": content, "is_error": True}],
        }
        history = read([{"role": "user", "content": "x"}, asked, failed], "anthropic").messages
        assert results(prepare(history, "openai-chat").messages) == [
            ("a", chat.removeprefix("Error").removeprefix(": "))
        ]
        assert (
            json.loads(write_fields(prepare(history, "openai-chat").messages, (), "openai-chat")["messages"])[-1][
                "content"
            ]
            == chat
        )
        assert (
            json.loads(write_fields(prepare(history, "openai-responses").messages, (), "openai-responses")["input"])[
                -1
            ]["output"]
            == chat
        )


def test_pictures_in_a_result_stand_after_it_on_chat() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    shown = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": [picture], "is_error": True}],
    }
    sent = prepare(read([{"role": "user", "content": "x"}, asked, shown], "anthropic").messages, "openai-chat").messages
    assert [m.role for m in sent] == ["user", "assistant", "tool", "user"]
    assert sent[-1].blocks == (Image(url="https://example.com/a.png"),)


@pytest.mark.parametrize(
    ("part", "here", "there", "arrives"),
    [
        ({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, "anthropic", "openai-chat", None),
        ({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, "anthropic", "openai-responses", None),
        ({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, "anthropic", "openai-chat", None),
        ({"type": "document", "source": {"type": "url", "url": "https://e.com/a.pdf"}}, "anthropic", "openai-chat", None),  # noqa: E501  (one case a line)
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "w"}}, "anthropic", "openai-chat", "w"),  # noqa: E501  (one case a line)
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "w"}, "title": "t"}, "anthropic", "openai-responses", "t\n\nw"),  # noqa: E501  (one case a line)
        ({"type": "document", "source": {"type": "url", "url": "https://e.com/a.pdf"}}, "anthropic", "openai-responses",
         [{"type": "input_file", "file_url": "https://e.com/a.pdf"}]),
        ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}, "anthropic", "openai-chat",  # noqa: E501  (one case a line)
         [{"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "document"}}]),
        ({"type": "file", "file": {"file_id": "file-1"}}, "openai-chat", "openai-responses", [{"type": "input_file", "file_id": "file-1"}]),  # noqa: E501  (one case a line)
        ({"type": "file", "file": {"file_id": "file-1"}}, "openai-chat", "anthropic", None),
        ({"type": "file", "file": {"file_data": "data:text/plain;base64,aGk=", "filename": "a"}}, "openai-chat", "anthropic",  # noqa: E501  (one case a line)
         [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}, "title": "a"}]),
        ({"type": "file", "file": {"file_data": "data:text/csv;base64,aGk=", "filename": "a"}}, "openai-chat", "anthropic", None),  # noqa: E501  (one case a line)
        ({"type": "file", "file": {"file_data": "data:text/plain;base64,%%", "filename": "a"}}, "openai-chat", "anthropic", None),  # noqa: E501  (one case a line)
        ({"type": "file", "file": {"file_data": "aGk="}}, "openai-chat", "anthropic", None),
        ({"type": "input_file", "file_data": "aGk="}, "openai-responses", "anthropic", None),
        ({"type": "input_image", "file_id": "file-1"}, "openai-responses", "openai-chat", None),
        ({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}, "openai-chat", "anthropic", None),
    ],
)  # fmt: skip
def test_files_are_carried_or_named_never_turned_into_garbage(
    part: dict[str, Any], here: str, there: str, arrives: Any
) -> None:
    (said,), lost = sent_as({"role": "user", "content": [part]}, here, there)
    if arrives is None:
        assert len(lost) == 1
        assert said["content"] == "[sash: what was said here cannot be told on this wire]"
    else:
        assert (said["content"], lost) == (arrives, [])


def test_what_the_system_says_late_is_told_as_what_it_is() -> None:
    late = {"role": "system", "content": "stop"}
    (said,), _ = sent_as(late, "openai-chat", "anthropic")
    assert said == {
        "role": "user",
        "content": [
            {"type": "text", "text": "[sash: a message of the system's follows]"},
            {"type": "text", "text": "stop"},
        ],
    }
    assert sent_as(late, "openai-chat", "openai-responses") == ([late], [])
    assert sent_as({"role": "system", "content": ""}, "openai-chat", "anthropic") == ([], [])
    assert sent_as({"role": "user", "content": ""}, "openai-chat", "openai-responses")[0] == [
        {"role": "user", "content": "[sash: an empty message]"}
    ]


def test_parallel_calls_that_responses_writes_one_by_one_are_one_message_elsewhere() -> None:
    items = [
        {"role": "user", "content": "x"},
        *({"type": "function_call", "call_id": n, "name": "f", "arguments": "{}"} for n in "ab"),
        *({"type": "function_call_output", "call_id": n, "output": "r"} for n in "ab"),
    ]
    history = read(items, "openai-responses").messages
    assert [len(m.blocks) for m in prepare(history, "anthropic").messages] == [1, 2, 2]
    assert [len(m.blocks) for m in prepare(history, "openai-chat").messages] == [1, 2, 1, 1]


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_tools_are_carried_or_named(here: str, there: str) -> None:
    tools = read({FIELDS[here]: [], "tools": TOOLS[here]}, here).tools
    fit, lost = carry_tools(tools, there)
    assert len(fit) + len(lost) == len(tools)
    assert fit[0].name == "f"
    sent = json.loads(write_fields((), fit, there)["tools"])
    if there == "anthropic":
        exhausted(TypeAdapter(list[ToolUnionParam]).validate_python(sent))
    assert [tool.name for tool in read({FIELDS[there]: [], "tools": sent}, there).tools] == [tool.name for tool in fit]
    assert carry_tools(tools, here) == (tools, ())
    assert carry_tools(tools, "flat")[0] == ()


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=12)
@given(drawn=st.data())
def test_a_whole_body_crosses_to_every_wire(wire: str, drawn: st.DataObject) -> None:
    conversation = read(json.dumps(drawn.draw(bodies(wire))), wire)
    for there in WIRES:
        sent = prepare(conversation.messages, there)
        assert prepare(sent.messages, there).messages == sent.messages


def test_objects_of_the_sdks_are_messages() -> None:
    chat = ChatCompletionMessage.model_validate({"role": "assistant", "content": "hi", "refusal": None, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]})  # fmt: skip
    asked = read(
        [{"role": "user", "content": "x"}, chat, {"role": "tool", "tool_call_id": "a", "content": "r"}], "openai-chat"
    )
    assert asked.messages[1].blocks == (Text("hi"), ToolCall("a", "f", "{}"))
    judged(prepare(asked.messages, "openai-chat").messages, "openai-chat")

    content = [AnthropicText(type="text", text="hi"), ToolUseBlock(type="tool_use", id="a", name="f", input={"x": 1})]
    said = read([{"role": "user", "content": "x"}, {"role": "assistant", "content": content}], "anthropic")
    assert said.messages[1].blocks == (Text("hi"), ToolCall("a", "f", '{"x":1}'))
    judged(prepare(said.messages, "anthropic").messages, "anthropic")

    output = [
        ResponseOutputMessage.model_validate({"id": "m", "type": "message", "role": "assistant", "status": "completed",
                                              "content": [{"type": "output_text", "text": "hi", "annotations": []}]}),
        ResponseFunctionToolCall.model_validate({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}),  # noqa: E501  (one case a line)
    ]  # fmt: skip
    items = read([{"role": "user", "content": "x"}, *output], "openai-responses")
    assert [m.blocks for m in items.messages[1:]] == [(Text("hi"),), (ToolCall("a", "f", "{}"),)]
    judged(prepare(items.messages, "openai-responses").messages, "openai-responses")
