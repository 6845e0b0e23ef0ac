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
        taken = count.value
        tokens += taken
        if not count.exact:
            exact = False
        kind = type(block)
        if kind is Text:
            if taken > SMALL and message.role == "assistant":
                parts.append(Part(place, "text", taken))
        elif kind is ToolResult:
            if taken > SMALL:
                parts.append(Part(place, "result", taken))
        elif kind is ToolCall:
            if taken > SMALL:
                parts.append(Part(place, "arguments", taken))
        elif kind is Thinking:
            signed = signed or bool(block.signature)  # type: ignore[union-attr]  # mypy does not narrow by `kind is`
            parts.append(Part(place, "thinking", taken))
        elif kind is Image or kind is Document:
            parts.append(Part(place, "picture", taken))
    return Size(tokens, exact, len(message.source), tuple(parts), signed)
