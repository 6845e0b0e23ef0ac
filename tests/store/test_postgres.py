"""PostgreSQL: a second lock between tenants, and servers that go away in the middle of things."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag
from typing import Any, TypeVar

import psycopg
import pytest

from sash.errors import StoreUnavailable
from sash.store import Key, open_store
from sash.store.postgres import PostgresStore, connection
from sash.store.postgres import store as postgres_store
from sash.store.running import Running
from tests.store.building import entry, said, texts_of, thread_of
from tests.store.server import Server

T = TypeVar("T")

TABLES = (
    "thread",
    "setup",
    "log",
    "frame",
    "checkpoint",
    "once",
    "posting",
    "words",
    "lease",
    "api_key",
    "lesson",
    "fork",
    "note",
)
VIEWS = ("messages", "exchanges", "threads", "turns", "events")


@pytest.fixture
def store(postgres: Server) -> Iterator[PostgresStore]:
    made = PostgresStore(postgres.app_url())
    yield made
    made.close()


def seen(session: psycopg.Connection[Any], table: str) -> set[str]:
    """Whose rows a session sees, asking for all of them."""
    return {tenant for (tenant,) in session.execute(f"SELECT DISTINCT tenant FROM {table}")}


def test_a_statement_that_forgets_its_tenant_sees_only_its_own_rows(
    store: PostgresStore, postgres: Server, tenant: str, other: str
) -> None:
    from sash.store import Entry, Posting, Share
    from tests.store.building import slid

    for owner in (tenant, other, ""):
        thread = thread_of(store, owner, "one", name=f"{tenant} {owner}").id
        full = Entry(
            events=(said("two", turn=2),),
            frames=(slid(1, 2, after_seq=2),),
            checkpoint=b"c",
            postings=(Posting("one", 1, 1),),
        )
        store.append(owner, thread, full, key=Key("k", b"d"))
        store.put_key(owner, f"{owner} {tenant}".encode())
        store.put_lesson(owner, "l", b"l")
        store.keep_note(owner, "n", b"n", forget_seconds=60)
        store.create(owner, f"fork of {tenant} {owner}", b"", shares=[Share(thread, 1)])
        store.claim_due_summary(owner, lease_seconds=60)
    with psycopg.connect(postgres.app_url(), autocommit=True) as session:
        for table in (*TABLES, *VIEWS):
            assert seen(session, table) == set(), table
        for claim, owners in ((f"={tenant}", {tenant}), (f"={other}", {other}), ("=", {""}), (tenant, set())):
            session.execute("SELECT set_config('sash.tenant', %s, false)", [claim])
            for table in (*TABLES, *VIEWS):
                assert seen(session, table) == owners, table
        session.execute("SELECT set_config('sash.tenant', '*', false)")
        for table in (*TABLES, *VIEWS):
            # Whoever works for everybody sees which threads there are, and not a word of what was said.
            assert not seen(session, table) or table in ("thread", "lease", "api_key", "threads"), table


def test_nobody_writes_into_another_tenants_rows(
    store: PostgresStore, postgres: Server, tenant: str, other: str
) -> None:
    thread = thread_of(store, tenant, "one").id
    with psycopg.connect(postgres.app_url(), autocommit=True) as session:
        session.execute("SELECT set_config('sash.tenant', %s, false)", [f"={other}"])
        for statement in ("UPDATE log SET text = 'changed'", "DELETE FROM log", "DELETE FROM thread"):
            assert session.execute(f"{statement} WHERE tenant = %s", [tenant]).rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("INSERT INTO setup VALUES (%s, 1, '')", [tenant])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("INSERT INTO api_key VALUES ('x', %s, '')", [tenant])
    assert texts_of(store, tenant, thread) == ["one"]


def test_the_owner_of_the_tables_is_held_to_the_lock_too(store: PostgresStore, postgres: Server, tenant: str) -> None:
    thread_of(store, tenant, "one")
    with psycopg.connect(postgres.url(), autocommit=True) as session:
        for table in set(TABLES) - {"words"}:
            assert seen(session, table) == set()


def test_a_role_that_no_lock_holds_for_is_a_finding(postgres: Server) -> None:
    store = open_store(postgres.url("postgres"))
    assert "superuser" in store.health().problems[0]
    store.close()
    store = open_store(postgres.app_url())
    health = store.health()
    assert (health.kind, health.problems) == ("postgresql", ())
    assert health.engine.startswith("PostgreSQL 1")
    store.close()


def test_words_are_looked_up_by_their_index(store: PostgresStore, postgres: Server, tenant: str) -> None:
    thread_of(store, tenant, *(f"word{number} common" for number in range(300)))
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as session:
        session.execute("ANALYZE words; SET enable_seqscan = off; SET ROLE sash_owner")
        session.execute("SELECT set_config('sash.tenant', %s, false)", [f"={tenant}"])
        body = "SELECT thread, seq FROM words WHERE words @> ARRAY['word7', 'common'] AND is_current(tenant)"
        plan = "\n".join(line for (line,) in session.execute(f"EXPLAIN {body}"))
    assert "words_words" in plan


class Interrupting:
    """A transaction before whose n-th statement something happens, once."""

    def __init__(self, run: Running, at: int, happen: Callable[[], object]) -> None:
        self._run, self._left, self._happen = run, at, happen

    def _count(self) -> None:
        self._left -= 1
        if not self._left:
            self._happen()

    def rows(self, statement: str, **values: Any) -> Any:
        self._count()
        return self._run.rows(statement, **values)

    def page(self, statement: str, **values: Any) -> Any:
        self._count()
        return self._run.page(statement, **values)

    def run(self, statement: str, **values: Any) -> None:
        self._count()
        self._run.run(statement, **values)

    def many(self, statement: str, values: Iterable[dict[str, Any]]) -> None:
        self._count()
        self._run.many(statement, values)


def interrupt(store: PostgresStore, at: int, happen: Callable[[], object]) -> list[int]:
    """Let something happen in the middle of the next transaction. Returns how often work was run since."""
    runs: list[int] = []

    def write(tenant: str | None, work: Callable[[Running], T], *, erasing: bool = False) -> T:
        def interrupted(run: Running) -> T:
            runs.append(at)
            return work(Interrupting(run, at, happen) if len(runs) == 1 else run)

        return PostgresStore._write(store, tenant, interrupted, erasing=erasing)

    store._write = write  # type: ignore[method-assign]  # the one seam through which all writing goes
    return runs


def kill_backends(postgres: Server) -> None:
    with psycopg.connect(postgres.url("postgres", "postgres"), autocommit=True) as session:
        session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sash_app'")


@pytest.mark.parametrize("at", [1, 2, 4])
def test_a_killed_connection_is_retried_and_stores_once(
    store: PostgresStore, postgres: Server, tenant: str, at: int
) -> None:
    thread = thread_of(store, tenant, "one").id
    runs = interrupt(store, at, lambda: kill_backends(postgres))
    appended = store.append(tenant, thread, entry(said("two"), said("three")))
    assert len(runs) == 2
    assert (appended.first_seq, appended.last_seq) == (2, 3)
    assert texts_of(store, tenant, thread) == ["one", "two", "three"]


def test_a_server_restarted_in_the_middle_of_a_transaction_stores_once(
    store: PostgresStore, postgres: Server, tenant: str
) -> None:
    thread = thread_of(store, tenant, "one").id
    runs = interrupt(store, 2, postgres.restart)
    assert store.append(tenant, thread, entry(said("two"))).last_seq == 2
    assert len(runs) == 2
    assert texts_of(store, tenant, thread) == ["one", "two"]


def restarted_under_load(store: PostgresStore, postgres: Server, tenant: str, restarts: int) -> None:
    thread = thread_of(store, tenant, "start").id
    rest = Flag()

    def write(writer: int) -> int:
        number = 0
        while number < 20 or not rest.is_set():
            store.append(tenant, thread, entry(said(f"{writer}.{number}")))
            number += 1
        return number

    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, writer) for writer in range(4)]
        for restart in range(1, restarts + 1):
            while store.last_seq(tenant, thread) < 20 * restart:
                time.sleep(0.005)
            postgres.restart()
        rest.set()
        written = [one.result() for one in writing]
    stored = texts_of(store, tenant, thread)[1:]
    assert len(stored) == sum(written)
    for writer, count in enumerate(written):
        assert [text for text in stored if text.startswith(f"{writer}.")] == [f"{writer}.{n}" for n in range(count)]


def test_a_server_restarted_under_load_loses_nothing_and_repeats_nothing(
    store: PostgresStore, postgres: Server, tenant: str
) -> None:
    restarted_under_load(store, postgres, tenant, 2)


@pytest.mark.soak
def test_a_server_restarted_many_times(store: PostgresStore, postgres: Server, tenant: str) -> None:
    restarted_under_load(store, postgres, tenant, 50)


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    store: PostgresStore, postgres: Server, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = thread_of(store, tenant, "one").id
    real = connection._transaction
    lost: list[connection.Receipt] = []

    def losing(session: Any, owner: str | None, work: Callable[[Running], T], *, writing: bool) -> T:
        result = real(session, owner, work, writing=writing)
        if writing and not lost:
            receipt = connection.Receipt(session.id, session.writes)
            lost.append(receipt)
            raise connection.Lost(psycopg.OperationalError("gone"), receipt, result)
        return result

    monkeypatch.setattr(connection, "_transaction", losing)
    assert store.append(tenant, thread, entry(said("two"))).last_seq == 2
    assert lost
    assert texts_of(store, tenant, thread) == ["one", "two"]


def test_a_commit_that_never_arrived_is_made_again(
    store: PostgresStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = thread_of(store, tenant, "one").id
    real = connection._transaction
    lost: list[connection.Receipt] = []

    def losing(session: Any, owner: str | None, work: Callable[[Running], T], *, writing: bool) -> T:
        if writing and not lost:
            receipt = connection.Receipt(session.id, session.writes + 1)
            lost.append(receipt)
            raise connection.Lost(psycopg.OperationalError("gone"), receipt, None)
        return real(session, owner, work, writing=writing)

    monkeypatch.setattr(connection, "_transaction", losing)
    assert store.append(tenant, thread, entry(said("two"))).last_seq == 2
    assert lost
    assert texts_of(store, tenant, thread) == ["one", "two"]


def test_a_server_that_stays_away_is_reported_and_comes_back(
    store: PostgresStore, postgres: Server, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Before patience runs short: a busy machine takes its time to connect.
    thread = thread_of(store, tenant, "one").id
    monkeypatch.setattr(connection, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(postgres_store, "DOCTOR_SECONDS", 0.3)
    postgres.stop()
    try:
        for call in (
            lambda: store.append(tenant, thread, entry(said("two"))),
            lambda: list(store.events(tenant, thread)),
        ):
            with pytest.raises(StoreUnavailable):
                call()
        assert store.health().problems
    finally:
        postgres.start()
    monkeypatch.undo()
    store.append(tenant, thread, entry(said("two")))
    assert texts_of(store, tenant, thread) == ["one", "two"]


def test_a_closed_store_says_so(postgres: Server, tenant: str) -> None:
    store = open_store(postgres.app_url())
    store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store.threads(tenant)


def test_a_backup_is_left_to_the_servers_own_tools(store: PostgresStore, tmp_path: Any) -> None:
    with pytest.raises(Exception, match="pg_dump"):
        store.backup(tmp_path / "copy")
