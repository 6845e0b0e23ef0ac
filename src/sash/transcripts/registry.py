"""The formats by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import msgspec

from sash.errors import UnknownFormat
from sash.transcripts import bodies, claude_code, codex, droid, gemini, locomo, pi, sharegpt, swe_agent
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.entry import Entry
from sash.transcripts.source import Source

Read = Callable[[Source, About, Asked], Iterator[Entry]]


class Format(msgspec.Struct, frozen=True):
    """A format that can be read."""

    name: str
    wire: str
    """The wire whose JSON its messages are."""
    read: Read
    parts: bool = True
    """Whether a file of it can hold several conversations."""


def _opencode(source: Source, about: About, asked: Asked) -> Iterator[Entry]:
    # The database's driver is brought in only for a database.
    from sash.transcripts import opencode

    return opencode.read(source, about, asked)


def _bodies(wire: str) -> Format:
    return Format(wire, wire, partial(bodies.read, wire=wire))


FORMATS: Mapping[str, Format] = {
    found.name: found
    for found in (
        Format(claude_code.NAME, claude_code.WIRE, claude_code.read),
        Format(pi.NAME, pi.WIRE, pi.read),
        Format(codex.NAME, codex.WIRE, codex.read, parts=False),
        Format(gemini.NAME, gemini.WIRE, gemini.read, parts=False),
        Format("opencode", "anthropic", _opencode),
        Format(droid.NAME, droid.WIRE, droid.read, parts=False),
        Format(sharegpt.NAME, sharegpt.WIRE, sharegpt.read),
        Format(swe_agent.NAME, swe_agent.WIRE, swe_agent.read, parts=False),
        Format(locomo.NAME, locomo.WIRE, locomo.read),
        _bodies("openai-chat"),
        _bodies("openai-responses"),
        _bodies("anthropic"),
    )
}


def format_named(name: str) -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise UnknownFormat(name, tuple(FORMATS))
    return FORMATS[name]
