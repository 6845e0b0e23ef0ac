"""A session file of some tool, opened: what it is, what it says about itself, and what was said in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from sash.arguments import TEXT, Kind, takes
from sash.errors import UnknownTranscript
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.entry import Entry
from sash.transcripts.registry import Format, format_named
from sash.transcripts.sniff import format_of, trouble_with
from sash.transcripts.source import Source
from sash.wire import Conversation, json_text, write_fields


class Transcript(About):
    """
    A session file, opened.

    What it says about itself (`model`, `title`, `damage`, ...) is filled while it is read, and whole
    when `messages()` came to its end. Nothing is ever written to the file.
    """

    def __init__(self, source: Source, format: Format, part: str = "") -> None:  # noqa: A002  (the word of the domain)
        super().__init__()
        self._source, self._format, self._part = source, format, part

    def __repr__(self) -> str:
        return f"<Transcript {self.name!r} ({self.format})>"

    @property
    def name(self) -> str:
        """The file's name, or what the stream is called."""
        return self._source.name

    @property
    def path(self) -> Path | None:
        """Where the file is; None of a stream."""
        return self._source.path

    @property
    def format(self) -> str:
        """`pi`, `claude-code`, `codex`, ..."""
        return self._format.name

    @property
    def aside(self) -> str:
        """The part that was asked for, once it was read; empty when it is the one that is read unasked."""
        return "" if any(part.usual and part.name == self._part for part in self.parts) else self._part

    @property
    def wire(self) -> str:
        """The wire whose JSON its messages are: what to give to `sash.fit`."""
        return self._format.wire

    def messages(self, *, as_sent: bool = False) -> Iterator[Entry]:
        """
        What was said, in order, read as it is asked for: memory holds one step of it and the largest line.

        All of it, also what the program itself compacted away; `as_sent` gives what the program's
        model saw last, from its newest compaction on.
        """
        About.__init__(self)
        if self._part and not self._format.parts:
            raise self.lacks(self._part)
        yield from self._format.read(self._source, self, Asked(part=self._part, as_sent=as_sent))

    def conversation(self, *, as_sent: bool = False) -> Conversation:
        """All that is sent of it, as a conversation: the system prompt first, with its tools, notes left out."""
        said = tuple(entry.message for entry in self.messages(as_sent=as_sent) if entry.message.role != "meta")
        system = () if self.system is None else (self.system,)
        return Conversation(wire=self.wire, messages=(*system, *said), tools=self.tools)

    def body(self, *, as_sent: bool = False) -> bytes:
        """All that is sent of it, as a body on its wire: `sash.fit(transcript.body(), wire=transcript.wire)`."""
        said = self.conversation(as_sent=as_sent)
        model = {"model": msgspec.json.encode(self.model)} if self.model else {}
        return json_text.object_of(model | write_fields(said.messages, said.tools, self.wire))


@takes(
    given=Kind(
        "a path, or an open file", lambda value: isinstance(value, str | os.PathLike | Source) or hasattr(value, "read")
    ),
    format=TEXT,
    part=TEXT,
)
def open_transcript(
    given: str | os.PathLike[str] | IO[bytes] | Source,
    *,
    format: str = "",  # noqa: A002  (the word of the domain)
    part: str = "",
) -> Transcript:
    """
    A session file, or a stream of one, ready to be read.

    The format is told by its content; `format` says it instead. Of a file with several conversations
    (branches, sub-agents, runs) `part` names the one to read; `parts` lists them once it was read.
    Raises `UnreadableTranscript` or `UnknownTranscript`; damage inside the file raises nothing. A part
    that is not there is `NotFound` as soon as it is read.
    """
    source = given if isinstance(given, Source) else Source(given)
    name = format or format_of(source)
    if not name:
        raise UnknownTranscript(source.name, problem=trouble_with(source))
    return Transcript(source, format_named(name), part)
