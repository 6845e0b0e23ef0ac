"""The whole of a block, or some of its lines."""

from __future__ import annotations

import re

from sash.core.message import Block, Document, Image, Text, Thinking, ToolCall, ToolResult
from sash.errors import InvalidArgument


def text_of(block: Block) -> str:
    """All there is of a block: its words, and the data or address of its images and documents."""
    match block:
        case ToolResult():
            return "\n".join(map(text_of, block.content))
        case ToolCall():
            return block.arguments
        case Text() | Thinking():
            return block.text
        case Image() | Document():
            return block.data or block.url
    return block.body.decode(errors="replace")


def excerpt(text: str, *, lines: tuple[int, int] | None = None, grep: str | None = None) -> str:
    """A text, or some of its lines: by number, from 1, or by a pattern."""
    if lines is not None:
        if not 1 <= lines[0] <= lines[1]:
            raise InvalidArgument("lines", lines, "the first line, and a last one that is not before it, as in 1-80")
        text = "\n".join(text.split("\n")[lines[0] - 1 : lines[1]])
    if grep is not None:
        wanted = _pattern(grep)
        text = "\n".join(line for line in text.split("\n") if wanted.search(line))
    return text


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        plain = f"for the text itself write {re.escape(text)!r}"
        raise InvalidArgument("grep", text, f"a regular expression, and this has {error}; {plain}") from None
