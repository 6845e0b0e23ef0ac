"""Files that are one JSON document: taken apart whole, or as far as they can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import msgspec

from sash.errors import InvalidMessage
from sash.transcripts.about import About
from sash.transcripts.source import Source
from sash.wire import json_text

LARGEST = 1 << 30
"""Bytes of a document, which cannot be read in parts."""
LISTS = ("messages", "input", "output", "history", "conversations", "traj", "trajectory")
"""Fields that hold what was said, in one format or another."""

_whole = json.JSONDecoder(parse_int=str, parse_float=str)
_list_of = re.compile(rf'"({"|".join(LISTS)})"\s*:\s*\[')


class Document(msgspec.Struct, frozen=True):
    """A document's fields, or the items of its list."""

    fields: Mapping[str, bytes] = {}
    items: tuple[bytes, ...] = ()
    listed: bool = False
    """It is a list, not an object."""
    text: bytes = b""
    """Of an object: as it stands."""


def document(source: Source, about: About) -> Document:
    """The document that a file is. A torn one is read up to where it was torn."""
    text = source.whole(LARGEST).removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n\0")
    if source.broken:
        about.hurt(0, source.broken)
    return taken(text, about)


def taken(text: bytes, about: About, line: int = 0) -> Document:
    """A document from its text."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        about.hurt(line, f"not UTF-8 at byte {error.start}")
        text = text.decode("utf-8", "replace").encode()
    try:
        if text[:1] == b"[":
            return Document({}, tuple(json_text.items(text)), True)
        return Document({name: bytes(value) for name, value in json_text.fields(text).items()}, text=text)
    except InvalidMessage as error:
        about.hurt(line, f"no whole JSON: {error}")
    mended = json_text.mend_surrogates(text).decode()
    if mended[:1] == "[":
        return Document({}, tuple(_until_torn(mended, 1)), True)
    found = _list_of.search(mended)
    if found is None:
        return Document()
    return Document({found[1]: json_text.list_of(_until_torn(mended, found.end()))})


def _until_torn(text: str, at: int) -> Iterator[bytes]:
    """The items of a list, up to the one that cannot be read."""
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            _, end = _whole.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield text[at:end].encode()
        at = end


def items(given: bytes | None, about: About) -> list[bytes]:
    """The items of a field that holds a list; none, and a word about it, where it holds something else."""
    if given is None or not json_text.present(given):
        return []
    try:
        return json_text.items(given)
    except InvalidMessage as error:
        about.hurt(0, f"no list: {error}")
        return []
