"""The one place where errors of PostgreSQL become errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from sash.errors import (
    DamagedDatabase,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
"""Nobody's fault: the same transaction once more will do."""


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Whatever the driver raises in here leaves as a `StoreError`."""
    try:
        yield
    except (psycopg.Error, OverflowError, UnicodeEncodeError) as error:
        raise translation(error, place) from error


def translation(error: Exception, place: str) -> StoreError:
    """Our error for one of the driver's. Statements and values stay out of it: they may be secret."""
    problem = _problem(error)
    match error:
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreFull(place, problem)
        case errors.ReadOnlySqlTransaction() | errors.InsufficientPrivilege():
            return StoreReadOnly(place, problem)
        case errors.LockNotAvailable() | errors.QueryCanceled() | TooManyRequests():
            return StoreBusy(place)
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return StoreBusy(place)
        case errors.DataCorrupted() | errors.IndexCorrupted() | errors.UndefinedTable() | errors.UndefinedFunction():
            return DamagedDatabase(place, problem)
        case PoolClosed():
            return StoreUnavailable(place, "it was closed")
        case PoolTimeout():
            return StoreUnavailable(place, "no connection could be had in time")
        case errors.IoError() | psycopg.OperationalError():
            return StoreUnavailable(place, problem)
        case psycopg.DataError() | OverflowError() | UnicodeEncodeError():
            return StoreError(f"a value that {place!r} cannot hold: {problem}")
    return StoreError(f"{place!r}: {type(error).__name__}: {problem}")


def _problem(error: Exception) -> str:
    """The first line of what the server says; further lines may quote what was stored."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    return str(error).partition("\n")[0]
