"""Work on a database: given as a function of the transaction, for it may have to be run again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from sash.errors import NotFound
from sash.store.running import Running
from sash.store.stored import Row

T = TypeVar("T")


class Transactions(ABC):
    """A database in which work is done."""

    _place: str
    """How errors name the store."""

    @abstractmethod
    def _read(self, tenant: str | None, work: Callable[[Running], T]) -> T:
        """Run reading work on one snapshot. None stands for every tenant."""

    @abstractmethod
    def _write(self, tenant: str | None, work: Callable[[Running], T], *, erasing: bool = False) -> T:
        """Run writing work; returns when it is durable. `erasing`: what is deleted must not linger on the disk."""

    def _ask(self, statement: str, *, tenant: str, **values: Any) -> list[Row]:
        """The rows of one reading statement."""
        return self._read(tenant, lambda run: run.rows(statement, tenant=tenant, **values))


def end_of(run: Running, tenant: str, thread: int, *, shared: bool = False) -> Row:
    """A thread's number and that of its last event; with `shared` also of what is left of a deleted one."""
    found = run.rows("shared_end" if shared else "thread_end", tenant=tenant, thread=thread)
    if not found:
        raise NotFound("thread", thread)
    return found[0]


def microseconds(seconds: float) -> int:
    """As the database counts time; rounded up, so that no lease is shorter than it was asked for."""
    return math.ceil(seconds * 1_000_000)
