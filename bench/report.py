"""What a benchmark prints: one table, measured in one run, with its floor beside it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.peers import Peer, installed

IN_A_FILE = 180
"""Columns."""


class Report:
    """Where a benchmark puts its table, and where it learns whom to measure beside sash."""

    def __init__(self, console: Console | None = None) -> None:
        # A file has room for the widest table; a terminal has what it has.
        self._console = console or Console(width=None if sys.stdout.isatty() else IN_A_FILE)
        self.peers: tuple[Peer, ...] = installed()
        """Empty under `make bench`; whoever is installed under `make bench-peers`."""

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, note: str = "") -> None:
        """Print one table: the first column names what was measured, the others are numbers."""
        table = Table(title=title, title_justify="left", caption=note or None, caption_justify="left")
        for position, column in enumerate(columns):
            table.add_column(column, justify="left" if position == 0 else "right", no_wrap=position == 0)
        for row in rows:
            table.add_row(*row)
        self._console.print(table)
        self._console.print()
