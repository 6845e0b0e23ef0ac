"""Anthropic's `cache_control` in the JSON that it came in: counted, and taken out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.message import Message
from sash.wire import json_text

FIELD = "cache_control"
_SPELLED = b'"cache_control"'
_HOLDERS = ("content", "source")
"""Fields in which blocks stand, of messages, results and documents; nobody looks into the arguments of a call."""
_DEEPEST = 8
"""A message, its blocks, a result, its blocks, a document, its source, its blocks, a text."""


def marks_in(node: bytes, level: int = _DEEPEST) -> int:
    """How many breakpoints a message, a system prompt or a tool has."""
    return _walk(node, 0, level)[1] if _SPELLED in node else 0


def without_marks(node: bytes, first: int) -> bytes:
    """The same without its first breakpoints, so many of them."""
    return _walk(node, first, _DEEPEST)[0]


def _walk(node: bytes, drop: int, level: int) -> tuple[bytes, int]:
    found = 0
    if not level or _SPELLED not in node or node[:1] not in (b"{", b"["):
        return node, found
    if node[:1] == b"[":
        whole: list[bytes] = []
        for item in json_text.items(node):
            left, count = _walk(item, max(0, drop - found), level - 1)
            whole.append(left)
            found += count
        return json_text.list_of(whole), found
    kept = json_text.fields(node)
    for name in _HOLDERS:
        if name in kept:
            left, count = _walk(bytes(kept[name]), max(0, drop - found), level - 1)
            kept[name] = msgspec.Raw(left)
            found += count
    if json_text.present(kept.get(FIELD)):
        if found < drop:
            del kept[FIELD]
        found += 1
    return json_text.object_of(kept), found


def spared(messages: Sequence[Message], over: int) -> dict[int, int]:
    """
    Which messages lose how many of their first breakpoints, where there are so many too many.

    The newest stays longest, because it is what the next request is read from; then those of the
    system prompt, which stand there whatever slides; so the earlier ones of the conversation go first.
    """
    counts = {place: count for place, message in enumerate(messages) if (count := marks_in(message.source))}
    said = [place for place in counts if messages[place].role != "system"]
    order = [place for place in said for _ in range(counts[place])][:-1]
    order += [place for place in counts if messages[place].role == "system" for _ in range(counts[place])]
    order += said[-1:]
    lost: dict[int, int] = {}
    for place in order[: max(0, over)]:
        lost[place] = lost.get(place, 0) + 1
    return lost
