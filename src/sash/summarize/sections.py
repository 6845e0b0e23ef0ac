"""A summary's text, line by line: sections as the digest's, and the turns that each line rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

SECTIONS = ("Task", "Instructions", "Decisions", "Files", "Commands", "Problems", "Names", "Progress")
OWN_WORDS = ("Task", "Instructions")
"""Sections in which the user alone speaks."""
_FIRST_TO_LEAVE = ("Progress", "Commands", "Names", "Files", "Problems", "Decisions", "Instructions", "Task")

_heading = re.compile(r"\s*(?:#{1,6}\s*|\*\*)\s*([A-Za-z ]+?)\s*:?\s*(?:\*\*)?\s*:?\s*\Z")
_bullet = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)])\s+(.*\S)\s*\Z")
_cited = re.compile(r"\[\s*(t\s*\d+(?:\s*(?:[-–,;]|to|and)\s*t?\s*\d+)*)\s*\]", re.IGNORECASE)
_range = re.compile(r"t?\s*(\d+)(?:\s*(?:[-–]|to)\s*t?\s*(\d+))?", re.IGNORECASE)
_WIDEST = 50
"""Turns of one range: a line that rests on everything rests on nothing."""


class Line(msgspec.Struct, frozen=True):
    """One statement of a summary."""

    section: str
    words: str
    turns: tuple[int, ...] = ()
    """The turns that it rests on."""

    def text(self) -> str:
        """As it is written."""
        cited = f" [{', '.join(f't{turn}' for turn in self.turns)}]" if self.turns else ""
        return f"- {self.words}{cited}"


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What a text holds of a summary."""

    lines: tuple[Line, ...]
    stray: tuple[str, ...] = ()
    """Lines that stand in no section or are no bullet."""


def parsed(text: str) -> Parsed:
    """A summary's lines; whatever else there is, is stray."""
    section = ""
    lines: list[Line] = []
    stray: list[str] = []
    for row in text.splitlines():
        if not row.strip():
            continue
        heading = _heading.match(row)
        if heading is not None:
            section = next((name for name in SECTIONS if name.lower() == heading[1].strip().lower()), "")
            if not section:
                stray.append(row.strip())
            continue
        bullet = _bullet.match(row)
        if bullet is not None and section:
            lines.append(_line(section, bullet[1]))
        elif row[:1].isspace() and lines and section and bullet is None:
            # The end of the bullet before it.
            lines[-1] = _line(section, f"{lines[-1].text()[2:]} {row.strip()}")
        else:
            stray.append(row.strip())
    return Parsed(lines=tuple(lines), stray=tuple(stray))


def _line(section: str, words: str) -> Line:
    turns: list[int] = []
    for cited in _cited.finditer(words):
        for found in _range.finditer(cited[1]):
            first, last = found[1], found[2] or found[1]
            if len(first) > 9 or len(last) > 9:
                continue
            turns += range(int(first), min(int(last), int(first) + _WIDEST) + 1)
    bare = " ".join(_cited.sub("", words).split()).rstrip(" ,;")
    return Line(section, bare, tuple(dict.fromkeys(turns)))


def written(lines: Iterable[Line]) -> str:
    """Lines as a summary's text, in the order of the sections."""
    by_section: dict[str, list[Line]] = {}
    for line in lines:
        by_section.setdefault(line.section, []).append(line)
    return "\n\n".join(
        "\n".join([f"## {section}", *(line.text() for line in by_section[section])])
        for section in SECTIONS
        if section in by_section
    )


def within(lines: Sequence[Line], fits: Callable[[str], bool]) -> tuple[Line, ...]:
    """As many lines as fit, whole ones; what matters least leaves first, and of that the oldest."""
    kept = list(lines)
    leaving = [line for section in _FIRST_TO_LEAVE for line in lines if line.section == section]
    low, high = 0, len(leaving)
    while low < high:
        # Halving: counting every length would count the same words again and again.
        middle = (low + high) // 2
        gone = {id(line) for line in leaving[:middle]}
        if fits(written([line for line in kept if id(line) not in gone])):
            high = middle
        else:
            low = middle + 1
    gone = {id(line) for line in leaving[:low]}
    return tuple(line for line in kept if id(line) not in gone)
