"""Statements by name on a connection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from sash.store.queries import statements
from sash.store.running import PAGE_BYTES
from sash.store.stored import Row


class Transaction:
    """What work sees of the database."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._execute = connection.execute
        self._many = connection.executemany
        self._statements = statements("sqlite")

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run it and take all rows."""
        return list(self._execute(self._statements[statement], values).fetchall())

    def page(self, statement: str, **values: Any) -> tuple[list[Row], bool]:
        """Run it and take rows up to the one that passes `PAGE_BYTES`. Whether these were the last."""
        page: list[Row] = []
        size = 0
        rows: Iterator[Row] = self._execute(self._statements[statement], values)
        for row in rows:
            page.append(row)
            size += len(row[2]) + len(row[9])
            if size >= PAGE_BYTES:
                return page, False
        return page, len(page) < values["limit"]

    def run(self, statement: str, **values: Any) -> None:
        """Run it for what it does."""
        self._execute(self._statements[statement], values)

    def many(self, statement: str, values: Iterable[dict[str, Any]]) -> None:
        """Run it once for each set of values."""
        for _ in self._many(self._statements[statement], values):
            raise AssertionError("a statement that is run many times gives no rows")
