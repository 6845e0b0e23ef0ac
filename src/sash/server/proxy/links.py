"""
What was said, as a chain of digests: one for each beginning of a history.

Two histories have the same link where they have said the same up to there. Cache breakpoints are no
part of what was said, for clients move them; nor is the system prompt that leads it, which changes from
request to request (dates, folders).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from sash.wire import json_text

START = b"\0" * 16


def after_system(items: Sequence[bytes]) -> Sequence[bytes]:
    """The history without the system prompt that leads it."""
    for place, item in enumerate(items):
        role = msgspec.json.decode(json_text.mend_surrogates(item), type=_Role).role if item[:1] == b"{" else "user"
        if role not in ("system", "developer"):
            return items[place:]
    return ()


class _Role(msgspec.Struct):
    role: str = ""


def bytes_chained(items: Sequence[bytes]) -> list[bytes]:
    """A digest for each beginning of a history, of the bytes that it came as."""
    links: list[bytes] = []
    last = START
    for item in items:
        last = blake2b(item, digest_size=16, key=last).digest()
        links.append(last)
    return links


def chained(items: Sequence[bytes], *, after: bytes = START) -> list[bytes]:
    """A digest for each beginning of a history, or of one that goes on after another's."""
    links: list[bytes] = []
    last = after
    for item in items:
        last = blake2b(_said(item), digest_size=16, key=last).digest()
        links.append(last)
    return links


class Chain:
    """The links of a whole history, asked for by positions in it."""

    def __init__(self, listed: bytes) -> None:
        items = json_text.items(listed)
        said = after_system(items)
        self._lead, self._links = len(items) - len(said), chained(said)

    @property
    def first(self) -> bytes:
        """The link of the first message."""
        return self._links[0] if self._links else START

    def until(self, position: int) -> bytes:
        """The link of all before a position of the history."""
        place = position - self._lead
        return START if place <= 0 or not self._links else self._links[min(place, len(self._links)) - 1]


def _said(item: bytes) -> bytes:
    try:
        said = msgspec.json.decode(item)
        return msgspec.json.encode(_without_breakpoints(said) if b"cache_control" in item else said)
    except (msgspec.DecodeError, RecursionError):
        return item


def _without_breakpoints(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_breakpoints(part) for name, part in value.items() if name != "cache_control"}
    if isinstance(value, list):
        return [_without_breakpoints(part) for part in value]
    return value
