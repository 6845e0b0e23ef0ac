"""Server-sent events out of bytes, however the bytes were cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from sash.errors import AnswerBroken

MOST_BYTES = 64_000_000
"""Of one event: an image in base64 fits, an endless line does not."""

T = TypeVar("T")

_line_end = re.compile(rb"\r\n|\r|\n")


class ServerEvent(msgspec.Struct, frozen=True):
    """One event of a stream."""

    name: str
    """Empty where it has none."""
    data: bytes


class EventReader:
    """
    Bytes go in as they come, whole events come out.

    Each byte is looked at once: an event of megabytes that comes in a thousand pieces is
    put together when its last one is there.
    """

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._line: list[bytes] = []
        """Pieces of the line that has not ended yet."""
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that end with this piece."""
        if self._after_cr and chunk:
            # A line that ended with the last byte of the piece before: its line feed is no second end.
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r") if chunk else self._after_cr
        *lines, rest = _line_end.split(chunk)
        for line in lines:
            if self._line:
                line = b"".join([*self._line, line])  # noqa: PLW2901  (the same line, whole)
                self._line.clear()
            yield from self._take(line)
        if rest:
            self._line.append(rest)
            self._grown(len(rest))

    def end(self) -> Iterator[ServerEvent]:
        """The event that the stream ended in, where its empty line is missing."""
        if self._line:
            line, self._line = b"".join(self._line), []
            yield from self._take(line)
        yield from self._take(b"")

    def _take(self, line: bytes) -> Iterator[ServerEvent]:
        if self._first:
            self._first, line = False, line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            if self._data:
                yield ServerEvent(self._name, b"\n".join(self._data))
            self._name, self._data, self._size = "", [], 0
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._grown(len(value))
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")

    def _grown(self, size: int) -> None:
        self._size += size
        if self._size > self._most_bytes:
            raise AnswerBroken(f"one event of its stream is larger than {self._most_bytes:,} bytes")


def decoded(decoder: msgspec.json.Decoder[T], source: bytes) -> T:
    """A piece of an answer, or `AnswerBroken` where it is none."""
    try:
        return decoder.decode(source)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AnswerBroken(f"a piece of the answer is not what it should be: {error}", worth_retrying=True) from None
