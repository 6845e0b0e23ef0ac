"""
Statements by name on a connection, in a pipeline.

What gives no rows is sent along with what comes next, so that an append takes two round
trips to the server however many rows it writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, LiteralString
from uuid import uuid4

import psycopg

from sash.store.queries import statements
from sash.store.running import PAGE_BYTES
from sash.store.stored import Row


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that numbers what it writes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.id = uuid4()
        self.writes = 0


_VALUE = re.compile(r"(?<!:):([a-z_]+)\b")


@cache
def known() -> Mapping[str, LiteralString]:
    """The statements as psycopg writes them. All of them come from our own files."""
    named = statements("postgres")
    return {name: _VALUE.sub(r"%(\1)s", sql) for name, sql in named.items()}


class Transaction:
    """What work sees of the database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._statements = known()

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run it and take all rows."""
        return list(self._connection.execute(self._statements[statement], values, binary=True).fetchall())

    def page(self, statement: str, **values: Any) -> tuple[list[Row], bool]:
        """Run it and take rows up to the one that passes `PAGE_BYTES`, which the server looks to."""
        page = self.rows(statement, **values, bytes=PAGE_BYTES)
        # Counted as the server counts.
        size = sum([len(row[2]) + len(row[9].encode()) for row in page])
        return page, len(page) < values["limit"] and size < PAGE_BYTES

    def run(self, statement: str, **values: Any) -> None:
        """Send it; whether it went well shows with the next rows, or at the commit."""
        self._connection.execute(self._statements[statement], values)

    def many(self, statement: str, values: Iterable[dict[str, Any]]) -> None:
        """Send it once for each set of values."""
        with self._connection.cursor() as cursor:
            cursor.executemany(self._statements[statement], list(values))
