"""The wires by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sash.core.message import Message
from sash.errors import UnknownWire
from sash.wire import anthropic, flat, openai_chat, openai_responses
from sash.wire.check import Problem
from sash.wire.conversation import Shaped, Tool
from sash.wire.rules import Rules


class Wire(Protocol):
    """What one provider's JSON takes: each wire is a module with these names."""

    NAME: str
    MESSAGES: str
    """The body's field that holds the messages."""
    TAKES_TEXT: bool
    """Whether that field may hold text in the place of a list: the one thing that the user said."""
    SYSTEM: str
    """The field that holds the system prompt, where it stands apart; else empty."""
    RULES: Rules

    def as_json(self, given: object) -> bytes: ...
    def read_messages(self, listed: bytes, items: Sequence[bytes]) -> list[Message]: ...
    def read_message(self, source: bytes) -> Message: ...
    def write_messages(self, messages: Sequence[Message]) -> bytes: ...
    def write_message(self, message: Message) -> bytes: ...
    def read_system(self, source: bytes) -> Message: ...
    def write_system(self, message: Message) -> bytes: ...
    def read_tool(self, source: bytes) -> Tool: ...
    def write_tool(self, tool: Tool) -> bytes: ...
    def shape(self, message: Message) -> Shaped: ...
    def problems(self, messages: Sequence[Message]) -> tuple[Problem, ...]: ...


WIRES: Mapping[str, Wire] = {
    openai_chat.NAME: openai_chat,
    openai_responses.NAME: openai_responses,
    anthropic.NAME: anthropic,
    flat.NAME: flat,
}


def wire_named(name: str) -> Wire:
    """The wire of that name."""
    if name not in WIRES:
        raise UnknownWire(name, tuple(WIRES))
    return WIRES[name]
