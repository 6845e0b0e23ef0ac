"""Writing a history, or a window of one, as a session file of some tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import IO

import msgspec

from sash.core.message import Message
from sash.errors import UnknownFormat
from sash.transcripts import body_writer, claude_code_writer, pi_writer
from sash.transcripts.entry import Entry
from sash.transcripts.heading import Heading, Writer
from sash.wire import Repair

WRITERS: Mapping[str, Writer] = {
    "pi": pi_writer.write,
    "claude-code": claude_code_writer.write,
    "openai-chat": partial(body_writer.write, wire="openai-chat"),
    "openai-responses": partial(body_writer.write, wire="openai-responses"),
    "anthropic": partial(body_writer.write, wire="anthropic"),
}


class Wrote(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    bytes: int
    lost: tuple[Repair, ...] = ()
    """What the format has no place for: what, of which message, why. Of `merged` messages that is only their end."""


def write_transcript(
    said: Iterable[Entry | Message],
    format: str,  # noqa: A002  (the word of the domain)
    into: IO[bytes],
    *,
    heading: Heading | None = None,
) -> Wrote:
    """
    Write what was said as a file of this format: one that its tool can resume from, or a provider's body.

    Takes entries as they were read, or plain messages. Notes are left out. The same history, heading and format
    give the same bytes.
    """
    if format not in WRITERS:
        raise UnknownFormat(format, tuple(WRITERS))
    lost: list[Repair] = []
    written = 0
    for part in WRITERS[format](_entries(said), heading or Heading(), lost):
        into.write(part)
        written += len(part)
    return Wrote(bytes=written, lost=tuple(lost))


def _entries(said: Iterable[Entry | Message]) -> Iterator[Entry]:
    for each in said:
        yield each if isinstance(each, Entry) else Entry(message=each)
