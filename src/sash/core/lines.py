"""Rows of words as lines of plain text, one column below the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """The rows with their columns lined up, those in `right` at their right edge; the last one as long as it is."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)
