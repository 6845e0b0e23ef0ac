"""
Shortened blocks: head, tail, how much was left out, and the handle that gives it back.

A pure function of the block and of how much to keep, so a block looks the same in
every request of its frame, whatever came later.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sash.core.message import Block, Document, Image, Text, Thinking, ToolCall, ToolResult, by_sash
from sash.core.shorter import USUAL_CHARS, shorten_text

ARGUMENT_CHARS = 240
"""What is kept of one long string among a call's arguments."""


def shorten(block: Block, handle: str, keep: int = 0) -> Block:
    """The block as the model sees it once it is shortened; itself, when that would not be less."""
    match block:
        case ToolResult():
            return _shorter_result(block, handle, keep)
        case ToolCall():
            return _shorter_call(block, handle)
        case Text(text):
            short = shorten_text(text, handle, keep)
            return block if short == text else Text(short)
        case Image() | Document():
            return _placeholder(block, handle)
    return block


def weight(block: Block) -> int:
    """How much of a body a block takes, near enough: its words and what is inline in it."""
    match block:
        case Text(text):
            return len(text)
        case ToolCall():
            return len(block.arguments)
        case ToolResult():
            return sum(map(weight, block.content))
        case Image() | Document():
            return len(block.data)
        case Thinking():
            return len(block.text) + len(block.signature)
    return len(block.body)


def _shorter_result(result: ToolResult, handle: str, keep: int) -> ToolResult:
    texts = [part.text for part in result.content if type(part) is Text]
    others = [part for part in result.content if type(part) is not Text]
    whole = "\n".join(texts)
    short = shorten_text(whole, handle, keep)
    if short == whole and not any(isinstance(part, Image | Document) for part in others):
        return result
    shown = [_placeholder(part, handle) if isinstance(part, Image | Document) else part for part in others]
    return msgspec.structs.replace(result, content=(*([Text(short)] if short else []), *shown))


def _placeholder(picture: Image | Document, handle: str) -> Text:
    kind = "image" if type(picture) is Image else "document"
    return Text(by_sash(f"{kind} left out, expand {handle!r} to see it"))


def _shorter_call(call: ToolCall, handle: str) -> ToolCall:
    """The call with its long strings cut: still valid JSON, and still the same names unless there are too many."""
    if call.custom:
        short = shorten_text(call.arguments, handle)
    else:
        try:
            short = _as_json(_shorter_value(json.loads(call.arguments), handle))
        except (ValueError, RecursionError):
            # No JSON, or nothing that could be written as JSON again: words are all that is left.
            short = ""
        if not short or len(short) > USUAL_CHARS:
            words = call.arguments.encode("utf-8", "replace").decode()
            short = _as_json({"shortened": _cut(words, handle)})
    return msgspec.structs.replace(call, arguments=short) if len(short) < len(call.arguments) else call


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half of a surrogate pair can be read from JSON but not be sent.
    text.encode()
    return text


def _shorter_value(value: Any, handle: str) -> Any:
    if isinstance(value, str):
        return _cut(value, handle)
    if isinstance(value, list):
        return [_shorter_value(item, handle) for item in value]
    if isinstance(value, dict):
        return {name: _shorter_value(item, handle) for name, item in value.items()}
    return value


def _cut(text: str, handle: str) -> str:
    if len(text) <= 2 * ARGUMENT_CHARS:
        return text
    left_out = by_sash(f"{len(text) - ARGUMENT_CHARS:,} characters left out, expand {handle!r} to see them")
    return text[: ARGUMENT_CHARS // 2] + left_out + text[-ARGUMENT_CHARS // 2 :]
