"""Opening a database file: safe modes, safe settings, the schema in place."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import apsw

from sash.errors import DamagedDatabase, NewerDatabase, StoreReadOnly, StoreUnavailable
from sash.store.queries import migrations, schema

Durability = Literal["full", "normal"]
"""`full`: what is acknowledged survives a power cut. `normal`: it survives a crash; a power cut may take the tail."""

BUSY_SECONDS = 30.0
WAL_LIMIT = 16_000_000
"""Bytes that the write-ahead log shrinks to when it is emptied."""

APPLICATION_ID = 0x73617368
"""`sash`, so that `file` and a careful program know whose database it is."""

Access = Literal["write", "read", "still"]
"""`still`: nothing may be written beside the file either, so SQLite is told that nobody changes it."""

_FLAGS: dict[Access, int] = {
    "write": apsw.SQLITE_OPEN_READWRITE,
    "read": apsw.SQLITE_OPEN_READONLY,
    "still": apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
}


def prepare(path: Path) -> None:
    """Make file and folder, for nobody's eyes but the owner's, whatever the umask says."""
    try:
        folder = path.parent
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o700)
            folder.chmod(0o700)
        if not path.exists():
            # SQLite gives its side files the mode of the database.
            path.touch(mode=0o600)
            path.chmod(0o600)
    except PermissionError as error:
        raise StoreReadOnly(str(path), error.strerror or str(error)) from error
    except OSError as error:
        raise StoreUnavailable(str(path), error.strerror or str(error)) from error


def connect(path: Path, *, durability: Durability, writer: bool, access: Access = "write") -> apsw.Connection:
    """A connection with the settings that every one of ours has."""
    name = f"file:{quote(str(path.absolute()))}?immutable=1" if access == "still" else str(path)
    connection = apsw.Connection(name, flags=_FLAGS[access] | apsw.SQLITE_OPEN_NOMUTEX)
    try:
        connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        connection.create_scalar_function("now_us", _now_us, 0)
        for pragma in (
            f"synchronous = {durability}",
            f"journal_size_limit = {WAL_LIMIT}",
            "foreign_keys = ON",
            "trusted_schema = OFF",
            "cell_size_check = ON",
            "temp_store = MEMORY",
            "cache_size = -8000",
            "secure_delete = FAST",
            # The writer empties the log itself, after its commit, where a failure is not the commit's.
            "wal_autocheckpoint = 0",
            f"query_only = {'OFF' if writer else 'ON'}",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except apsw.Error:
        connection.close()
        raise
    return connection


def access_for_reading(path: Path, durability: Durability) -> Access:
    """
    How a database that may not be written is read; refuses one that cannot be, as it is.

    A reader, too, has to put a file beside the database, which a folder may forbid: then it is
    read as something that nobody changes. Not while a write-ahead log holds some of it.
    """
    access: Access = "read"
    try:
        found = _version_in(path, durability, access)
    except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
        wal = Path(f"{path}-wal")
        if wal.exists() and wal.stat().st_size > 0:
            problem = "nor read: some of it is still in its write-ahead log, which only who may write can open"
            raise StoreReadOnly(str(path), problem) from error
        access = "still"
        found = _version_in(path, durability, access)
    latest = len(migrations("sqlite"))
    _refuse_newer(path, found, latest)
    if found < latest:
        problem = f"its schema is at {found} and has to be brought to {latest} before it is read"
        raise StoreReadOnly(str(path), problem)
    return access


def _version_in(path: Path, durability: Durability, access: Access) -> int:
    connection = connect(path, durability=durability, writer=False, access=access)
    try:
        return version_of(connection)
    finally:
        connection.close()


def _now_us(*_: object) -> int:
    return time.time_ns() // 1000


def set_up(connection: apsw.Connection, path: Path) -> str:
    """Bring mode and schema up to date; many processes may do it at once. Returns the journal mode."""
    if connection.readonly("main"):
        # SQLite opens for reading what may not be written, and would say so only at the first commit.
        raise apsw.ReadOnlyError("the file is read-only")
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = str(connection.pragma("journal_mode", "WAL"))
            migrate(connection, path)
            return mode
        except apsw.BusyError:
            # Changing the mode does not wait for others by itself.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def version_of(connection: apsw.Connection) -> int:
    """Number of the newest migration that the database has seen."""
    return int(connection.pragma("user_version"))


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Bring the schema up to date, each step in a transaction of its own; refuse what is newer or not ours."""
    known = migrations("sqlite")
    latest = len(known)
    if (found := version_of(connection)) == latest and latest:
        return
    _refuse_newer(path, found, latest)
    if found:
        keep_copy(connection, path.with_name(f"{path.name}.schema-{found}"))
    for migration in known:
        with Immediate(connection):
            found = version_of(connection)
            _refuse_newer(path, found, latest)
            if found >= migration.number:
                continue
            if found == 0:
                if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall():
                    raise DamagedDatabase(str(path), "it is a database of something else than sash")
                connection.execute(schema("sqlite"))
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", latest)
            else:
                connection.execute(migration.sql)
                connection.pragma("user_version", migration.number)


def _refuse_newer(path: Path, found: int, latest: int) -> None:
    if found > latest:
        raise NewerDatabase(str(path), schema=found, known=latest)


def keep_copy(
    connection: apsw.Connection, path: Path, *, look: Callable[[apsw.Connection], None] | None = None
) -> None:
    """
    A copy of the whole database as of one moment, complete under its name or not there at all.

    `look` may look at it before it gets its name, and raise.
    """
    if not path.parent.is_dir():
        # A store of one's own gets its folder; a copy is put where somebody says, and that may be misspelt.
        raise StoreUnavailable(str(path), "its folder is not there")
    part = path.with_name(f"{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        prepare(part)
        copy = apsw.Connection(str(part))
        try:
            with copy.backup("main", connection, "main") as backup:
                while not backup.done:
                    backup.step(1000)
            copy.pragma("journal_mode", "DELETE")
            if look is not None:
                look(copy)
        finally:
            copy.close()
        part.replace(path)
    except OSError as error:
        raise StoreUnavailable(str(path), error.strerror or str(error)) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


class Immediate:
    """A transaction that takes the write lock at once: to find out later that one may not write helps nobody."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            # A failed COMMIT may leave the transaction open, and some failures end it by themselves.
            if not self._connection.get_autocommit():
                self._connection.execute("ROLLBACK")
