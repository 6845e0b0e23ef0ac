"""What a written session file says about itself. Ids and times are given: nothing here draws or reads a clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import chain, islice
from typing import Protocol

import msgspec

from sash.core.message import Message
from sash.transcripts.entry import Entry
from sash.wire import Repair, Tool

AHEAD = 10_000
"""So many entries are held while the first time is looked for."""


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the messages of a session."""

    id: str = "00000000-0000-4000-8000-000000000000"
    """The session's id: a UUID, which pi and Claude Code also expect in the file's name."""
    cwd: str = ""
    """The folder that the session belongs to: where the tool will look for it."""
    model: str = ""
    at: float | None = None
    """When the session began, for entries that have no time of their own; None: the first time that one of them has."""
    system: Message | None = None
    """Written where the format has a place for it; pi and Claude Code bring their own."""
    tools: tuple[Tool, ...] = ()


def begun(entries: Iterable[Entry], heading: Heading) -> tuple[float | None, Iterator[Entry]]:
    """When a session began, None where nobody knows, and its entries."""
    left = iter(entries)
    if heading.at is not None:
        return heading.at, left
    ahead: list[Entry] = []
    for entry in islice(left, AHEAD):
        ahead.append(entry)
        if entry.at is not None:
            break
    return (ahead[-1].at if ahead else None), chain(ahead, left)


class Writer(Protocol):
    """What writing one format takes."""

    def __call__(self, entries: Iterable[Entry], heading: Heading, lost: list[Repair]) -> Iterator[bytes]: ...


def provider_of(model: str) -> str:
    """Who serves a model, by its name."""
    name = model.lower()
    if "claude" in name:
        return "anthropic"
    if "gemini" in name:
        return "google"
    return "openai" if name.startswith(("gpt", "o1", "o3", "o4", "codex")) else "anthropic"


def one_line(text: bytes) -> bytes:
    """JSON on a line of its own: where it breaks lines, that is between values."""
    return text.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def name_for(*parts: object, size: int = 4) -> str:
    """A name made of what it names: the same session is written with the same names."""
    return blake2b("\0".join(map(str, parts)).encode(), digest_size=size).hexdigest()
