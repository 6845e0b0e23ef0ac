"""
A long text in few lines: its head, its tail, and between them what tells most, by what kind of text it is.

Of a test or build log the failures, of a diff its files and hunks, of source code its definitions, of a
document its headings, each with its line number, so that exactly those lines can be asked back. Of JSON its
keys, counts and first items. Lines that repeat are folded. A pure function of the text and of how much to keep.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from sash.core.message import by_sash

HEAD_LINES = TAIL_LINES = 10
USUAL_CHARS = 2_400
"""The most that the usual form keeps: ten lines can be megabytes."""
TELLING = 120
"""Characters of a line from the middle."""
REPEATED = 4
"""So many equal lines in a row are folded into one."""
FIRST_ITEMS = ((3, 120), (1, 60))
"""Of a list in JSON so many items are shown, of a string so many characters; fewer where that is too much."""
DEEPEST = 6

_MARK_ROOM = 100
"""More than the mark between head and tail takes."""
EXPANDED = by_sash("expanded ")[:-1]
"""How an answer begins that gives back what was shortened: it is not shortened behind its own back."""

_numbered = r"^[ \t]*(?:\d+[ \t]*[→:|\t][ ]?)?[ \t]*"
_failure = re.compile(
    r"\b(?:errors?|failed|failures?|fatal|exception|traceback|panic(?:ked)?|assert\w*error|segfault|undefined|cannot"
    r"|denied|not found|no such)\b|^E {2,}|^\s*[✗✘×]",
    re.IGNORECASE | re.MULTILINE,
)
_diff = re.compile(r"^(?:diff --git |@@ |\+\+\+ |rename |deleted file|new file)", re.MULTILINE)
_definition = re.compile(
    _numbered + r"(?:(?:export|default|pub|public|private|protected|static|abstract|async|final)\s+){0,4}"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|describe|CREATE)\b"
    r"|" + _numbered + r"#{1,4}\s\S",
    re.MULTILINE,
)
_entry = re.compile(r"[^\s:]*[/.][^\s:]*|[d-][rwx-]{9}.*")


def shorten_text(text: str, handle: str, keep: int = 0) -> str:
    """
    The text in short; itself where that would not be shorter, or where it has this form already.

    With `keep`, about so many characters of it instead of the usual few lines.
    """
    most = keep or USUAL_CHARS
    if len(text) <= most + _MARK_ROOM and _is_marked(text, handle):
        return text
    if not keep and text.startswith(EXPANDED):
        return text
    short = _shorter(text, handle, most, usual=not keep)
    return short if len(short) < len(text) else text


def _shorter(text: str, handle: str, most: int, *, usual: bool) -> str:
    if usual and len(text) > most and (outline := _outline(text, most)):
        return f"{outline}\n{_mark(f'{len(text) - len(outline):,} characters', handle)}"
    lines = text.split("\n")
    if usual and len(lines) > HEAD_LINES + TAIL_LINES:
        if short := _by_lines(lines, handle, most):
            return short
    elif len(text) <= most:
        return text
    half = most // 2
    head, tail = _whole_lines(text[:half], end=True), _whole_lines(text[len(text) - half :], end=False)
    return f"{head}\n{_mark(f'{len(text) - len(head) - len(tail):,} characters', handle)}\n{tail}"


def _mark(left_out: str, handle: str) -> str:
    return by_sash(f"{left_out} left out, expand {handle!r} to see them")


def _is_marked(text: str, handle: str) -> bool:
    end = text.find(f" left out, expand {handle!r} to see them]")
    return end >= 0 and text.startswith(_OURS, text.rfind("\n", 0, end) + 1)


_OURS = by_sash("")[:-1]


def _whole_lines(text: str, *, end: bool) -> str:
    """The piece without the line that was cut, unless that costs more than a quarter of it."""
    if end:
        cut = text.rfind("\n")
        return text[:cut] if cut > len(text) * 3 // 4 else text
    cut = text.find("\n") + 1
    return text[cut:] if 0 < cut < len(text) // 4 else text


def _folded(lines: Sequence[str]) -> list[str]:
    """The lines with equal ones in a row told once."""
    found: list[str] = []
    for text, run in groupby(lines):
        times = sum(1 for _ in run)
        if times >= REPEATED and text.strip():
            found += [text, f"({times - 1:,} times more)"]
        else:
            found += [text] * times
    return found


def _by_lines(lines: Sequence[str], handle: str, most: int) -> str:
    """Head, tail and what tells most between them; empty where even head and tail are too much."""
    total, numbered = len(lines), True
    if len(set(lines)) < MOSTLY_NEW * total:
        lines, numbered = _folded(lines), False
    head, tail = "\n".join(lines[:HEAD_LINES]), "\n".join(lines[-TAIL_LINES:])
    if len(lines) <= HEAD_LINES + TAIL_LINES:
        head, tail = "\n".join(lines), ""
    room = most - len(head) - len(tail)
    if room < 0 or total == len(lines) <= HEAD_LINES + TAIL_LINES:
        return ""
    between = "\n".join(lines[HEAD_LINES:-TAIL_LINES]) if tail else ""
    left_out = _mark(f"{total - min(len(lines), HEAD_LINES + TAIL_LINES):,} lines", handle)
    return "\n".join([head, left_out, *_telling(between, room, numbered=numbered), *([tail] if tail else [])])


MOSTLY_NEW = 0.7
"""Where fewer of the lines are new, equal ones in a row are folded."""


def _telling(text: str, room: int, *, numbered: bool) -> list[str]:
    """Lines of the middle that tell most about it, with their numbers; spread over it where there are too many."""
    if entries := _entries(text):
        return [entries] if len(entries) < room else []
    total = text.count("\n") + 1
    for kind in (_failure, _diff, _definition):
        starts = dict.fromkeys(text.rfind("\n", 0, found.end()) + 1 for found in kind.finditer(text))
        # What nearly every line says tells nothing.
        if not starts or len(starts) > MOST_TELLING * total:
            continue
        told, number, before = [], HEAD_LINES + 1, 0
        for start in starts:
            number += text.count("\n", before, start)
            before, end = start, text.find("\n", start)
            line = text[start : end if end >= 0 else len(text)].strip()[:TELLING]
            told.append(f"{number:>6}: {line}" if numbered else f"        {line}")
        every = 1
        while every <= len(told) and sum(len(line) + 1 for line in told[::every]) > room:
            every += 1
        if every <= len(told):
            return told[::every]
    return []


MOST_TELLING = 0.5


def _entries(text: str) -> str:
    """Of a listing: how many entries are in which folder."""
    paths = [line.strip() for line in text.split("\n")]
    for few in (paths[:SAMPLE], paths):
        if sum(_entry.fullmatch(path) is not None for path in few) < MOSTLY_ENTRIES * len(few):
            return ""
    folders = Counter(path.rpartition("/")[0] or "." for path in paths)
    most = sorted(folders.items(), key=lambda pair: (-pair[1], pair[0]))[:FOLDERS]
    return f"entries left out: {', '.join(f'{folder} {count:,}' for folder, count in most)}"


FOLDERS = 8
SAMPLE = 20
MOSTLY_ENTRIES = 0.9


def _number(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


# Numbers stay as they are written, whatever their size.
_decoder = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_number)


def _outline(text: str, most: int) -> str:
    """JSON with its keys, its counts and its first items; empty where the text is none, or has too many keys."""
    if text[:1] not in ("{", "["):
        return ""
    try:
        value = _decoder.decode(text)
        for items, characters in FIRST_ITEMS:
            outline = msgspec.json.encode(_outlined(value, items, characters, DEEPEST)).decode()
            if len(outline) <= most:
                return outline
    except (ValueError, RecursionError):
        pass
    return ""


def _outlined(value: Any, items: int, characters: int, depth: int) -> Any:
    if isinstance(value, str):
        if len(value) <= characters:
            return value
        return f"{value[:characters]}… ({len(value) - characters:,} characters more)"
    if isinstance(value, dict):
        if not depth:
            return f"({len(value):,} keys)"
        return {key: _outlined(item, items, characters, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        if not depth:
            return f"({len(value):,} items)"
        shown = [_outlined(item, items, characters, depth - 1) for item in value[:items]]
        return [*shown, f"({len(value) - items:,} items more)"] if len(value) > items else shown
    return value
