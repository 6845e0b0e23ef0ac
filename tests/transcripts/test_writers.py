"""Files that sash writes: read again they give the same requests, and their tools find in them what they look for."""

from __future__ import annotations

import io
import json
import re
from datetime import datetime
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.core.message import Message, identity
from sash.core.turn import group
from sash.transcripts import FORMATS, WRITERS, Entry, Heading, Usage, open_transcript, write_transcript
from sash.wire import carry_over, read, read_list, write_fields
from sash.wire.json_text import as_json, object_of
from tests.builders import Call, Script
from tests.real import DATA, needs_data
from tests.wire.strategies import spelled_bodies

HEADING = Heading(
    id="0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", cwd="/tmp/project", model="claude-opus-5", at=1_700_000_000.0
)


def written(said: list[Entry] | list[Message], name: str, heading: Heading = HEADING) -> bytes:
    into = io.BytesIO()
    wrote = write_transcript(said, name, into, heading=heading)
    assert wrote.bytes == len(into.getvalue())
    return into.getvalue()


def entries_of(content: bytes) -> list[Entry]:
    transcript = open_transcript(io.BytesIO(content))
    said = list(transcript.messages())
    return said if transcript.system is None else [Entry(message=transcript.system), *said]


def request(said: list[Entry], wire: str, cap: int) -> str:
    """A digest of the request that a history leads to: what each of its messages means to the model."""
    carried = carry_over([entry.message for entry in said if entry.message.role != "meta"], wire)
    body = object_of(write_fields(carried.messages, (), wire))
    policy = sash.Policy(history_tokens=cap)
    fitted = sash.fit(body, wire=wire, model="claude-opus-5", policy=policy)
    digest = blake2b(digest_size=16)
    for message in read(as_json(fitted.request), wire).messages:
        digest.update(identity(message))
    return digest.hexdigest()


def agent(wire: str = "anthropic") -> list[Message]:
    script = Script(wire)
    script.user("fix the build").assistant("", Call("a1"), Call("a2", '{"path": "b.py"}'))
    script.results(("a1", "one"), ("a2", "two")).assistant("it is fixed").user("thanks")
    return list(read(script.said, wire).messages)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses"])
def test_a_history_of_any_wire_written_and_read_again_leads_to_the_same_requests(name: str, wire: str) -> None:
    said = [Entry(message=message) for message in agent(wire)]
    again = entries_of(written(said, name))
    for cap in (100, 100_000):
        assert request(again, FORMATS[name].wire, cap) == request(said, FORMATS[name].wire, cap)


@needs_data
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    "file",
    [
        "pi/pi-mono-large-session.jsonl",
        "claude-code/entire-54_bb2ec87cc8_0.jsonl",
        "claude-code/entire-d0_161e0df1cb_0.jsonl",
        "claude-code/entire-17_55e38d324c_0.jsonl",
        "gemini/entire-12_cbfeaa512b_0.json",
        "format-fixtures/stage0__agents__codex__large.jsonl",
        "openai/tau-bench-airline-000-099.json",
    ],
)
def test_a_real_session_written_and_read_again_leads_to_the_same_requests(name: str, file: str) -> None:
    said = list(open_transcript(DATA / file).messages())
    again = entries_of(written(said, name))
    for cap in (8_000, 100_000):
        assert request(again, FORMATS[name].wire, cap) == request(said, FORMATS[name].wire, cap)
    if not any(entry.kind in ("compaction", "note") for entry in said):
        assert written(entries_of(written(again, name)), name) == written(again, name)


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=30)
@given(choice=st.data())
def test_whatever_a_message_holds_it_is_the_same_when_it_is_read_again(name: str, choice: st.DataObject) -> None:
    wire = FORMATS[name].wire
    body = read(choice.draw(spelled_bodies(wire)), wire)
    messages = [message for message in body.messages if message.source[:1] == b"{"]
    again = entries_of(written(messages, name)) if messages else []
    assert [identity(entry.message) for entry in again] == [identity(message) for message in messages]


