"""What the beginning of a session tells of it: enough to know it again in a list."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec

from sash.core.turn import title_of, wrote
from sash.errors import SashError
from sash.transcripts.source import Source
from sash.transcripts.transcript import open_transcript

REACH = 1 << 18
"""Bytes that are looked at, however long the session is."""


class Glimpse(msgspec.Struct, frozen=True, kw_only=True):
    """As much of a session as a list has room for."""

    title: str = ""
    """What the tool calls it."""
    cwd: str = ""
    asked: str = ""
    """The title of its first turn."""


def glimpse(path: Path) -> Glimpse:
    """What a session file begins with; nothing of one that cannot be read."""
    try:
        beginning = b""
        for chunk in Source(path).chunks(REACH):
            beginning += chunk
            if len(beginning) >= REACH:
                break
        transcript = open_transcript(io.BytesIO(beginning))
        messages = (entry.message for entry in transcript.messages())
        asked = next((title_of(message) for message in messages if wrote(message)), "")
    except SashError:
        return Glimpse()
    return Glimpse(title=transcript.title, cwd=transcript.cwd, asked=asked)
