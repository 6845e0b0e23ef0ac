"""The schema is what the migrations lead to; old databases are brought up, newer ones left alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import apsw
import psycopg
import pytest

from sash.errors import DamagedDatabase, NewerDatabase, StoreReadOnly
from sash.store import open_store
from sash.store.queries import migrations, schema, statements
from tests.store.building import texts_of, thread_of
from tests.store.server import Server

LATEST = len(migrations("sqlite"))


def sqlite_at(path: Path, version: int) -> None:
    """A database as an older sash left it."""
    connection = apsw.Connection(str(path))
    for migration in migrations("sqlite")[:version]:
        connection.execute(migration.sql)
    connection.pragma("user_version", version)
    connection.close()
    path.chmod(0o600)


def shape_of(path: Path) -> list[tuple[object, ...]]:
    """Everything that a SQLite database says about itself."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
    rows.append(tuple(connection.execute("SELECT k, v FROM words_config ORDER BY k").fetchall()))
    connection.close()
    return rows


def test_the_schema_of_sqlite_is_what_its_migrations_lead_to(scratch: Path) -> None:
    sqlite_at(scratch / "migrated.db", LATEST)
    connection = apsw.Connection(str(scratch / "schema.db"))
    connection.execute(schema("sqlite"))
    connection.close()
    open_store(f"sqlite:///{scratch}/opened.db").close()
    assert shape_of(scratch / "migrated.db") == shape_of(scratch / "schema.db") == shape_of(scratch / "opened.db")


@pytest.mark.parametrize("version", range(1, LATEST))
def test_an_older_database_is_brought_up_to_date_and_a_copy_of_it_kept(scratch: Path, version: int) -> None:
    path = scratch / "old.db"
    sqlite_at(path, version)
    before = shape_of_tables(path)
    store = open_store(f"sqlite:///{path}")
    thread = thread_of(store, "", "still works")
    assert texts_of(store, "", thread.id) == ["still works"]
    assert (store.health().schema, store.health().problems) == (LATEST, ())
    store.close()
    open_store(f"sqlite:///{scratch}/new.db").close()
    assert shape_of(path) == shape_of(scratch / "new.db")
    assert shape_of_tables(scratch / f"old.db.schema-{version}") == before


def shape_of_tables(path: Path) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = list(connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall())
    connection.close()
    return [*rows]


def test_a_newer_database_is_refused_and_not_touched(scratch: Path) -> None:
    path = scratch / "newer.db"
    open_store(f"sqlite:///{path}").close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", LATEST + 1)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NewerDatabase, match="upgrade sash") as refused:
        open_store(f"sqlite:///{path}")
    assert (refused.value.schema, refused.value.known) == (LATEST + 1, LATEST)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_not_touched(scratch: Path) -> None:
    path = scratch / "theirs.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE photos (name)")
    connection.close()
    with pytest.raises(DamagedDatabase, match="something else"):
        open_store(f"sqlite:///{path}")
    assert [row[1] for row in shape_of_tables(path)] == ["photos"]
    (scratch / "text.db").write_text("this is no database at all, only some text" * 100)
    with pytest.raises(DamagedDatabase):
        open_store(f"sqlite:///{scratch}/text.db")


KILLED = """
import os, sys
from pathlib import Path
import apsw
from sash.store.sqlite import connection as ours

base, start = Path(sys.argv[1]), int(sys.argv[2])
survived = False
step = 0
while not survived:
    step += 1
    path = base / f"{start}-{step}.db"
    path.write_bytes((base / "start.db").read_bytes())
    if not (child := os.fork()):
        database = apsw.Connection(str(path))
        left = step
        def count(*_):
            global left
            left -= 1
            if not left:
                os._exit(9)
            return True
        database.exec_trace = count
        ours.migrate(database, path)
        os._exit(0)
    survived = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(step)
"""