@pytest.mark.parametrize("name", WRITERS)
def test_a_window_written_as_a_session_is_read_as_that_window(name: str) -> None:
    wire = FORMATS[name].wire
    script = Script(wire)
    for turn in range(12):
        script.user(f"question {turn} " + "word " * 200).assistant(f"answer {turn} " + "word " * 200)
    fitted = sash.fit(script.said, wire=wire, policy=sash.Policy(history_tokens=2_000))
    assert fitted.report.turns_out
    window = list(read_list(as_json(fitted.messages), wire))
    again = entries_of(written(window, name))
    assert [identity(entry.message) for entry in again] == [identity(message) for message in window]


def test_a_session_of_pi_has_the_form_that_pi_reads() -> None:
    lines = [json.loads(line) for line in written(_told(), "pi").splitlines()]
    header, *entries = lines
    assert header == {
        "type": "session", "version": 3, "id": HEADING.id, "timestamp": "2023-11-14T22:13:20.000Z", "cwd": HEADING.cwd,
    }  # fmt: skip
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    assert len({entry["id"] for entry in entries}) == len(entries)
    for entry in entries:
        assert re.fullmatch("[0-9a-f]{8}", entry["id"])
        assert datetime.fromisoformat(entry["timestamp"]).tzinfo
    change, *said = entries
    assert (change["type"], change["provider"], change["modelId"]) == ("model_change", "anthropic", "claude-opus-5")
    messages = [entry["message"] for entry in said]
    assert [message["role"] for message in messages] == [
        "user", "assistant", "toolResult", "toolResult", "assistant", "user",
    ]  # fmt: skip
    assert all(isinstance(message["timestamp"], int) for message in messages)
    asked, *_ = (message for message in messages if message["role"] == "assistant")
    assert asked["stopReason"] == "toolUse"
    assert asked["usage"]["cacheRead"] == 7
    assert {block["type"] for block in asked["content"]} == {"toolCall"}
    assert [type(block["arguments"]) for block in asked["content"]] == [dict, dict]
    assert [(m["toolCallId"], m["toolName"], m["isError"]) for m in messages if m["role"] == "toolResult"] == [
        ("a1", "read", False), ("a2", "read", False),
    ]  # fmt: skip


def test_a_session_of_claude_codes_is_one_chain_of_lines() -> None:
    lines = [json.loads(line) for line in written(_told(), "claude-code").splitlines()]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert {line["sessionId"] for line in lines} == {HEADING.id}
    assert [line["type"] for line in lines] == [line["message"]["role"] for line in lines]
    assistant = next(line["message"] for line in lines if line["type"] == "assistant")
    assert (assistant["stop_reason"], assistant["model"]) == ("tool_use", "claude-opus-5")
    assert assistant["usage"]["input_tokens"] == 5
    assert isinstance(assistant["content"], list)


def _told() -> list[Entry]:
    usage = Usage(input=5, output=3, cache_read=7)
    return [
        Entry(message=message, at=1_700_000_100.0 + place, usage=usage if message.role == "assistant" else None)
        for place, message in enumerate(agent())
    ]


@pytest.mark.parametrize("name", ["pi", "claude-code"])
def test_times_models_and_usage_are_read_as_they_were_written(name: str) -> None:
    told = _told()
    again = entries_of(written(told, name))
    assert [(entry.at, entry.usage) for entry in again] == [(entry.at, entry.usage) for entry in told]
    assert {entry.model for entry in again if entry.message.role == "assistant"} == {"claude-opus-5"}


@pytest.mark.parametrize("name", ["pi", "claude-code"])
def test_before_the_first_time_that_is_known_that_one_is_written_and_where_none_is_known_none(name: str) -> None:
    heading = Heading(id=HEADING.id, cwd="/tmp", model="claude-opus-5")
    late = [Entry(message=message, at=1_700_000_100.0 if place == 3 else None) for place, message in enumerate(agent())]
    assert {entry.at for entry in entries_of(written(late, name, heading))} == {1_700_000_100.0}
    never = written(agent(), name, heading)
    assert b"timestamp" not in never
    assert [(entry.at, entry.message.text) for entry in entries_of(never)] == [(None, m.text) for m in agent()]


