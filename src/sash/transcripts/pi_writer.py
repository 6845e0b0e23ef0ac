"""
A history as a session of pi's that pi itself can resume: version 3, one branch.

What pi's blocks cannot hold travels beside them under the name `sash`, which pi does not look at, so that reading the
file again gives the very messages that were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from sash.core.message import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    by_sash,
    identity,
)
from sash.transcripts.carrying import carried
from sash.transcripts.entry import Entry
from sash.transcripts.heading import Heading, begun, name_for, one_line, provider_of
from sash.transcripts.moment import written
from sash.transcripts.pi import reread
from sash.wire import Repair
from sash.wire.anthropic import arguments_object, write_message

VERSION = 3
_NOTHING = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
_FREE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def write(entries: Iterable[Entry], heading: Heading, lost: list[Repair]) -> Iterator[bytes]:
    """The lines of the file."""
    at, entries = begun(entries, heading)
    header = {"type": "session", "version": VERSION, "id": heading.id, **_stamped(at)}
    yield _line(header | {"cwd": heading.cwd})
    writing = _Writing(heading, at)
    if heading.model:
        change = {"type": "model_change", "provider": provider_of(heading.model), "modelId": heading.model}
        yield writing.entry(change)
    for message, entry in carried(entries, "anthropic", lost, injects=True):
        yield from writing.message(message, entry)


def _line(fields: dict[str, Any]) -> bytes:
    return one_line(msgspec.json.encode(fields))


class _Writing:
    def __init__(self, heading: Heading, at: float | None) -> None:
        self.heading = heading
        self._parent: str | None = None
        self._place = 0
        self._at = at
        self._calls: dict[str, str] = {}
        """Names of the tools that were called, by the call's id: pi puts them beside results."""

    def entry(self, fields: dict[str, Any], **beside: Any) -> bytes:
        """One entry, a child of the one before it."""
        name = name_for(self.heading.id, self._place, self._parent)
        self._place += 1
        placed = {"type": fields["type"], "id": name, "parentId": self._parent, **_stamped(self._at)}
        self._parent = name
        return _line(placed | fields | beside)

    def message(self, message: Message, entry: Entry) -> Iterator[bytes]:
        """The entries that tell a message."""
        self._at = entry.at if entry.at is not None else self._at
        for block in message.blocks:
            if type(block) is ToolCall:
                self._calls[block.id] = block.name
        lines = self._lines(self._told(message, entry))
        if [identity(again) for again in reread(lines)] != [identity(message)]:
            whole = {"message": msgspec.Raw(write_message(message))}
            lines[0] = _line(msgspec.json.decode(lines[0], type=dict[str, msgspec.Raw]) | {"sash": whole})
        yield from lines

    def _lines(self, told: list[dict[str, Any]]) -> list[bytes]:
        """Entries, all but the first joined to it."""
        lines = [self.entry(told[0])]
        first = self._parent
        return lines + [self.entry(fields, sash={"with": first}) for fields in told[1:]]

    def _told(self, message: Message, entry: Entry) -> list[dict[str, Any]]:
        """The message as entries of pi's: results stand apart, each by itself."""
        blocks = message.blocks
        if message.role == "system":
            content = [_part(block) for block in blocks]
            return [{"type": "custom_message", "customType": "sash", "content": content, "display": False}]
        if message.role == "assistant":
            return [_said(self._assistant(blocks, entry))]
        results = [block for block in blocks if type(block) is ToolResult]
        others = [block for block in blocks if type(block) is not ToolResult]
        told = [_said(self._result(block)) for block in results]
        if others or not results:
            words = [_part(block) for block in others]
            told.append(_said({"role": "user", "content": words, **self._milliseconds()}))
        return told

    def _assistant(self, blocks: tuple[Block, ...], entry: Entry) -> dict[str, Any]:
        model = entry.model or self.heading.model
        calls = any(type(block) is ToolCall for block in blocks)
        usage: dict[str, Any] = dict(_NOTHING)
        if (told := entry.usage) is not None:
            usage = {"input": told.input, "output": told.output, "cacheRead": told.cache_read}
            usage |= {"cacheWrite": told.cache_write, "totalTokens": told.context + told.output}
        return {
            "role": "assistant",
            "content": [_part(block) for block in blocks],
            "api": "anthropic-messages",
            "provider": provider_of(model),
            "model": model,
            "usage": usage | {"cost": _FREE},
            "stopReason": "toolUse" if calls else "stop",
            **self._milliseconds(),
        }

    def _result(self, result: ToolResult) -> dict[str, Any]:
        return {
            "role": "toolResult",
            "toolCallId": result.call_id,
            "toolName": self._calls.get(result.call_id, "unknown"),
            "content": [_part(block) for block in result.content],
            "isError": result.error,
            **self._milliseconds(),
        }

    def _milliseconds(self) -> dict[str, int]:
        return {} if self._at is None else {"timestamp": int(self._at * 1000)}


def _stamped(at: float | None) -> dict[str, str]:
    return {} if at is None else {"timestamp": written(at)}


def _said(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "message": message}


def _part(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature, redacted):
            told: dict[str, Any] = {"type": "thinking", "thinking": text, "thinkingSignature": signature}
            return told | ({"redacted": True} if redacted else {})
        case ToolCall():
            return {"type": "toolCall", "id": block.id, "name": block.name, "arguments": arguments_object(block)}
        case Image(media_type, data) if data:
            return {"type": "image", "data": data, "mimeType": media_type}
        case Document():
            return {"type": "text", "text": block.data if block.media_type == "text/plain" else by_sash("a document")}
        case Image():
            return {"type": "text", "text": by_sash(f"a picture at {block.url}")}
        case Opaque(kind):
            return {"type": "text", "text": by_sash(f"a block of type {kind!r}")}
    raise AssertionError(block)
