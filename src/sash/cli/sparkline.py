"""A curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

from sash.cli.screen import Screen

_HEIGHTS = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS = "_.-=+*%#"


def sparkline(screen: Screen, values: Sequence[float], width: int, *, top: float = 0) -> str:
    """The values from left to right, each column the largest of those it stands for."""
    if not values or width < 1:
        return ""
    heights = _ASCII_HEIGHTS if screen.ascii_only else _HEIGHTS
    top = top or max(values) or 1
    columns = min(width, len(values))
    drawn = []
    for column in range(columns):
        first, last = spread(column, columns, len(values))
        share = max(values[first:last]) / top
        drawn.append(heights[min(len(heights) - 1, max(0, round(share * (len(heights) - 1))))])
    return "".join(drawn)


def marks(screen: Screen, places: Sequence[int], count: int, width: int) -> str:
    """A line below a sparkline that points at some of its values."""
    columns = min(width, count)
    drawn = [" "] * columns
    for column in range(columns):
        first, last = spread(column, columns, count)
        if any(first <= place < last for place in places):
            drawn[column] = "^" if screen.ascii_only else "▲"
    return "".join(drawn).rstrip()


def spread(column: int, columns: int, count: int) -> tuple[int, int]:
    """Which of so many values a column stands for."""
    first = column * count // columns
    return first, max(first + 1, (column + 1) * count // columns)