TURNS = [
    {"role": "user", "content": "fix the build"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a1", "name": "read", "input": {}}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a1", "content": "one"},
            {"type": "text", "text": "and also this"},
        ],
    },
    {"role": "assistant", "content": "it is fixed"},
    {"role": "user", "content": "thanks"},
    {"role": "system", "content": "a reminder"},
]


@pytest.mark.parametrize("name", WRITERS)
def test_a_turn_that_a_written_file_begins_anew_is_told(name: str) -> None:
    messages = read(TURNS, "anthropic").messages
    into = io.BytesIO()
    lost = write_transcript(messages, name, into).lost
    again = [entry.message for entry in entries_of(into.getvalue())]
    told = [repair.message for repair in lost if repair.what == "new-turn"]
    assert len(group(again)) == len(group(messages)) + len(told)
    assert told == {"openai-chat": [2], "openai-responses": [2], "anthropic": [5]}.get(name, [])
    assert bool(lost) == bool(told)


@pytest.mark.parametrize("name", WRITERS)
def test_usage_that_is_not_written_is_told(name: str) -> None:
    lost = write_transcript(_told(), name, io.BytesIO()).lost
    told = (
        []
        if name in ("pi", "claude-code")
        else ["the usage that was reported with 2 of the answers has no place in a body"]
    )
    assert [repair.why for repair in lost if repair.what == "usage"] == told


def test_what_a_tool_put_in_stays_something_that_nobody_typed() -> None:
    reminder = read([{"role": "system", "content": "be brief"}], "anthropic").messages
    for name in ("pi", "claude-code"):
        (entry,) = entries_of(written(list(reminder), name))
        assert (entry.kind, entry.message.role, entry.message.text) == ("injected", "system", "be brief")


def test_what_a_format_has_no_place_for_is_named() -> None:
    thinking: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
    ]
    wrote = write_transcript(read(thinking, "anthropic").messages, "openai-chat", io.BytesIO())
    assert [(loss.what, loss.message) for loss in wrote.lost] == [("left-out", 1)]


def test_messages_that_a_format_writes_as_one_are_named_by_their_place_in_the_log() -> None:
    chat = agent("openai-chat")
    assert [message.role for message in chat] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    noted = [Message(role="meta"), *chat]
    for name in ("anthropic", "pi", "claude-code"):
        lost = write_transcript(noted, name, io.BytesIO(), heading=HEADING).lost
        assert [(repair.what, repair.message) for repair in lost] == [("merged", 4)]
    for name in ("openai-chat", "openai-responses"):
        assert not write_transcript(noted, name, io.BytesIO(), heading=HEADING).lost
    ends = [*noted[:5], Message(role="meta")]
    assert [repair.message for repair in write_transcript(ends, "anthropic", io.BytesIO()).lost] == [4]


def test_nothing_that_may_not_be_sent_twice_is_written_twice() -> None:
    item = b'{"type":"web_search_call","id":"ws-1","status":"completed"}'
    said = read_list(b'[{"role":"user","content":"find it"},' + item + b"," + item + b"]", "openai-responses")
    into = io.BytesIO()
    lost = write_transcript(list(said), "openai-responses", into).lost
    assert [(repair.what, repair.message) for repair in lost] == [("duplicate-item", 2)]
    assert json.loads(into.getvalue())["input"][1:] == [json.loads(item)]


def test_the_same_history_is_written_with_the_same_bytes() -> None:
    for name in WRITERS:
        assert written(_told(), name) == written(_told(), name)


def test_a_format_that_cannot_be_written_is_refused_by_name() -> None:
    with pytest.raises(sash.UnknownFormat, match="'pi', 'claude-code'"):
        write_transcript([], "gemini", io.BytesIO())
