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
from collections.abc import Iterator, Sequence
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

# Each is looked for from a literal on, which is found at the speed of the machine: words, or the start of a line.
_numbered = r"\n[ \t]*+(?:\d++(?:[ \t]*+[→:|]|[ ]*+\t)[ \t]*+)?"
_failure = re.compile(
    r"\b(?:errors?|failed|failures?|fatal|exception|traceback|panic(?:ked)?|assert\w*error|segfault|undefined|cannot"
    r"|denied|not found|no such)\b",
    re.IGNORECASE,
)
_FAILURES = (
    "error", "failed", "failure", "fatal", "exception", "traceback", "panic", "assert", "segfault", "undefined",
    "cannot", "denied", "not found", "no such",
)  # fmt: skip
"""How each of those begins."""
_PYTEST = "\ne  "
"""How a line begins that tells what a test found wrong, in small letters."""
_CROSSES = "✗✘×"
_crossed = re.compile(rf"[^\S\n]*[{_CROSSES}]")
_ODD = "\u017f\u212a\u0131\u0130"
"""Letters that are others of the alphabet where case is ignored."""
_diff = re.compile(r"\n(?:diff --git |@@ |\+\+\+ |rename |deleted file|new file)")
_definition = re.compile(
    _numbered + r"(?:(?:(?:export|default|pub|public|private|protected|static|abstract|async|final)\s+){0,4}"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|describe|CREATE)\b"
    r"|#{1,4}\s\S)"
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


def unmarked(text: str) -> str:
    """The text without the marks of what was left out of it: handles are no names of anybody's."""
    if _OURS not in text:
        return text
    return "\n".join([line for line in text.split("\n") if not line.startswith(_OURS)])


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
    left_out = _mark(f"{total - min(len(lines), HEAD_LINES + TAIL_LINES):,} lines", handle)
    if not tail:
        return f"{head}\n{left_out}"
    return "\n".join([head, left_out, *_telling(lines[HEAD_LINES:-TAIL_LINES], room, numbered=numbered), tail])


MOSTLY_NEW = 0.7
"""Where fewer of the lines are new, equal ones in a row are folded."""


def _telling(lines: Sequence[str], room: int, *, numbered: bool) -> list[str]:
    """Lines of the middle that tell most about it, with their numbers; spread over it where there are too many."""
    if entries := _entries(lines):
        return [entries] if len(entries) < room else []
    text = "\n".join(["", *lines])
    for starts_of in (_failing, _changing, _defining):
        starts = starts_of(text)
        # What nearly every line says tells nothing.
        if not starts or len(starts) > MOST_TELLING * len(lines):
            continue
        told, number, before = [], HEAD_LINES, 0
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


def _failing(text: str) -> list[int]:
    """Where the lines start that tell of a failure."""
    # One letter for each: what is found in it stands at the same place in the text.
    plain = text.encode("ascii", "replace").lower().decode()
    starts = set(_found(plain, _PYTEST))
    for word in _FAILURES:
        at = plain.find(word)
        while at >= 0:
            if _failure.match(text, at):
                starts.add(text.rfind("\n", 0, at) + 1)
                at = text.find("\n", at)
            at = plain.find(word, at + 1) if at >= 0 else at
    if not text.isascii():
        starts |= _failing_oddly(text)
    return sorted(starts)


def _found(text: str, start: str) -> Iterator[int]:
    """Where the lines are that start like this."""
    at = text.find(start)
    while at >= 0:
        yield at + 1
        at = text.find(start, at + 1)


def _failing_oddly(text: str) -> set[int]:
    """Lines with a cross before them, and with words whose letters have another case than one would think."""
    starts: set[int] = set()
    if any(mark in text for mark in _CROSSES):
        starts.update(at for at in _found(text, "\n") if _crossed.match(text, at))
    if any(letter in text for letter in _ODD):
        starts.update(text.rfind("\n", 0, found.end()) + 1 for found in _failure.finditer(text))
    return starts


def _changing(text: str) -> list[int]:
    """Where the lines start that tell which file and which part of it a diff changes."""
    return [found.start() + 1 for found in _diff.finditer(text)]


def _defining(text: str) -> list[int]:
    """Where the lines start that define something, or are headings."""
    return list(dict.fromkeys(text.rfind("\n", 0, found.end()) + 1 for found in _definition.finditer(text)))


MOST_TELLING = 0.5


def _entries(lines: Sequence[str]) -> str:
    """Of a listing: how many entries are in which folder."""
    paths: list[str] = []
    for few in (lines[:SAMPLE], lines):
        paths = [line.strip() for line in few]
        if sum(_entry.fullmatch(path) is not None for path in paths) < MOSTLY_ENTRIES * len(paths):
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
