"""How large a message is, and which parts of it could be made smaller."""

from __future__ import annotations

from typing import Literal

import msgspec

from sash.core.message import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from sash.core.tokens import Counter

Kind = Literal["result", "arguments", "text", "thinking", "picture"]


class Part(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A block that could be shortened or left out."""

    block: int
    kind: Kind
    tokens: int


class Size(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a message takes, counted once, when it enters."""

    tokens: int
    exact: bool = True
    body: int = 0
    """Bytes of its JSON."""
    parts: tuple[Part, ...] = ()
    signed: bool = False
    """It holds thinking that is bound to what was said before it."""


SMALL = 64
"""Blocks of fewer tokens are not worth shortening."""


def size_of(message: Message, counter: Counter) -> Size:
    """The message's size, block by block."""
    around = counter.around(message)
    tokens, exact, signed = around.value, around.exact, False
    parts: list[Part] = []
    for place, block in enumerate(message.blocks):
        count = counter.block(block)
        tokens += count.value
        exact = exact and count.exact
        kind = _KINDS.get(type(block))
        if kind == "thinking":
            signed = signed or bool(block.signature)  # type: ignore[union-attr]  # only Thinking has this kind
            parts.append(Part(place, kind, count.value))
        elif kind == "text":
            if message.role == "assistant" and count.value > SMALL:
                parts.append(Part(place, kind, count.value))
        elif kind == "picture" or (kind is not None and count.value > SMALL):
            parts.append(Part(place, kind, count.value))
    return Size(tokens, exact, len(message.source), tuple(parts), signed)


_KINDS: dict[type, Kind] = {
    ToolResult: "result",
    ToolCall: "arguments",
    Text: "text",
    Thinking: "thinking",
    Image: "picture",
    Document: "picture",
}
