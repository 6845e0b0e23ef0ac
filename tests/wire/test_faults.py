"""Bad input, by its number in the list of faults: an error of ours that names the place, or nothing changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sash.core.message import Message, Opaque, Text, Thinking, identity
from sash.core.turn import group
from sash.errors import InvalidMessage, SashError, UnknownWire
from sash.fitting import fit
from sash.store import MemoryStore
from sash.thread import open_thread
from sash.wire import prepare, read, read_tools, replaced, write, write_fields
from sash.wire.breakpoints import place_breakpoints
from tests.wire.strategies import FIELDS, WIRES


def body(wire: str, content: str = '"hi"', extra: str = "") -> bytes:
    return f'{{"{FIELDS[wire]}":[{{"role":"user","content":{content}{extra}}}]}}'.encode()


LONE = r"\ud83d"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "spelling", [LONE, r"\udc00", rf"{LONE}x", rf"{LONE}{LONE}", rf"\ud83d\ude00{LONE}", r"\\\ud83d"]
)
def test_i1_a_lone_surrogate_is_kept_and_never_sent(wire: str, spelling: str) -> None:
    given = body(wire, f'"a{spelling}b"', rf',"x":"{LONE}","n":[1]')
    conversation = read(given, wire)
    (message,) = conversation.messages
    assert spelling.encode() in message.source
    assert [made.what for made in conversation.repairs] == ["lone-surrogate"]
    sent = write(conversation)
    assert "�" in json.loads(sent)[FIELDS[wire]][0]["content"]
    sent.decode()
    json.dumps(json.loads(sent), ensure_ascii=False).encode()
    assert json.loads(sent)[FIELDS[wire]][0]["n"] == [1]


@pytest.mark.parametrize("wire", WIRES)
def test_i1_a_lone_surrogate_outside_the_messages_is_not_sent_either(wire: str) -> None:
    given = (
        body(wire)[:-1]
        + rf',"metadata":{{"{LONE}":["{LONE}"]}},"tools":[{{"type":"function","name":"f","function":{{"name":"f"}},"x":"{LONE}"}}]}}'.encode()  # noqa: E501  (one case a line)
    )
    json.dumps(json.loads(write(read(given, wire))), ensure_ascii=False).encode()
    as_list = rf'[ {{"role":"user","content":"{LONE}"}} , {{"role":"user","content":"b"}} ]'.encode()
    conversation = read(as_list, wire)
    assert [message.text for message in conversation.messages] == ["�", "b"]
    assert LONE.encode() in conversation.messages[0].source
    assert LONE.encode() not in write(conversation)


def test_i1_lone_surrogates_in_objects_and_text_are_read_too() -> None:
    for given in (
        {"messages": [{"role": "user", "content": "\ud83d"}]},
        '{"messages":[{"role":"user","content":"\ud83d"}]}',
    ):
        assert read(given, "openai-chat").messages[0].text == "�"


def test_i1_in_every_kind_of_block() -> None:
    blocks = rf'''[{{"type":"thinking","thinking":"{LONE}","signature":"s"}},{{"type":"odd","x":"{LONE}"}},
        {{"type":"tool_use","id":"a","name":"f","input":{{"x":"{LONE}"}}}}]'''
    history = f'[{{"role":"user","content":"x"}},{{"role":"assistant","content":{blocks}}}]'.encode()
    sent = prepare(read(history, "anthropic").messages, "anthropic")
    assert LONE.encode() not in write_fields(sent.messages, (), "anthropic")["messages"]
    items = rf'[{{"type":"web_search_call","id":"w","x":"{LONE}"}},{{"type":"function_call","call_id":"a","name":"{LONE}","arguments":"{{}}"}}]'  # noqa: E501  (one case a line)
    sent = prepare(read(items.encode(), "openai-responses").messages, "openai-responses")
    assert LONE.encode() not in write_fields(sent.messages, (), "openai-responses")["input"]


@pytest.mark.parametrize("wire", WIRES)
def test_i2_nul_comes_back_as_it_went_in(wire: str) -> None:
    given = body(wire, r'"a\u0000b"')
    conversation = read(given, wire)
    assert conversation.messages[0].text == "a\0b"
    assert write(conversation) == given


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("depth", [1_000, 20_000, 100_000])
def test_i3_nesting_is_refused_by_us(wire: str, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    objects: Any = 1
    for _ in range(depth):
        objects = [objects]
    lone = nested.replace("[]", rf'["{LONE}"]')
    for given in (
        body(wire, extra=f',"x":{nested}'),
        body(wire, nested),
        body(wire, extra=f',"x":{lone}'),
        nested,
        objects,
    ):
        with pytest.raises(InvalidMessage):
            read(given, wire)


@pytest.mark.parametrize("wire", WIRES)
def test_i3_what_is_read_can_be_worked_on_from_deep_in_the_stack(wire: str) -> None:
    deepest = 0
    for depth in (150, 300, 500, 600, 700, 800, 900):
        nested = '{"a":' * depth + "1" + "}" * depth
        try:
            conversation = read(body(wire, extra=f',"x":{nested}'), wire)
        except InvalidMessage:
            break
        deepest = depth

        def deeper(levels: int, conversation: Any = conversation) -> None:
            if levels:
                return deeper(levels - 1)
            identity(conversation.messages[0])
            write(replaced(conversation, messages=[m.edit((Text("x"),)) for m in conversation.messages]))
            return None

        deeper(100)
    assert deepest >= 300


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_i6_what_is_no_json_is_refused(wire: str, number: str) -> None:
    with pytest.raises(InvalidMessage):
        read(body(wire, extra=f',"x":{number}'), wire)
    with pytest.raises(InvalidMessage, match="finite"):
        read({FIELDS[wire]: [{"role": "user", "content": "x", "y": [{"n": float(number)}]}]}, wire)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("number", ["1e400", "9" * 5_000, "-0", "1.0", '{"a":1,"a":2}'])
def test_i6_odd_numbers_and_double_keys_are_preserved(wire: str, number: str) -> None:
    given = body(wire, extra=f',"x":{number}')
    conversation = read(given, wire)
    assert write(conversation) == given
    assert f'"x":{number}'.encode() in write(replaced(conversation, messages=conversation.messages))
    assert len(identity(conversation.messages[0])) == 16


def test_i6_an_integer_that_python_will_not_spell_is_refused_with_a_remedy() -> None:
    with pytest.raises(InvalidMessage, match="send it as JSON text"):
        read([{"role": "user", "content": "x", "n": 10**5_000}], "openai-chat")
    with pytest.raises(InvalidMessage, match="has no JSON"):
        read([{"role": "user", "content": "\ud83d", "n": float("nan")}], "openai-chat")
    with pytest.raises(InvalidMessage, match="neither JSON nor"):
        read([{"role": "user", "content": object()}], "openai-chat")


@pytest.mark.parametrize("wire", WIRES)
def test_i7_invalid_utf8_is_refused_with_its_position(wire: str) -> None:
    for bad in (b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc3"}'):
        with pytest.raises(InvalidMessage, match="at byte 6"):
            read(bad, wire)
    with pytest.raises(InvalidMessage, match="at byte 0"):
        read(b'\xff\xfe{\x00"\x00', wire)


@pytest.mark.parametrize("wire", WIRES)
def test_i7_a_byte_order_mark_is_dropped(wire: str) -> None:
    assert write(read(b"\xef\xbb\xbf" + body(wire), wire)) == body(wire)
    assert write(read("\ufeff" + body(wire).decode(), wire)) == body(wire)


@pytest.mark.no_cover  # fifty thousand times the same two messages
def test_i8_a_hundred_thousand_messages_of_a_token() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * 50_000
    conversation = read(json.dumps({"messages": said}).encode(), "openai-chat")
    turns = group(conversation.messages)
    assert (len(conversation.messages), len(turns)) == (100_000, 50_000)
    assert prepare(conversation.messages, "anthropic").repairs == ()


@pytest.mark.parametrize("wire", WIRES)
def test_i8_one_message_of_ten_megabytes_and_ten_thousand_tools(wire: str) -> None:
    tool = {
        "type": "function",
        "name": "f",
        "input_schema": {},
        "parameters": {},
        "function": {"name": "f", "parameters": {}},
    }
    given = json.dumps(
        {FIELDS[wire]: [{"role": "user", "content": "x" * 10_000_000}], "tools": [tool] * 10_000}
    ).encode()
    conversation = read(given, wire)
    assert len(conversation.messages[0].text) == 10_000_000
    assert len(conversation.tools) == 10_000
    assert write(conversation) == given


def test_i8_an_id_used_ten_thousand_times_is_told_apart_in_time() -> None:
    step = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "f", "arguments": ""}}],
        },
        {"role": "tool", "tool_call_id": "call_0", "content": ""},
    ]
    sent = prepare(read([{"role": "user", "content": "x"}, *step * 10_000], "openai-chat").messages, "openai-chat")
    assert sent.messages[-1].closed() == ["call_0-10000"]


CHAT, ITEMS, CLAUDE = WIRES


@pytest.mark.parametrize(
    ("wire", "message", "position", "field"),
    [
        (CHAT, {"role": "usr", "content": "x"}, 1, "role"),
        (CHAT, {"content": "x"}, 1, ""),
        (CHAT, {"role": "user"}, 1, "content"),
        (CHAT, {"role": "user", "content": None}, 1, "content"),
        (CHAT, {"role": "user", "content": 5}, 1, "content"),
        (CHAT, {"role": "user", "content": [{"type": "text", "text": 5}]}, 1, "content[0].text"),
        (CHAT, {"role": "tool", "content": "x"}, 1, "tool_call_id"),
        (CHAT, {"role": "assistant", "tool_calls": [{"id": 5}]}, 1, "tool_calls[0].id"),
        (CHAT, 5, 1, ""),
        (ITEMS, {"role": "usr", "content": "x"}, 1, "role"),
        (ITEMS, {"content": "x"}, 1, "role"),
        (ITEMS, {"role": "user"}, 1, "content"),
        (ITEMS, {"type": "function_call", "name": "f"}, 1, "call_id"),
        (ITEMS, {"type": "function_call_output", "call_id": "a"}, 1, "output"),
        (ITEMS, {"type": "custom_tool_call", "call_id": "a", "name": "f"}, 1, "input"),
        (ITEMS, {"type": 5}, 1, "type"),
        (CLAUDE, {"role": "usr", "content": "x"}, 1, "role"),
        (CLAUDE, {"role": "user"}, 1, "content"),
        (CLAUDE, {"role": "user", "content": None}, 1, "content"),
        (CLAUDE, {"role": "user", "content": [{"type": "text"}]}, 1, "content[0].text"),
        (CLAUDE, {"role": "user", "content": [{"type": "text", "text": 5}]}, 1, "content[0].text"),
        (CLAUDE, {"role": "user", "content": [{"text": "x"}]}, 1, "content[0]"),
        (CLAUDE, {"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}, 1, "content[0].input"),
        (CLAUDE, {"role": "user", "content": [{"type": "odd"}, {"type": "tool_result"}]}, 1, "content[1].tool_use_id"),
        (CLAUDE, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text"}]}]}, 1,  # noqa: E501  (one case a line)
         "content[0].content[0].text"),
        (CLAUDE, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "thinking", "thinking": ""}]}]}, 1,  # noqa: E501  (one case a line)
         "content[0].content"),
        (CLAUDE, {"role": "assistant", "content": [{"type": "redacted_thinking"}]}, 1, "content[0].data"),
        (CLAUDE, {"role": "assistant", "content": [{"type": "thinking"}]}, 1, "content[0].thinking"),
    ],
)  # fmt: skip
def test_i11_what_is_wrong_is_named_by_position_and_field(wire: str, message: Any, position: int, field: str) -> None:
    with pytest.raises(InvalidMessage) as raised:
        read([{"role": "user", "content": "x"}, message], wire)
    assert (raised.value.position, raised.value.field) == (position, field)
    assert f"message {position}" in str(raised.value)


def test_i11_bodies_that_hold_no_messages_are_refused() -> None:
    for given, field in (
        ({"model": "m"}, "messages"),
        ({"messages": 5}, "messages"),
        (b"", "messages"),
        (b"nonsense", "messages"),
        ({"messages": [], "system": 5}, "system"),
        ({"messages": [], "system": [{"type": "text"}]}, "system.content[0].text"),
    ):
        with pytest.raises(InvalidMessage) as raised:
            read(given, "anthropic")
        assert raised.value.field == field
    with pytest.raises(InvalidMessage) as raised:
        read_tools([{"type": "function", "function": {}}], "openai-chat")
    assert raised.value.field == "tools[0].function"
    with pytest.raises(UnknownWire, match="there are"):
        read([], "carrier-pigeon")
    assert issubclass(InvalidMessage, SashError)


@pytest.mark.parametrize("wire", WIRES)
def test_i11_unknown_fields_are_forwarded(wire: str) -> None:
    conversation = read(body(wire, extra=',"x_vendor":{"a":1}'), wire)
    edited = replaced(conversation, messages=[m.edit((Text("other"),)) for m in conversation.messages])
    (message,) = json.loads(write(edited))[FIELDS[wire]]
    assert message == {"role": "user", "content": "other", "x_vendor": {"a": 1}}


def test_t8_thinking_of_the_latest_turn_goes_back_as_it_came_and_not_to_another_provider() -> None:
    blocks = (
        '[{"type": "thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":""},'
        '{"type":"redacted_thinking","data":"eA=="},{"type":"tool_use","id":"a","name":"f","input":{}}]'
    )
    said = f'{{"role":"assistant","content":{blocks}}}'.encode()
    history = (
        b'[{"role":"user","content":"x"},'
        + said
        + b',{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]'
    )
    messages = read(history, "anthropic").messages
    sent = prepare(messages, "anthropic")
    assert (sent.repairs, sent.messages[1].source) == ((), said)
    for wire in ("openai-chat", "openai-responses"):
        elsewhere = prepare(messages, wire)
        assert [made.why for made in elsewhere.repairs] == [f"'thinking' of 'anthropic' has no place on '{wire}'"] * 2
        assert not any(type(block) is Thinking for message in elsewhere.messages for block in message.blocks)


def test_t8_thinking_beside_a_renamed_call_keeps_its_bytes() -> None:
    thinking = b'{"type": "thinking", "thinking":"h\\u006d","signature":"c2ln"}'
    step = (
        b'{"role":"assistant","content":['
        + thinking
        + b',{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}'  # noqa: E501  (one case a line)
    )
    sent = prepare(
        read(b'[{"role":"user","content":"x"},' + step + b"," + step + b"]", "anthropic").messages, "anthropic"
    )
    assert write_fields(sent.messages, (), "anthropic")["messages"].count(thinking) == 2


def test_t9_breakpoints_pass_through_and_are_never_made() -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    text = {"type": "text", "text": "x"}
    given = {
        "tools": [{"name": "f", "input_schema": {"type": "object"}, **hour}],
        "system": [{**text, **hour}],
        "messages": [{"role": "user", "content": [{**text, **cached}]}, {"role": "assistant", "content": "y"},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{**text, **cached}], **cached}]}],  # noqa: E501  (one case a line)
    }  # fmt: skip
    conversation = read(given, "anthropic")
    assert place_breakpoints(conversation.messages, conversation.tools, head=1) == conversation.messages
    assert json.loads(write(replaced(conversation, messages=conversation.messages))) == given
    elsewhere = [{"role": "user", "content": [{**text, **cached}]}]
    sent = prepare(read(elsewhere, "openai-chat").messages, "anthropic")
    assert b"cache_control" not in write_fields(sent.messages, (), "anthropic")["messages"]


def test_t13_unknown_blocks_pass_untouched_and_are_opaque() -> None:
    odd = b'{"type":"mcp_tool_use","id":"m",  "text":{"not":"a string"}}'
    given = b'[{"role":"user","content":"x"},{"role":"assistant","content":[' + odd + b',{"type":"text","text":"y"}]}]'
    messages = read(given, "anthropic").messages
    assert messages[1].blocks == (Opaque("mcp_tool_use", odd), Text("y"))
    changed = messages[1].edit((messages[1].blocks[0], Text("z")))
    assert odd in write_fields((messages[0], changed), (), "anthropic")["messages"]
    part = b'{"type":"video_url", "video_url":{"url":"u"}}'
    (message,) = read(b'[{"role":"user","content":[' + part + b"]}]", "openai-chat").messages
    assert message.blocks == (Opaque("video_url", part),)


@pytest.mark.parametrize("wire", WIRES)
def test_t14_twenty_turns_in_which_nothing_changes_are_sent_as_they_came(wire: str) -> None:
    history: list[Message] = []
    before = b""
    for turn in range(20):
        source = f'[{{"role":"user",  "content":"q\\u0041{turn}"}}, {{"content":"a{turn}","role":"assistant"}}]'
        history += read(source, wire).messages
        sent = write_fields(prepare(history, wire).messages, (), wire)[FIELDS[wire]]
        assert sent[:-1].startswith(before)
        before = sent[:-1]


@pytest.mark.parametrize("wire", WIRES)
def test_a_role_that_there_is_not_is_named_with_its_place_and_those_there_are(wire: str) -> None:
    given = [{"role": "user", "content": "hi"}, {"role": "usr", "content": "hi"}]
    with pytest.raises(InvalidMessage, match=r"message 1, role: is 'usr'; it takes .*'user', 'assistant'"):
        read(given, wire)


CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
ANSWERED = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}
CHAT_CALL = {"role": "assistant", "content": "x", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}
CHAT_RESULT = {"role": "tool", "tool_call_id": "a", "content": "r"}
ITEM = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("wire", "message", "field", "home"),
    [
        (CHAT, CALLED, "content[0].type", CLAUDE),
        (CHAT, ANSWERED, "content[0].type", CLAUDE),
        (CHAT, ITEM, "", ITEMS),
        (ITEMS, CALLED, "content[0].type", CLAUDE),
        (ITEMS, CHAT_CALL, "tool_calls", CHAT),
        (ITEMS, CHAT_RESULT, "role", CHAT),
        (ITEMS, {**CHAT_CALL, "content": None}, "content", CHAT),
        (CLAUDE, CHAT_CALL, "tool_calls", CHAT),
        (CLAUDE, CHAT_RESULT, "role", CHAT),
        (CLAUDE, ITEM, "", ITEMS),
    ],
)
def test_a_message_of_another_wire_is_refused_with_the_name_of_that_wire(
    wire: str, message: dict[str, Any], field: str, home: str
) -> None:
    with pytest.raises(InvalidMessage, match=f'this is a message of {home!r}: say wire="{home}"') as raised:
        fit([{"role": "user", "content": "x"}, message], wire=wire)
    error = raised.value
    assert (error.position, error.field, error.wire) == (1, field, home)
    with pytest.raises(InvalidMessage, match=f'say wire="{home}"'):
        open_thread("t", store=MemoryStore()).append(message, wire=wire)


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (CHAT, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}),
        (CLAUDE, {"role": "assistant", "content": "x", "tool_calls": []}),
        (CLAUDE, {"role": "assistant", "content": "x", "tool_calls": None}),
        (CLAUDE, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"tool_calls": [1]}}]}),  # noqa: E501  (one case a line)
    ],
)  # fmt: skip
def test_what_may_be_of_this_wire_is_not_refused(wire: str, message: dict[str, Any]) -> None:
    assert fit([{"role": "user", "content": "x"}, message], wire=wire).messages


def test_what_can_be_read_is_read_and_only_refused_where_it_is_given() -> None:
    assert [type(block) for block in read([ANSWERED], CHAT).messages[0].blocks] == [Opaque]
    with pytest.raises(InvalidMessage) as raised:
        read([{"role": "tool", "content": [5]}, ITEM], ITEMS)
    assert raised.value.wire == ""


def test_a_body_of_another_wire_is_told_which() -> None:
    with pytest.raises(InvalidMessage, match="has a field 'messages'; for this one say wire=\"openai-responses\""):
        fit({"model": "m", "input": "hi"})
    with pytest.raises(InvalidMessage, match='say wire="openai-chat" or "anthropic"'):
        fit({"model": "m", "messages": []}, wire=ITEMS)
