"""
A history as a session of Claude Code's that it can resume: one line a message, each the child of the one before.

Messages are written with the bytes of their blocks, so reading the file again gives the same ones. Claude Code finds it
as `projects/FOLDER/SESSION-ID.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import msgspec

from sash.core.message import Message, ToolCall
from sash.transcripts.carrying import carried
from sash.transcripts.entry import Entry
from sash.transcripts.heading import Heading, begun, name_for, one_line
from sash.transcripts.moment import written
from sash.wire import Repair, json_text
from sash.wire.anthropic import write_message

VERSION = "2.1.0"
"""The version of the format that is written."""


def write(entries: Iterable[Entry], heading: Heading, lost: list[Repair]) -> Iterator[bytes]:
    """The lines of the file."""
    parent: str | None = None
    at, entries = begun(entries, heading)
    for place, (message, entry) in enumerate(carried(entries, "anthropic", lost, injects=True)):
        at = entry.at if entry.at is not None else at
        name = str(UUID(name_for(heading.id, place, size=16)))
        line: dict[str, Any] = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": heading.cwd,
            "sessionId": heading.id,
            "version": VERSION,
            "gitBranch": "",
            **_said(message, entry, heading, place),
            "uuid": name,
        }
        if at is not None:
            line["timestamp"] = written(at)
        if list(json_text.fields(write_message(message))) != ["role", "content"]:
            # Fields that Claude Code has no place for; it does not look at this one.
            line["sash"] = {"message": msgspec.Raw(write_message(message))}
        yield one_line(msgspec.json.encode(line))
        parent = name


def _said(message: Message, entry: Entry, heading: Heading, place: int) -> dict[str, Any]:
    content = json_text.fields(write_message(message))["content"]
    if message.role != "assistant":
        injected = {"isMeta": True} if message.role == "system" else {}
        return {"type": "user", "message": {"role": "user", "content": content}, **injected}
    if bytes(content)[:1] == b'"':
        words = json_text.object_of({"type": b'"text"', "text": content})
        content = msgspec.Raw(json_text.list_of([words] if bytes(content) != b'""' else []))
    calls = any(type(block) is ToolCall for block in message.blocks)
    said = {
        "id": f"msg_{name_for(heading.id, place, size=12)}",
        "type": "message",
        "role": "assistant",
        "model": entry.model or heading.model,
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": _usage(entry),
    }
    return {"type": "assistant", "message": said, "requestId": f"req_{name_for(heading.id, place, size=12)}"}


def _usage(entry: Entry) -> dict[str, int]:
    told = entry.usage
    return {
        "input_tokens": told.input if told else 0,
        "cache_creation_input_tokens": told.cache_write if told else 0,
        "cache_read_input_tokens": told.cache_read if told else 0,
        "output_tokens": told.output if told else 0,
    }