@pytest.mark.parametrize("version", range(LATEST))
def test_a_migration_killed_at_any_statement_leaves_the_old_or_the_new(scratch: Path, version: int) -> None:
    sqlite_at(scratch / "start.db", version)
    command = [sys.executable, "-c", KILLED, str(scratch), str(version)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    steps = int(done.stdout)
    assert steps > 8
    shapes = {}
    for at in range(LATEST + 1):
        sqlite_at(scratch / f"shape-{at}.db", at)
        shapes[at] = shape_of_tables(scratch / f"shape-{at}.db")
    for step in range(1, steps + 1):
        path = scratch / f"{version}-{step}.db"
        connection = apsw.Connection(str(path))
        found = connection.pragma("user_version")
        connection.close()
        assert shape_of_tables(path) == shapes[found], step
        if step % 4 == 0:
            open_store(f"sqlite:///{path}").close()
            assert shape_of_tables(path) == shapes[LATEST], step


def test_every_statement_binds_its_values_and_names_its_tenant() -> None:
    everybodys = {
        "find_key",
        "every_event",
        "open_runs",
        "begin",
        "put_receipt",
        "last_receipt",
        "forget_receipts",
        "drop_words",
        "add_words",
    }
    for dialect in ("sqlite", "postgres"):
        for name, sql in statements(dialect).items():
            assert "%" not in sql
            assert name in everybodys or re.search(r":tenant\b", sql), name


def test_no_sql_is_put_together_from_strings() -> None:
    source = Path(sys.modules["sash.store.queries"].__file__ or "").parent
    built = re.compile(r"""f["'].*\b(SELECT|INSERT|UPDATE|DELETE|WHERE)\b.*\{""")
    assert not [
        f"{path.name}: {line}"
        for path in source.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if built.search(line)
    ]


SHAPE = """
SELECT 'column', table_name, column_name, data_type, is_nullable, coalesce(column_default, ''), ordinal_position::text
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'index', tablename, indexname, indexdef, '', '', '' FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'policy', tablename, policyname, coalesce(qual, ''), coalesce(with_check, ''), cmd, ''
    FROM pg_policies WHERE schemaname = 'public'
UNION ALL SELECT 'view', viewname, definition, '', '', '', '' FROM pg_views WHERE schemaname = 'public'
UNION ALL SELECT 'relation', relname, relkind::text, relrowsecurity::text, relforcerowsecurity::text,
    coalesce(reloptions::text, ''), '' FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT 'function', proname, pg_get_functiondef(oid), '', '', '', ''
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
ORDER BY 1, 2, 3, 4
"""


def test_the_schema_of_postgresql_is_what_its_migrations_lead_to(postgres: Server) -> None:
    opened, migrated, halfway = (postgres.url(name=postgres.empty()) for _ in range(3))
    open_store(opened).close()
    shapes = []
    for url, upto in ((migrated, None), (halfway, 2)):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE sash_schema (version integer PRIMARY KEY, name text NOT NULL)")
            for migration in migrations("postgres")[:upto]:
                connection.execute(migration.sql)
                row = [migration.number, migration.name]
                connection.execute("INSERT INTO sash_schema VALUES (%s, %s)", row)
    open_store(halfway).close()
    for url in (opened, migrated, halfway):
        with psycopg.connect(url) as connection:
            shapes.append(connection.execute(SHAPE).fetchall())
            assert connection.execute("SELECT count(*) FROM sash_schema").fetchone() == (len(migrations("postgres")),)
    assert shapes[0] == shapes[1] == shapes[2]


def test_a_newer_postgresql_database_is_refused(postgres: Server) -> None:
    url = postgres.url(name=postgres.empty())
    open_store(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO sash_schema VALUES (999, 'from the future')")
    with pytest.raises(NewerDatabase):
        open_store(url)


def test_a_role_that_may_not_make_tables_is_told_so(postgres: Server) -> None:
    name = postgres.empty()
    with pytest.raises(StoreReadOnly, match="owner"):
        open_store(postgres.app_url(name))
    with psycopg.connect(postgres.url(name=name)) as connection:
        assert connection.execute("SELECT to_regclass('thread')").fetchone() == (None,)


def test_a_migration_that_fails_halfway_leaves_nothing(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from sash.store.postgres import schema as ours

    url = postgres.url(name=postgres.empty())
    whole = schema("postgres")
    cuts = [found.end() for found in re.finditer(r";\n\n", whole)]
    for cut in cuts[:: max(1, len(cuts) // 6)]:
        monkeypatch.setattr(ours, "schema", lambda _, cut=cut: whole[:cut] + "SELECT 1 / 0;")
        with pytest.raises(Exception, match="division by zero"):
            open_store(url)
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
    monkeypatch.undo()
    open_store(url).close()


BEFORE_FORKS = 10
"""The last schema under which only a fork's setup knew what it shares."""
OLD_FORK = """
INSERT INTO thread (tenant, name, made_us) VALUES ('a', 'source', 1), ('a', 'fork', 1), ('b', 'theirs', 1);
INSERT INTO setup (tenant, thread, body)
SELECT tenant, id, CAST('{"setup":{"system":"\\u0000"},"segments":[]}' AS BYTES) FROM thread WHERE name <> 'fork';
INSERT INTO setup (tenant, thread, body)
SELECT tenant, id, CAST('{"setup":{},"segments":[{"thread":1,"after":0,"until":7}]}' AS BYTES)
FROM thread WHERE name = 'fork';
INSERT INTO checkpoint (tenant, thread, after_seq, body) VALUES ('a', 1, 9, CAST('{}' AS BYTES));
"""


def shares_of(url: str) -> tuple[list[int], list[int], list[int]]:
    """What is known of an old database's fork, and of the checkpoint it had, once it is opened."""
    store = open_store(url)
    known = store.forks("a", 1, 7), store.forks("a", 1, 8), store.checkpoints("a", 1, until=100)
    assert store.find("b", "theirs") is not None
    store.close()
    return known


def test_forks_of_an_older_database_are_known_as_such(scratch: Path) -> None:
    sqlite_at(scratch / "old.db", BEFORE_FORKS)
    connection = apsw.Connection(str(scratch / "old.db"))
    connection.execute(OLD_FORK.replace("BYTES", "BLOB"))
    connection.close()
    assert shares_of(f"sqlite:///{scratch}/old.db") == ([2], [], [9])


def test_so_are_those_of_an_older_postgresql_although_its_owner_sees_no_tenants_rows(postgres: Server) -> None:
    url = postgres.url(name=postgres.empty())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE sash_schema (version integer PRIMARY KEY, name text NOT NULL)")
        for migration in migrations("postgres")[:BEFORE_FORKS]:
            connection.execute(migration.sql)
            connection.execute("INSERT INTO sash_schema VALUES (%s, %s)", [migration.number, migration.name])
        for table in ("thread", "setup", "checkpoint"):
            connection.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        connection.execute(re.sub(r"CAST\((.*?) AS BYTES\)", r"convert_to(\1, 'UTF8')", OLD_FORK))
        for table in ("thread", "setup", "checkpoint"):
            connection.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    assert shares_of(url) == ([2], [], [9])
