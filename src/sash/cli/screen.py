"""What a command prints on: how wide it is, whether it shows colour, and whether it has more than ASCII."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

import msgspec

from sash.cli.characters import columns_of, speaks_ascii, width_of

Style = Literal["", "bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan"]

_CODES: dict[Style, str] = {
    "": "",
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
PLAIN_WIDTH = 80
"""Of output that no terminal shows."""
NARROWEST = 20


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """Where results go."""

    stream: TextIO
    width: int = PLAIN_WIDTH
    color: bool = False
    ascii_only: bool = False
    terminal: bool = False
    """Whether somebody looks at it."""
    endless: bool = False
    """Nobody looks at it and nobody said how wide it is: what stands last in a line need not be cut."""

    def say(self, line: str = "", style: Style = "") -> None:
        """One line."""
        print(self.styled(line.rstrip(), style), file=self.stream)

    def styled(self, text: str, style: Style) -> str:
        """The text in a style, where there is colour."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color and style and text else text

    def paragraph(self, text: str, style: Style = "", *, indent: str = "") -> None:
        """Words, broken at the screen's width."""
        for line in wrapped(self.drawn(text), self.width - len(indent)):
            self.say(indent + line, style)

    def rule(self, title: str = "") -> None:
        """A line across, with a title in it."""
        middle = f" {title} " if title else ""
        line = middle.center(self.width, "-" if self.ascii_only else "─")
        self.say(line, "dim")

    def cut(self, text: str, columns: int) -> str:
        """As much of a text as fits, its end marked when some is missing."""
        if columns_of(text) <= columns:
            return text
        mark = ".." if self.ascii_only else "…"
        room = columns - columns_of(mark)
        if room <= 0:
            return mark[:columns]
        kept = []
        for character in text:
            room -= width_of(character)
            if room < 0:
                break
            kept.append(character)
        return "".join(kept).rstrip() + mark

    def bar(self, share: float, cells: int = 20) -> str:
        """A bar that is filled by a share of its cells; anything at all fills at least one."""
        full = min(cells, max(1 if share > 0 else 0, round(share * cells)))
        return self.drawn("█" * full + "░" * (cells - full))

    def drawn(self, text: str) -> str:
        """What sash itself draws, with the nearest of ASCII where there is nothing else."""
        return text.translate(_ASCII) if self.ascii_only else text


_ASCII = str.maketrans(
    {"─": "-", "█": "#", "▓": "#", "▒": "=", "░": ".", "·": "-", "…": "..", "├": "|", "└": "`", "│": "|", "→": "->"}
    | {"⚠": "!", "ℹ": "i", "️": "", "📊": "", "▁": "_", "▂": "_", "▃": "-", "▄": "-", "▅": "=", "▆": "=", "▇": "#"}
    | {"▼": "v", "×": "x", "≥": ">=", "–": "-"}
)


def wrapped(text: str, columns: int) -> list[str]:
    """A text in lines that fit, broken between words; a word that is wider than a line is broken itself."""
    lines, line, room = [], "", columns
    for word in text.split():
        rest = word
        wide = columns_of(rest)
        if line and wide + 1 > room:
            lines.append(line)
            line, room = "", columns
        while wide > columns:
            end, taken = 0, 0
            while taken + width_of(rest[end]) <= columns or not end:
                taken += width_of(rest[end])
                end += 1
            lines.append(rest[:end])
            rest = rest[end:]
            wide = columns_of(rest)
        line, room = (f"{line} {rest}", room - wide - 1) if line else (rest, columns - wide)
    return [*lines, line] if line or not lines else lines


def screen(*, color: bool | None = None) -> Screen:
    """The screen that stdout is."""
    # Started with its output closed, a program has no stdout at all.
    return screen_of(sys.stdout or io.StringIO(), os.environ, color=color)


def screen_of(stream: TextIO, environment: Mapping[str, str], *, color: bool | None = None) -> Screen:
    """A stream as a screen."""
    terminal = not stream.closed and stream.isatty()
    if color is None:
        color = terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Screen(
        stream=stream,
        width=_width(stream if terminal else None, environment),
        color=color,
        ascii_only=speaks_ascii(stream, environment),
        terminal=terminal,
        endless=not terminal and not _said_width(environment),
    )


def _width(terminal: TextIO | None, environment: Mapping[str, str]) -> int:
    if said := _said_width(environment):
        return max(NARROWEST, said)
    if terminal is None:
        return PLAIN_WIDTH
    try:
        # Of this very stream: stderr may be shown where stdout goes to a file.
        return max(NARROWEST, os.get_terminal_size(terminal.fileno()).columns or PLAIN_WIDTH)
    except (OSError, ValueError):
        return PLAIN_WIDTH


def _said_width(environment: Mapping[str, str]) -> int:
    """What somebody says it is; 0: nobody does."""
    said = environment.get("COLUMNS", "")
    return int(said) if said.isdecimal() else 0
