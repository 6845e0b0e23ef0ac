"""
Messages of another wire than the one that was said.

Somebody forgot `wire=`, mostly. Only what is certain is told: parts that are called `thinking`, say, stand on more
wires than one. What can be read all the same is refused where messages are given to us, and not where they are only
passed on or read back: some clients mix wires, and some gateways take that.
"""

from __future__ import annotations

from collections.abc import Sequence

from sash.core.message import Message, Opaque
from sash.errors import InvalidMessage
from sash.wire import anthropic, json_text, openai_chat, openai_responses

_PARTS = frozenset({"tool_use", "tool_result"})
"""Anthropic's alone."""
_ITEMS = frozenset({b'"function_call"', b'"function_call_output"', b'"custom_tool_call"', b'"reasoning"'})
"""Items of Responses: nobody speaks in them."""


def refuse_strangers(messages: Sequence[Message], wire: str, *, first: int = 0) -> None:
    """Raises `InvalidMessage` where a message, though it could be read, is certainly one of another wire."""
    for position, message in enumerate(messages, first):
        if not _may_be_one(message):
            continue
        home, field = home_of(message.source, wire)
        if home:
            raise InvalidMessage(hinted("is not of this wire", home), position=position, field=field, wire=home)


def _may_be_one(message: Message) -> bool:
    if message.role == "assistant" and b'"tool_calls"' in message.source:
        return True
    return any(type(block) is Opaque and block.kind in _PARTS for block in message.blocks)


def hinted(problem: str, home: str) -> str:
    """A problem with a message, and what helps."""
    return f'{problem}; this is a message of {home!r}: say wire="{home}"'


def home_of(source: bytes, wire: str) -> tuple[str, str]:
    """The other wire that a message certainly is of, and the field that tells it; empty where none is certain."""
    try:
        kept = json_text.fields(source)
        parts = json_text.items(kept["content"]) if bytes(kept.get("content", b""))[:1] == b"[" else []
        kinds = [json_text.fields(part).get("type") for part in parts]
    except InvalidMessage:
        return "", ""
    told = {name: bytes(value) for name, value in kept.items()}
    if wire != openai_chat.NAME:
        if told.get("role") == b'"tool"':
            return openai_chat.NAME, "role"
        calls = told.get("tool_calls", b"")
        if calls[:1] == b"[" and json_text.items(calls):
            return openai_chat.NAME, "tool_calls"
    if wire != openai_responses.NAME and "role" not in told and told.get("type") in _ITEMS:
        return openai_responses.NAME, "type"
    if wire != anthropic.NAME:
        for place, kind in enumerate(kinds):
            if kind is not None and str(kind, "utf-8").strip('"') in _PARTS:
                return anthropic.NAME, f"content[{place}].type"
    return "", ""
