"""
Lines of JSON out of a file that may be damaged.

A torn line, a run of NUL bytes, two records on one line, a line too long to hold: each is listed by
its number, what can be saved of it is, and the rest of the file is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from sash.transcripts.about import About
from sash.transcripts.source import Source
from sash.wire.json_text import mend_surrogates

T = TypeVar("T")

LONGEST = 256 << 20
"""Bytes of a line; a longer one is skipped without being held. Rollouts with pictures in them have lines of 15 MB."""
_WHITE = b" \t\r\n\x0b\x0c"
_BOM = b"\xef\xbb\xbf"
_START = re.compile(r'\{"[A-Za-z_$]{1,20}"\s*:')
_TRIES = 256
_whole = json.JSONDecoder(parse_int=str, parse_float=str)


class Record(NamedTuple, Generic[T]):
    """A line that was read."""

    line: int
    value: T
    text: bytes


def lines(source: Source, about: About, *, longest: int = LONGEST) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, empty ones left out; of one too long, only its number is told."""
    number, size = 1, 0
    held: list[bytes] = []
    for chunk in source.chunks():
        *ended, rest = chunk.split(b"\n")
        for text in ended:
            if held:
                held.append(text)
                size += len(text)
                text, held = b"".join(held), []  # noqa: PLW2901  (the whole line)
            if size > longest:
                about.hurt(number, f"a line of {size:,} bytes, more than {longest:,}: skipped")
            elif stripped := text.strip(_WHITE):
                yield number, stripped
            number, size = number + 1, 0
        size += len(rest)
        if size > longest:
            held = [b""]
        elif rest:
            held.append(rest)
    if size > longest:
        about.hurt(number, f"a line of {size:,} bytes, more than {longest:,}: skipped")
    elif stripped := b"".join(held).strip(_WHITE):
        yield number, stripped
    if source.broken:
        about.hurt(number, source.broken)


def records(
    source: Source, about: About, decoder: msgspec.json.Decoder[T], *, longest: int = LONGEST
) -> Iterator[Record[T]]:
    """The records of a file, one a line; what is none is listed as damage."""
    first = True
    for number, text in lines(source, about, longest=longest):
        if first:
            text, first = text.removeprefix(_BOM), False  # noqa: PLW2901  (a mark, not a part of the line)
        try:
            record = Record(number, decoder.decode(text), text) if _sound(text) else None
        except (msgspec.MsgspecError, ValueError, RecursionError):
            record = None
        if record is None:
            yield from _saved(number, text, about, decoder)
        else:
            yield record


def _sound(text: bytes) -> bool:
    """Whether all of it is text: a decoder does not look into what it is not asked for."""
    if (b"\\ud" in text or b"\\uD" in text) and mend_surrogates(text) != text:
        return False
    if not text.isascii():
        text.decode()
    return True


def readable(text: bytes) -> bytes:
    """A line as it can be read: U+FFFD for what is no text in it, and no mark or NUL bytes around it."""
    text = text.removeprefix(_BOM).strip(_WHITE + b"\0")
    if not text.isascii():
        text = text.decode("utf-8", "replace").encode()
    return mend_surrogates(text)


def _saved(number: int, text: bytes, about: About, decoder: msgspec.json.Decoder[T]) -> Iterator[Record[T]]:
    """What can be saved of a line that does not read as it stands."""
    if b"\0" in text:
        empty = text.count(b"\0")
        text = text.replace(b"\0", b"").strip(_WHITE)
        about.hurt(number, f"{empty:,} NUL bytes")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        about.hurt(number, f"not UTF-8 at byte {error.start}")
        text = text.decode("utf-8", "replace").encode()
    mended = mend_surrogates(text)
    if mended != text:
        about.hurt(number, "half of a surrogate pair, read as U+FFFD")
    found = _objects(mended)
    if len(found) > 1:
        about.hurt(number, f"{len(found)} records on one line, taken apart")
    elif not found and text:
        about.hurt(number, _problem(mended))
    elif found and len(found[0]) < len(mended):
        about.hurt(number, f"{len(mended) - len(found[0]):,} bytes that belong to no record")
    for part in found:
        try:
            yield Record(number, decoder.decode(part), part)
        except RecursionError:
            about.hurt(number, "nested too deeply")
        except (msgspec.MsgspecError, ValueError) as error:
            about.hurt(number, f"no record of this format: {error}")


def _objects(text: bytes) -> list[bytes]:
    """The JSON objects on a line: one, several in a row, or the one that was written behind a torn one."""
    found: list[bytes] = []
    said, at = text.decode(), 0
    while at < len(said):
        try:
            value, end = _whole.raw_decode(said, at)
        except (ValueError, RecursionError):
            behind = _behind(said, at)
            return [*found, behind.encode()] if behind else found
        if isinstance(value, dict):
            found.append(said[at:end].encode())
        at = end
        while at < len(said) and said[at].isspace():
            at += 1
    return found


def _behind(said: str, at: int) -> str:
    """The record behind a torn one: it alone ends where the line ends."""
    starts = [match.start() for match in _START.finditer(said, at + 1)]
    for start in starts[: -_TRIES - 1 : -1]:
        try:
            if _whole.raw_decode(said, start)[1] == len(said):
                return said[start:]
        except (ValueError, RecursionError):
            continue
    return ""


def _problem(text: bytes) -> str:
    try:
        value: Any = msgspec.json.decode(text)
    except RecursionError:
        return "nested too deeply"
    except (msgspec.MsgspecError, ValueError) as error:
        torn = "truncated" in str(error)
        return "torn: it ends in the middle" if torn else f"no JSON: {error}"
    return f"no record of this format: {type(value).__name__!r}"
