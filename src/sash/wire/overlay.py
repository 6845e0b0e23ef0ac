"""Laying blocks over the JSON a message came as, so that what nobody changed keeps its bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from sash.core.message import Block, Opaque, ToolResult
from sash.wire import json_text


def lay_over(
    parts: Sequence[bytes], old: Sequence[Block], new: Sequence[Block], render: Callable[[Any], dict[str, Any]]
) -> msgspec.Raw:
    """
    A JSON list of the new blocks, taken from the parts of the old ones wherever it can be.

    `parts[n]` is what `old[n]` was read from. An unchanged block is its own part; a
    changed one in the same place keeps the fields we do not model, and so do the
    blocks of a result; a block that sash does not know is its own JSON.
    """
    whole: list[bytes] = []
    unused = list(range(len(old)))
    for place, block in enumerate(new):
        same = next((n for n in unused if old[n] == block), None)
        if same is not None:
            unused.remove(same)
            whole.append(parts[same])
        elif type(block) is Opaque:
            whole.append(block.body)
        elif len(old) == len(new) and type(old[place]) is type(block):
            whole.append(_changed(parts[place], old[place], block, render))
        else:
            whole.append(msgspec.json.encode(render(block)))
    return msgspec.Raw(json_text.list_of(whole))


def _changed(part: bytes, old: Block, new: Block, render: Callable[[Any], dict[str, Any]]) -> bytes:
    kept, told = json_text.fields(part), render(new)
    if (
        type(new) is ToolResult
        and type(old) is ToolResult
        and bytes(kept.get("content", b""))[:1] == b"["
        and new.content
    ):
        told |= {"content": lay_over(json_text.items(kept["content"]), old.content, new.content, render)}
    for name in render(old).keys() - told.keys():
        kept.pop(name, None)
    kept.update((name, written(value)) for name, value in told.items())
    return json_text.object_of(kept)


def written(value: Any) -> msgspec.Raw:
    """JSON of a value that code made."""
    return value if isinstance(value, msgspec.Raw) else msgspec.Raw(msgspec.json.encode(value))
