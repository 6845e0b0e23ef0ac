"""The store for many machines."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from sash.errors import StoreError, UnknownStore
from sash.store.postgres.connection import PATIENCE_SECONDS, Pool, read, write
from sash.store.postgres.faults import translated, translation
from sash.store.postgres.running import Connection, known
from sash.store.postgres.schema import migrate, version_of
from sash.store.queries import migrations
from sash.store.rows import Health, Matching
from sash.store.running import Running
from sash.store.sql import SqlStore
from sash.store.stored import LAST, Row
from sash.store.words import holds, places, words

T = TypeVar("T")

CONNECTIONS = 16
"""That one process holds at the most; more callers wait."""

DOCTOR_SECONDS = 3.0
"""A doctor does not wait for long."""

CANDIDATES = 64
"""Messages that are looked at in one go for whether they hold a phrase."""


class PostgresStore(SqlStore):
    """Threads in a PostgreSQL database, shared by as many machines as like."""

    def __init__(self, url: str, *, connections: int = CONNECTIONS) -> None:
        self._place = _without_password(url)
        with translated(self._place):
            # The first one by hand: to wait for a pool that cannot connect says nothing about why.
            with Connection.connect(url, autocommit=True, connect_timeout=int(PATIENCE_SECONDS)) as connection:
                migrate(connection, self._place)
                connection.execute(known()["forget_receipts"])
            self._pool: Pool = ConnectionPool(
                url,
                connection_class=Connection,
                kwargs={"autocommit": True},
                min_size=0,
                max_size=connections,
                open=True,
                name="sash",
                reconnect_timeout=PATIENCE_SECONDS,
            )

    def _read(self, tenant: str | None, work: Callable[[Running], T]) -> T:
        with translated(self._place):
            return read(self._pool, tenant, work)

    def _write(self, tenant: str | None, work: Callable[[Running], T], *, erasing: bool = False) -> T:  # noqa: ARG002 - what is deleted goes with the next vacuum
        with translated(self._place):
            return write(self._pool, tenant, work)

    def _add_event(self, run: Running, values: dict[str, Any]) -> None:
        run.run("add_event", **values)
        if values["text"]:
            at = {name: values[name] for name in ("tenant", "thread", "seq")}
            found = {*words(values["text"]), *places(values["tenant"], values["thread"])}
            run.run("add_words", **at, words=sorted(found))

    def _drop_words(self, run: Running, tenant: str, thread: int, *, after: int, until: int = LAST) -> None:
        run.run("drop_words", tenant=tenant, thread=thread, after=after, until=until)

    def _found(self, run: Running, wanted: list[list[str]], match: Matching, values: dict[str, Any]) -> list[Row]:
        all_of = places(values["tenant"], values["thread"])
        listed = [word for phrase in wanted for word in phrase]
        any_of = listed if match == "any" else None
        if match != "any":
            all_of += listed
        found: list[Row] = []
        newest = (LAST, LAST, LAST)
        # The index knows which words a message has but not in which order.
        while len(found) < values["limit"]:
            made_us, thread, seq = newest
            page = run.rows(
                "search",
                tenant=values["tenant"],
                all_of=all_of,
                any_of=any_of,
                made_us=made_us,
                before_thread=thread,
                before_seq=seq,
                limit=CANDIDATES,
            )
            found += [row[:6] for row in page if holds(row[5], wanted, match)]
            if len(page) < CANDIDATES:
                break
            newest = page[-1][6], page[-1][7], page[-1][2]
        return found[: values["limit"]]

    def _of_kinds(self, kinds: Collection[str]) -> list[str]:
        return sorted(kinds)

    def health(self) -> Health:
        """Whether it can be reached, is up to date, and keeps tenants apart."""
        problems: list[str] = []
        engine, version = "PostgreSQL", 0
        try:
            with self._pool.connection(timeout=DOCTOR_SECONDS) as connection:
                engine = f"PostgreSQL {connection.info.parameter_status('server_version')}"
                version = version_of(connection)
                problems += _role_problems(connection)
        except psycopg.Error as error:
            problems.append(str(translation(error, self._place)))
        known = len(migrations("postgres"))
        if version != known and not problems:
            problems.append(f"the schema is at {version} and should be at {known}; open it with this sash once")
        return Health(kind="postgresql", engine=engine, place=self._place, schema=version, problems=tuple(problems))

    def backup(self, path: Path) -> None:
        """The server's own tools do that better."""
        raise StoreError(f"{self._place!r} is not copied to {str(path)!r} by sash; use `pg_dump`")

    def close(self) -> None:
        """Whoever still works finishes first."""
        self._pool.close()


def _role_problems(connection: Connection) -> list[str]:
    row = connection.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user").fetchone()
    if row and row[0]:
        return ["connects as a role that row-level security does not hold for; use one that is no superuser"]
    return []


def _without_password(url: str) -> str:
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise UnknownStore("postgresql:...", str(error).strip()) from None
    parts.pop("password", None)
    return make_conninfo("", **parts)
