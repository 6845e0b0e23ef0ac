"""A provider without a model: says back what it was told. For trying things out, and for tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.errors import UnknownProvider
from sash.providers.events import Event, Finished, TextDelta, ToolCalled, Usage
from sash.wire import Conversation, read, wire_named

_call = re.compile(r"\s*call (\S+)(?: (\{.*\}))?\s*\Z", re.DOTALL)
_word = re.compile(r"\S+\s*|\s+")


class Echo:
    """
    Answers every request with its last message, word by word, the same each time.

    Told `call NAME {"json": "arguments"}` it calls that tool, if it was offered; the result it says back.
    """

    def __init__(self, model: str = "echo", *, wire: str = "openai-chat", pause_seconds: float = 0.0) -> None:
        self.name, self.model, self.wire = "echo", model, wire
        self.pause_seconds = pause_seconds
        """Before each word, as if somebody had to think."""
        if wire not in ("openai-chat", "anthropic"):
            raise UnknownProvider("echo", f"it speaks openai-chat and anthropic, not {wire!r}")

    def __repr__(self) -> str:
        return f"Echo({self.model!r}, wire={self.wire!r})"

    async def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        """The last message, said back."""
        asked = read(dict(request), self.wire)
        words, called = said_back(asked)
        cut = max_tokens is not None and len(words) > max_tokens
        words = words[:max_tokens]
        for word in words:
            await asyncio.sleep(self.pause_seconds)
            yield TextDelta(word)
        if called:
            yield called
        yield Finished(
            stop="length" if cut else "calls" if called else "end",
            message=self._message("".join(words), called),
            usage=_usage(asked, max(1, len(words)), self.wire),
            model=self.model,
            id=f"echo-{len(asked.messages)}",
        )

    async def aclose(self) -> None:
        """Nothing is open."""

    def _message(self, text: str, called: ToolCalled | None) -> Mapping[str, Any]:
        spoken = wire_named(self.wire)
        blocks = (ToolCall(called.id, called.name, called.arguments),) if called else (Text(text),)
        [shaped] = spoken.shape(Message(role="assistant", blocks=blocks)).messages
        message: dict[str, Any] = msgspec.json.decode(spoken.write_message(shaped))
        return message


def said_back(asked: Conversation) -> tuple[list[str], ToolCalled | None]:
    """What an echo says to a request, word by word, or the tool that it was told to call."""
    last = asked.messages[-1] if asked.messages else Message(role="user")
    called = _called(last, asked)
    return [] if called else _word.findall(_heard(last)), called


def mark_of(asked: Conversation) -> str:
    """The same for the same request, and another for every other: in a window that slides numbers come again."""
    mark = blake2b(digest_size=6)
    for message in asked.messages:
        mark.update(b"%d:%b" % (len(message.source), message.source))
    return mark.hexdigest()


def _heard(message: Message) -> str:
    results = [
        part.text
        for block in message.blocks
        if type(block) is ToolResult
        for part in block.content
        if type(part) is Text
    ]
    return "\n".join(part for part in (*results, message.text) if part)


def _called(message: Message, asked: Conversation) -> ToolCalled | None:
    found = _call.match(message.text) if message.role == "user" else None
    if found is None or found[1] not in {tool.name for tool in asked.tools}:
        return None
    return ToolCalled(f"call_{mark_of(asked)}", found[1], found[2] or "{}")


_A_MESSAGE = 4
"""Tokens around the words of a message."""


def _usage(asked: Conversation, written: int, wire: str) -> Usage:
    """About what others count of what was asked, so that nobody learns from it that tokens are few; it writes words."""
    read_ = sum(len(_heard(message)) // 4 + _A_MESSAGE for message in asked.messages)
    names = ("prompt_tokens", "completion_tokens") if wire == "openai-chat" else ("input_tokens", "output_tokens")
    return Usage(input_tokens=read_, output_tokens=written, reported=dict(zip(names, (read_, written), strict=True)))
