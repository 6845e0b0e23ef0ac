"""Blocks carried from one wire to another, and files in the spellings that both know."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any

from sash.core.message import Block, Document, Image, Message, Opaque, Text, Thinking, ToolResult, by_sash

LEFT_OUT = by_sash("what was said here cannot be told on this wire")

Take = Callable[[Image | Document], Block | None]
"""A file as another wire can take it, or None."""


def carried(message: Message, take: Take) -> tuple[list[Block], list[str]]:
    """The blocks that the other wire can carry, and the names of those that it cannot."""
    if message.role in ("assistant", "system", "developer"):
        take = _no_file
    blocks, lost = _carried(message.blocks, take)
    if lost and not blocks and message.role == "user":
        blocks = [Text(LEFT_OUT)]
    return blocks, lost


def _carried(given: Sequence[Block], take: Take) -> tuple[list[Any], list[str]]:
    blocks: list[Block] = []
    lost: list[str] = []
    for block in given:
        if isinstance(block, Image | Document):
            taken = take(block)
            if taken is None:
                lost.append("image" if isinstance(block, Image) else "document")
            else:
                blocks.append(taken)
        elif isinstance(block, Thinking):
            lost.append("thinking")
        elif isinstance(block, Opaque):
            lost.append(block.kind)
        elif isinstance(block, ToolResult):
            content, missing = _carried(block.content, take)
            blocks.append(ToolResult(block.call_id, tuple(content), block.error, block.custom))
            lost += missing
        else:
            blocks.append(block)
    return blocks, lost


def _no_file(_: Image | Document) -> None:
    return None


def told(result: ToolResult) -> ToolResult:
    """A result for a wire that has no flag for errors: its words say so."""
    if not result.error:
        return result
    first, rest = (result.content[0], result.content[1:]) if result.content else (None, ())
    said = (Text(f"Error: {first.text}"),) if isinstance(first, Text) else (Text("Error"), *result.content[:1])
    return ToolResult(result.call_id, (*said, *rest), custom=result.custom)


def by_id(block: Image | Document) -> bool:
    """Whether only its provider knows where it is."""
    return not block.data and "://" not in block.url


def words_of(document: Document) -> Text:
    """A document that is text, as text."""
    return Text(f"{document.title}\n\n{document.data}" if document.title else document.data)


def inline(url: str) -> tuple[str, str]:
    """Media type and base64 of a `data:` address; two empty strings of any other."""
    if not url.startswith("data:"):
        return "", ""
    media_type, _, encoded = url[5:].partition(";base64,")
    return (media_type, encoded) if encoded else ("", "")


def inline_document(url: str, title: str) -> Document | None:
    """The document in a `data:` address, the words themselves where it is plain text."""
    media_type, encoded = inline(url)
    if not encoded:
        return None
    if media_type == "text/plain":
        try:
            encoded = b64decode(encoded, validate=True).decode()
        except ValueError:
            return None
    return Document(media_type, encoded, "", title)


def data_url(block: Image | Document) -> str:
    """Its `data:` address."""
    encoded = block.data
    if isinstance(block, Document) and block.media_type == "text/plain":
        encoded = b64encode(encoded.encode()).decode()
    return f"data:{block.media_type};base64,{encoded}"
