"""What a body holds: its messages, its tools, and the fields that are none of our business."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sash.core.message import Message

ANY_ARGUMENTS = b'{"type":"object","properties":{}}'
"""The schema of a tool that came without one."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may call."""

    name: str
    description: str = ""
    schema: bytes = ANY_ARGUMENTS
    """JSON Schema of the arguments, as it came."""
    wire: str = ""
    source: bytes = b""
    function: bool = True
    """False for a tool that only its own provider knows (web search, shell): no other wire can carry it."""


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that had to be changed before a provider would take it."""

    what: str
    """A short name: `missing-result`, `orphan-result`, `duplicate-id`, ..."""
    message: int
    """Position of the message it happened to, in the history that was given."""
    why: str


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's request body, read."""

    wire: str
    messages: tuple[Message, ...]
    """All of them in order; what a wire keeps apart (Anthropic's `system`, Responses' `instructions`) stands first."""
    tools: tuple[Tool, ...] = ()
    fields: Mapping[str, bytes] = {}
    """Every field of the body as it came; empty when only a list of messages was given."""
    source: bytes = b""
    repairs: tuple[Repair, ...] = ()


class Shaped(msgspec.Struct, frozen=True):
    """A message of one wire as the messages of another."""

    messages: tuple[Message, ...]
    lost: tuple[str, ...] = ()
    """What could not be carried over, by name."""
