"""Tables that fit: on a narrow screen the least important columns go first, and one column gives way to the rest."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.cli.characters import columns_of
from sash.cli.screen import Screen, Style

GAP = 2


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table."""

    title: str = ""
    right: bool = False
    """Set to the right, as numbers are."""
    gives_way: bool = False
    """Is cut where there is no room for all; one column of a table."""
    cut_last: bool = False
    """It gives way only when no other column can be left out."""
    least: int = 6
    """Below this width it is not cut; other columns are left out before."""
    rank: int = 0
    """Which columns are left out first where there is no room: the highest; 0: never."""


class Cell(msgspec.Struct, frozen=True):
    """A text in a style."""

    text: str
    style: Style = ""


Row = Sequence[Cell | str]


def print_table(screen: Screen, columns: Sequence[Column], rows: Sequence[Row], *, heading: bool = True) -> None:
    """A table within the width of the screen."""
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    widths = widths_of(screen, columns, cells, heading=heading)
    if not widths:
        for row in cells:
            _print_stacked(screen, row)
        return
    if heading and any(column.title for column in columns):
        titles = [Cell(column.title, "dim") for column in columns]
        screen.say(line_of(screen, columns, titles, widths))
    for row in cells:
        screen.say(line_of(screen, columns, row, widths))


def widths_of(
    screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, heading: bool = True
) -> list[int]:
    """How wide each column is; 0: it is left out. None at all: they do not fit beside each other."""
    widths = [columns_of(screen.drawn(column.title)) if heading else 0 for column in columns]
    for row in rows:
        widths = [max(width, columns_of(screen.drawn(cell.text))) for width, cell in zip(widths, row, strict=True)]
    order = sorted((place for place, column in enumerate(columns) if column.rank), key=lambda at: -columns[at].rank)
    elastic = next((place for place, column in enumerate(columns) if column.gives_way), None)
    needed = list(widths)
    while (over := _total(widths) - screen.width) > 0:
        gives = elastic is not None and widths[elastic] - over >= columns[elastic].least
        if elastic is not None and gives and not (order and columns[elastic].cut_last):
            widths[elastic] -= over
        elif order:
            widths[order.pop(0)] = 0
        else:
            return []
    if screen.endless and elastic == len(widths) - 1 and widths[elastic]:
        widths[elastic] = needed[elastic]
    return widths


def _print_stacked(screen: Screen, row: Sequence[Cell]) -> None:
    """The cells below each other, all but the first set in."""
    for place, cell in enumerate(cell for cell in row if cell.text):
        indent = "  " if place else ""
        text = screen.cut(screen.drawn(cell.text), screen.width - len(indent))
        screen.say(indent + screen.styled(text, cell.style))


def line_of(screen: Screen, columns: Sequence[Column], row: Sequence[Cell], widths: Sequence[int]) -> str:
    """One row as a line."""
    parts = []
    shown = [place for place, width in enumerate(widths) if width]
    for place in shown:
        text = screen.cut(screen.drawn(row[place].text), widths[place])
        pad = " " * (widths[place] - columns_of(text))
        text = screen.styled(text, row[place].style)
        last = place == shown[-1]
        parts.append(pad + text if columns[place].right else text if last else text + pad)
    return (" " * GAP).join(parts)


def _total(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + GAP * max(0, len(shown) - 1)
