"""The one place where errors of SQLite become errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from sash.errors import (
    DamagedDatabase,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Whatever the driver raises in here leaves as a `StoreError`."""
    try:
        yield
    except (apsw.Error, OverflowError, UnicodeError) as error:
        raise translation(error, place) from error


def translation(error: Exception, place: str) -> StoreError:
    """Our error for one of the driver's."""
    problem = str(error)
    match error:
        case apsw.FullError():
            return StoreFull(place, problem)
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(place)
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreReadOnly(place, problem)
        case apsw.CorruptError() | apsw.NotADBError():
            return DamagedDatabase(place, problem)
        case apsw.IOError() if _no_room(error):
            return StoreFull(place, problem)
        case apsw.CantOpenError() | apsw.IOError() | apsw.NoLFSError() | apsw.ConnectionClosedError():
            return StoreUnavailable(place, problem)
        case UnicodeDecodeError():
            return DamagedDatabase(place, "a text in it is no text")
        case OverflowError() | UnicodeEncodeError() | apsw.TooBigError():
            return StoreError(f"a value that {place!r} cannot hold: {problem}")
    return StoreError(f"{place!r}: {type(error).__name__}: {problem}")


def _no_room(error: Exception) -> bool:
    """A mapped file that cannot grow is reported as an I/O error: the disk is as full as it would be otherwise."""
    return getattr(error, "extendedresult", 0) in (
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_TRUNCATE,
    )
