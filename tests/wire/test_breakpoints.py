"""Cache breakpoints: where they pay, never more than four, never among the caller's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sash.core.message import Message, Text, Thinking
from sash.wire import prepare, read, write_fields
from sash.wire.breakpoints import place_breakpoints

MARK = {"type": "ephemeral"}


def placed(messages: list[dict[str, Any]], *, system: Any = None, head: int = 0) -> dict[str, Any]:
    body = {"messages": messages} | ({"system": system} if system else {})
    conversation = read(body, "anthropic")
    marked = place_breakpoints(conversation.messages, head=head)
    assert [message.blocks for message in marked] == [message.blocks for message in conversation.messages]
    return {name: json.loads(value) for name, value in write_fields(marked, (), "anthropic").items()}


def test_breakpoints_stand_after_the_system_prompt_the_head_and_the_last_message() -> None:
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "head"},
        {"role": "user", "content": [{"type": "text", "text": "first"}]},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "extra": 1}]},
    ]
    fields = placed(said, system="be kind", head=2)
    assert fields["system"] == [{"type": "text", "text": "be kind", "cache_control": MARK}]
    assert fields["messages"][0]["content"] == [{"type": "text", "text": "head", "cache_control": MARK}]
    assert fields["messages"][1:3] == said[1:3]
    assert fields["messages"][3]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b", "extra": 1, "cache_control": MARK},
    ]


def test_a_request_without_system_prompt_and_head_has_one_at_its_end_only() -> None:
    fields = placed([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    assert json.dumps(fields).count("cache_control") == 1


@pytest.mark.parametrize("where", ["system", "messages", "tools"])
def test_where_the_caller_placed_some_none_is_added(where: str) -> None:
    cached = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    given: dict[str, Any] = {"messages": [{"role": "user", "content": "a"}]}
    if where == "system":
        given["system"] = cached
    elif where == "messages":
        given["messages"] = [{"role": "user", "content": cached}]
    else:
        given["tools"] = [{"name": "f", "input_schema": {}, "cache_control": MARK}]
    conversation = read(given, "anthropic")
    assert place_breakpoints(conversation.messages, conversation.tools, head=0) == conversation.messages


def test_thinking_and_nothing_at_all_carry_no_breakpoint() -> None:
    thinking = Message(role="assistant", blocks=(Text("so"), Thinking("hm", "c2ln")))
    empty = Message(role="user")
    assert place_breakpoints([thinking], head=0) == (thinking,)
    assert place_breakpoints([empty], head=1) == (empty,)


def test_what_came_on_another_wire_gets_them_too() -> None:
    sent = prepare(read([{"role": "user", "content": "hi"}], "openai-chat").messages, "anthropic")
    fields = write_fields(place_breakpoints(sent.messages, head=0), (), "anthropic")
    assert json.loads(fields["messages"])[0]["content"][0]["cache_control"] == MARK
