"""Factory's droid: Anthropic's messages, one a line, under a heading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.entry import Entry
from sash.transcripts.lines import records
from sash.transcripts.moment import moment
from sash.transcripts.source import Source
from sash.wire import json_text

NAME = "droid"
WIRE = "anthropic"


class _Said(msgspec.Struct, gc=False):
    role: str = ""
    content: msgspec.Raw = json_text.ABSENT


class _Line(msgspec.Struct, gc=False, rename={"session_title": "sessionTitle"}):
    type: str = ""
    id: str | None = None
    title: Any = None
    session_title: Any = None
    cwd: Any = None
    timestamp: Any = None
    message: _Said | None = None


_line = msgspec.json.Decoder(_Line)


def read(source: Source, about: About, _: Asked) -> Iterator[Entry]:
    """The entries of a session."""
    for number, line, _text in records(source, about, _line):
        at = moment(line.timestamp)
        if line.type == "session_start":
            about.id = line.id or about.id
            about.title = next((name for name in (line.session_title, line.title) if isinstance(name, str)), "")
            about.cwd = line.cwd if isinstance(line.cwd, str) else ""
        elif line.type == "message" and line.message is not None and line.message.role in ("user", "assistant"):
            about.started = about.started if about.started is not None else at
            try:
                message = spoken.anthropic(line.message.role, line.message.content or b'""')
            except InvalidMessage as error:
                about.hurt(number, f"no message: {error}")
                continue
            yield Entry(message=message, at=at, line=number, key=line.id or "")
        else:
            about.skipped[line.type or "no type"] += 1
