"""A giant result as it enters the window: shortened before anybody has seen it, and then never changed."""

from __future__ import annotations

import msgspec

from sash.core.live import LiveMessage
from sash.core.shorten import weight
from sash.core.shown import in_short
from sash.core.size import Part
from sash.core.tokens import Counter


def recorded(live: LiveMessage, limit: int, counter: Counter) -> LiveMessage:
    """The message with results that are over the limit cut to four fifths of it; itself where it has none."""
    size, keep = live.size, limit * 4 // 5
    blocks, parts = list(live.message.blocks), list(size.parts)
    for place, part in enumerate(size.parts):
        if part.kind == "result" and part.tokens > limit:
            short = in_short(live, part.block, keep)
            blocks[part.block] = short
            parts[place] = Part(part.block, part.kind, counter.block(short).value)
    if tuple(blocks) == live.message.blocks:
        return live
    smaller = msgspec.structs.replace(
        size,
        tokens=size.tokens - sum(part.tokens for part in size.parts) + sum(part.tokens for part in parts),
        body=size.body - sum(map(weight, live.message.blocks)) + sum(map(weight, blocks)),
        parts=tuple(parts),
    )
    return LiveMessage(live.position, live.message.edit(tuple(blocks)), smaller, live.message, keep)
