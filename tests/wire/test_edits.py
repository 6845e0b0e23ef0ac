"""A message that was changed is written over the JSON it came as: what nobody changed stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sash.core.message import Document, Image, Message, Opaque, Text, Thinking, ToolCall
from sash.wire import Rules, prepare, read, repair, write_fields


def only(message: dict[str, Any], wire: str) -> Message:
    return read([message], wire).messages[0]


def written(message: Message, wire: str) -> Any:
    field = "input" if wire == "openai-responses" else "messages"
    return json.loads(write_fields([message], (), wire)[field])[0]


def test_calls_that_all_leave_take_their_field_along() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = only({"role": "assistant", "content": "so", "tool_calls": [call], "name": "ann"}, "openai-chat")
    assert written(message.edit((Text("so"),)), "openai-chat") == {"role": "assistant", "content": "so", "name": "ann"}


def test_content_that_was_a_list_stays_one() -> None:
    parts = [{"type": "text", "text": "a", "x": 1}, {"type": "text", "text": "b"}]
    message = only({"role": "user", "content": parts}, "openai-chat")
    changed = written(message.edit((Text("A"), Text("b"))), "openai-chat")
    assert changed["content"] == [{"type": "text", "text": "A", "x": 1}, {"type": "text", "text": "b"}]


def test_an_unknown_block_put_into_a_message_is_its_own_json() -> None:
    message = only({"role": "user", "content": [{"type": "text", "text": "a"}]}, "anthropic")
    changed = message.edit((Text("a"), Opaque("odd", b'{"type":"odd"}')))
    assert written(changed, "anthropic")["content"] == [{"type": "text", "text": "a"}, {"type": "odd"}]


def test_a_legacy_function_result_is_written_as_it_came() -> None:
    given = {"role": "function", "name": "f", "content": "done"}
    message = only(given, "openai-chat")
    assert written(message.edit(message.blocks), "openai-chat") == given


def test_thinking_made_by_code_is_written_as_the_provider_writes_it() -> None:
    blocks = (Thinking("hm", "c2ln"), Thinking("", "eA==", redacted=True), ToolCall("a", "f"))
    assert written(Message(role="assistant", blocks=blocks), "anthropic")["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    ]


@pytest.mark.parametrize(
    ("block", "source"),
    [
        (Image("image/png", "eA=="), {"type": "base64", "media_type": "image/png", "data": "eA=="}),
        (Image(url="https://example.com/a.png"), {"type": "url", "url": "https://example.com/a.png"}),
        (Image(url="file_1"), {"type": "file", "file_id": "file_1"}),
        (Document("text/plain", "hi"), {"type": "text", "media_type": "text/plain", "data": "hi"}),
    ],
)
def test_files_say_where_they_come_from(block: Image | Document, source: dict[str, str]) -> None:
    message = Message(role="user", blocks=(Text("see"), block))
    assert written(message, "anthropic")["content"][1]["source"] == source


def test_a_block_with_a_source_that_is_no_picture_is_opaque() -> None:
    video = {"type": "video", "source": {"type": "base64", "media_type": "video/mp4", "data": "eA=="}}
    message = only({"role": "user", "content": [video]}, "anthropic")
    assert [type(block) for block in message.blocks] == [Opaque]


def test_a_file_of_responses_that_is_neither_here_nor_there_is_opaque() -> None:
    message = only({"role": "user", "content": [{"type": "input_file", "filename": "a"}]}, "openai-responses")
    assert [type(block) for block in message.blocks] == [Opaque]


def test_what_the_assistant_said_stays_output_when_it_is_changed() -> None:
    parts = [{"type": "output_text", "text": "a", "annotations": []}, {"type": "output_text", "text": "b"}]
    given = {"type": "message", "role": "assistant", "id": "msg_1", "content": parts}
    message = only(given, "openai-responses")
    changed = written(message.edit((Text("a"), Text("B"))), "openai-responses")
    # Its id is gone: what the provider knows by it is what was said before.
    said = [parts[0], {"type": "output_text", "text": "B"}]
    assert changed == {"type": "message", "role": "assistant", "content": said}


def test_numbers_are_no_obstacle_and_nan_is_refused_by_name() -> None:
    given = {"role": "user", "content": "x", "odd": [1, 1.5, True, None, {"deep": (2, 0.5)}]}
    assert json.loads(read([given], "openai-chat").source)[0]["odd"] == [1, 1.5, True, None, {"deep": [2, 0.5]}]
    said = [{"role": "user", "content": "x"}, {"role": "user", "content": "x", "odd": [None, {"deep": float("nan")}]}]
    with pytest.raises(ValueError, match=r"\[1\]\.odd\[1\]\.deep: nan has no JSON"):
        read(said, "openai-chat")
    with pytest.raises(ValueError, match=r"^messages\[0\]\.n: inf has no JSON"):
        read({"messages": [{"role": "user", "content": None, "n": float("inf")}]}, "openai-chat")


def test_a_text_document_made_by_code_is_a_file_on_chat() -> None:
    message = Message(role="user", blocks=(Text("see"), Document("text/plain", "hi", title="a.txt")))
    part = written(message, "openai-chat")["content"][1]
    assert part == {"type": "file", "file": {"file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"}}


def test_a_picture_of_the_assistants_has_no_place_on_chat() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    said = [{"role": "user", "content": "draw"}, {"role": "assistant", "content": [picture]}]
    sent = prepare(read(said, "anthropic").messages, "openai-chat")
    assert [repair.what for repair in sent.repairs if "image" in repair.why] == ["left-out"]


def test_two_calls_of_one_id_that_nobody_answered_leave_together() -> None:
    call = {"type": "shell_call", "call_id": "a", "action": {}}
    sent = prepare(
        read([{"role": "user", "content": "go"}, call, call], "openai-responses").messages, "openai-responses"
    )
    assert [message.role for message in sent.messages] == ["user"]
    one = Message(role="assistant", blocks=(Opaque("odd", b"{}", opens="a"), Opaque("odd", b"{}", opens="a")))
    assert repair([Message(role="user", blocks=(Text("go"),)), one], Rules()).messages[1:] == ()


def test_a_part_of_responses_that_we_do_not_know_is_opaque() -> None:
    message = only({"role": "user", "content": [{"type": "input_audio", "data": "eA=="}]}, "openai-responses")
    assert message.blocks == (Opaque("input_audio", b'{"type":"input_audio","data":"eA=="}'),)
