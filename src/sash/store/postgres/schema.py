"""The schema on PostgreSQL: brought up to date when a store is opened, by whoever may."""

from __future__ import annotations

import psycopg

from sash.errors import NewerDatabase, StoreReadOnly
from sash.store.postgres.running import Connection
from sash.store.queries import migrations, schema

LOCK = 0x73617368
"""The advisory lock of whoever migrates: `sash`."""


def version_of(connection: Connection) -> int:
    """Number of the newest migration that the database has seen."""
    if connection.execute("SELECT to_regclass('sash_schema')").fetchone() == (None,):
        return 0
    row = connection.execute("SELECT max(version) FROM sash_schema").fetchone()
    return int(row[0] or 0) if row else 0


def migrate(connection: Connection, place: str) -> None:
    """Bring the schema up to date in one transaction; refuse what is newer. Many processes may do it at once."""
    latest = len(migrations("postgres"))
    if _is_current(version_of(connection), latest, place):
        return
    # Taken before the transaction begins: one that has to wait inside of it may still see the catalog as it was.
    connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        with connection.transaction():
            _bring_up(connection, version_of(connection), latest, place)
    except psycopg.errors.InsufficientPrivilege as error:
        problem = "its tables are missing or old and this role may not change them; open it once as their owner"
        raise StoreReadOnly(place, problem) from error
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _bring_up(connection: Connection, found: int, latest: int, place: str) -> None:
    if _is_current(found, latest, place):
        return
    if found == 0:
        connection.execute("CREATE TABLE sash_schema (version integer PRIMARY KEY, name text NOT NULL)")
        _run(connection, schema("postgres"))
    for migration in migrations("postgres")[found:]:
        if found:
            _run(connection, migration.sql)
        row = [migration.number, migration.name]
        connection.execute("INSERT INTO sash_schema (version, name) VALUES (%s, %s)", row)


def _is_current(found: int, latest: int, place: str) -> bool:
    if found > latest:
        raise NewerDatabase(place, schema=found, known=latest)
    return found == latest


def _run(connection: Connection, script: str) -> None:
    """A script of our own, from a file of ours."""
    connection.execute(script)
