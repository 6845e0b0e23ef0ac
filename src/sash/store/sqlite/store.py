"""The store in one file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import apsw
import msgspec

from sash.errors import DamagedDatabase, StoreReadOnly, StoreUnavailable
from sash.store.queries import migrations, statements
from sash.store.rows import Health, Matching
from sash.store.running import Running
from sash.store.sql import SqlStore
from sash.store.sqlite.connection import (
    WAL_LIMIT,
    Access,
    Durability,
    access_for_reading,
    connect,
    keep_copy,
    prepare,
    set_up,
    version_of,
)
from sash.store.sqlite.faults import translated, translation
from sash.store.sqlite.running import Transaction
from sash.store.sqlite.writer import Writer
from sash.store.stored import LAST, Row, event_of
from sash.store.words import places, words

T = TypeVar("T")

READERS = 8
"""Connections that are kept for reading; more are made when needed and closed again."""

WAL_WORRY = 8 * WAL_LIMIT
SAFE_VERSION = (3, 51, 3)
"""Before it, two processes that write and empty the log at once may lose what was committed."""


class SqliteStore(SqlStore):
    """Threads in a SQLite database, shared by as many threads and processes of one machine as like."""

    _writer: Writer
    """Of a store that may be written."""

    def __init__(
        self, path: Path, *, durability: Durability = "full", read_only: bool = False, to_write: bool = False
    ) -> None:
        self.path, self.durability = path, durability
        self._place = str(path)
        self._idle: list[apsw.Connection] = []
        self._lock = Lock()
        self._closed = False
        self._access: Access = "write"
        self._why_not = "its address says mode=ro" if read_only else ""
        """Why it may not be written."""
        self._mode = "wal"
        if not read_only:
            self._begin_writing()
        if self._why_not:
            if to_write:
                raise StoreReadOnly(self._place, self._why_not)
            with translated(self._place):
                self._access = access_for_reading(path, durability)

    def _begin_writing(self) -> None:
        """Make what is missing, and a writer; of a database that is there and may only be read, note why not."""
        prepare(self.path)
        with translated(self._place):
            try:
                connection = connect(self.path, durability=self.durability, writer=True)
                try:
                    self._mode = set_up(connection, self.path)
                except BaseException:
                    connection.close()
                    raise
                self._writer = Writer(connection, self._place)
            except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
                if isinstance(error, apsw.CantOpenError) and _may_be_written(self.path):
                    # Something else is wrong, such as too many open files: that passes.
                    raise
                self._why_not = str(error)

    def _write(self, tenant: str | None, work: Callable[[Running], T], *, erasing: bool = False) -> T:  # noqa: ARG002 - here every statement names the tenant itself
        if self._closed:
            raise StoreUnavailable(self._place, "it was closed")
        if self._why_not:
            raise StoreReadOnly(self._place, self._why_not)
        with translated(self._place):
            result: T = self._writer.write(work, erasing=erasing)
            return result

    def _read(self, tenant: str | None, work: Callable[[Running], T]) -> T:  # noqa: ARG002 - as above
        if self._closed:
            raise StoreUnavailable(self._place, "it was closed")
        with translated(self._place):
            connection = self._take()
            try:
                connection.execute("BEGIN")
                try:
                    return work(Transaction(connection))
                finally:
                    if not connection.get_autocommit():
                        connection.execute("COMMIT")
            finally:
                self._give_back(connection)

    def _take(self) -> apsw.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return connect(self.path, durability=self.durability, writer=False, access=self._access)

    def _give_back(self, connection: apsw.Connection) -> None:
        with self._lock:
            if len(self._idle) < READERS and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _add_event(self, run: Running, values: dict[str, Any]) -> None:
        run.run("add_event", **values)
        if values["text"]:
            place = " ".join(places(values["tenant"], values["thread"]))
            run.run("add_words", place=place, words=" ".join(words(values["text"])))

    def _drop_words(self, run: Running, tenant: str, thread: int, *, after: int, until: int = LAST) -> None:
        place = " ".join(places(tenant, thread))
        indexed = run.rows("indexed", tenant=tenant, thread=thread, after=after, until=until)
        # The index holds no text and is told word by word what to forget: `words` may not change without a migration.
        run.many("drop_words", ({"id": id_, "place": place, "words": " ".join(words(text))} for id_, text in indexed))

    def _found(self, run: Running, wanted: list[list[str]], match: Matching, values: dict[str, Any]) -> list[Row]:
        place = " ".join(places(values["tenant"], values["thread"]))
        joint = " OR " if match == "any" else " AND "
        # Words are letters and digits only, so that a quoted one cannot end its quotes.
        query = joint.join(f'"{" ".join(phrase)}"' for phrase in wanted)
        return run.rows("search", **values, query=f'place : "{place}" AND text : ({query})')

    def _of_kinds(self, kinds: Collection[str]) -> str:
        return msgspec.json.encode(sorted(kinds)).decode()

    def health(self) -> Health:
        """Looks at every page of the file."""
        problems = [*self._file_problems()]
        version = 0
        try:
            connection = self._take()
            try:
                version = version_of(connection)
                problems += [f"damaged: {found}; restore a backup" for found in _broken_pages(connection)]
                self._look_at_events(connection)
            finally:
                self._give_back(connection)
        except (apsw.Error, UnicodeDecodeError) as error:
            problems.append(str(translation(error, self._place)))
        except DamagedDatabase as error:
            problems.append(str(error))
        known = len(migrations("sqlite"))
        if version != known and not problems:
            problems.append(f"the schema is at {version} and should be at {known}; open it with this sash once")
        return Health(
            kind="sqlite",
            engine=f"SQLite {apsw.sqlite_lib_version()}",
            place=self._place,
            schema=version,
            wal_bytes=self._wal_bytes(),
            problems=tuple(problems),
        )

    def _file_problems(self) -> list[str]:
        problems = []
        if tuple(map(int, apsw.sqlite_lib_version().split("."))) < SAFE_VERSION:
            problems.append("this SQLite may lose what two processes write at once; upgrade apsw")
        if self._mode != "wal":
            problems.append(
                f"journal mode {self._mode!r}: the file system shares no memory; readers will wait for writers"
            )
        if self.path.exists() and (mode := stat.S_IMODE(self.path.stat().st_mode)) & 0o077:
            problems.append(f"{self._place!r} is open to others (mode {mode:o}); chmod 600 it")
        if self._why_not or not _may_be_written(self.path):
            why = f" ({self._why_not})" if self._why_not else ""
            problems.append(f"{self._place!r} may not be written{why}; look at its permissions")
        if (size := self._wal_bytes()) > WAL_WORRY:
            problems.append(f"the write-ahead log has grown to {size:,} bytes; some reader does not let go")
        return problems

    def _wal_bytes(self) -> int:
        wal = Path(f"{self.path}-wal")
        return wal.stat().st_size if wal.exists() else 0

    def backup(self, path: Path) -> None:
        """The copy is complete and sound under its name, or not there: a damaged one would take a good one's place."""
        with translated(self._place):
            connection = self._take()
            try:
                keep_copy(connection, path, look=self._look_at)
            finally:
                self._give_back(connection)

    def _look_at(self, connection: apsw.Connection) -> None:
        """Raises where a page or an event is not what was written."""
        for found in _broken_pages(connection):
            raise DamagedDatabase(self._place, found)
        self._look_at_events(connection)

    def _look_at_events(self, connection: apsw.Connection) -> None:
        for row in connection.execute(statements("sqlite")["every_event"]):
            event_of(row, self._place)

    def close(self) -> None:
        """The last one to close a database also empties its write-ahead log."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        if not self._why_not:
            self._writer.close()


def _may_be_written(path: Path) -> bool:
    """Whether its permissions, and those of its folder, let us write it."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(place, os.W_OK, effective_ids=effective) for place in (path, path.parent))


def _broken_pages(connection: apsw.Connection) -> list[str]:
    """What SQLite finds wrong with its pages."""
    return [str(found) for (found,) in connection.execute("PRAGMA integrity_check(10)") if found != "ok"]
