"""Messages as JSON of a wire, made from what a format holds in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sash.core.message import Message, Text, by_sash
from sash.errors import InvalidMessage
from sash.transcripts.about import About
from sash.wire import json_text, wire_named
from sash.wire.json_text import list_of, object_of

Written = bytes | msgspec.Raw


def message(wire: str, fields: dict[str, Any]) -> Message:
    """The message that these fields are on a wire; raises `InvalidMessage` where they are none."""
    return wire_named(wire).read_message(msgspec.json.encode(fields))


def anthropic(role: str, content: Sequence[Written] | Written) -> Message:
    """A message of Anthropic's from blocks that keep their bytes."""
    whole = content if isinstance(content, bytes | msgspec.Raw) else list_of(content)
    source = object_of({"role": msgspec.json.encode(role), "content": whole})
    return wire_named("anthropic").read_message(source)


def saved(role: str, blocks: Sequence[Written], about: About, line: int) -> Message:
    """A message of Anthropic's, or what can be saved of it: a result stays one, so that its call is answered."""
    try:
        return anthropic(role, blocks)
    except InvalidMessage as error:
        about.hurt(line, f"not all of a message: {error}")
    kept: list[Written] = []
    for block in blocks:
        try:
            anthropic(role, [block])
            kept.append(block)
        except InvalidMessage:
            fields = json_text.fields(block)
            if json_text.present(fields.get("tool_use_id")):
                unread = msgspec.json.encode(by_sash("a result that could not be read"))
                told = {"type": msgspec.Raw(b'"tool_result"'), "tool_use_id": fields["tool_use_id"], "content": unread}
                kept.append(json_text.object_of(told))
    return anthropic(role, kept)


def text_block(words: str) -> bytes:
    """A text of Anthropic's."""
    return msgspec.json.encode({"type": "text", "text": words})


def note(words: str) -> Message:
    """What a file says about itself: never sent."""
    return Message(role="meta", blocks=(Text(words),) if words else ())
