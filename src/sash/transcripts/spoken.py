"""Messages as JSON of a wire, made from what a format holds in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sash.core.message import Message, Text
from sash.wire import wire_named
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


def text_block(words: str) -> bytes:
    """A text of Anthropic's."""
    return msgspec.json.encode({"type": "text", "text": words})


def note(words: str) -> Message:
    """What a file says about itself: never sent."""
    return Message(role="meta", blocks=(Text(words),) if words else ())
