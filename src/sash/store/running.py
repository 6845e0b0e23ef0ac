"""How work is done on a database: statements by their names, in a transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from sash.store.stored import Row

PAGE = 1024
"""Events that are read in one go."""
PAGE_BYTES = 4_000_000
"""A page ends with the event that passes this."""


class Running(Protocol):
    """A transaction in which statements are run by their names."""

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run it and take all rows."""

    def page(self, statement: str, **values: Any) -> tuple[list[Row], bool]:
        """Run it and take rows up to the one that passes `PAGE_BYTES`. Whether these were the last."""

    def run(self, statement: str, **values: Any) -> None:
        """Run it for what it does; it may be under way until something is read or all is committed."""

    def many(self, statement: str, values: Iterable[dict[str, Any]]) -> None:
        """Run it once for each set of values."""
