"""What goes wrong halfway leaves nothing behind, surfaces as an error of ours, and passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import apsw
import psycopg
import pytest

from sash.errors import (
    DamagedDatabase,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from sash.store import Entry, Key, Posting, Store, open_store
from sash.store.postgres import PostgresStore
from sash.store.postgres import faults as postgres_faults
from sash.store.running import Running
from sash.store.sql import SqlStore
from sash.store.sqlite import SqliteStore
from sash.store.sqlite import faults as sqlite_faults
from tests.store.building import entry, noted, said, slid, texts_of, thread_of
from tests.store.server import Server

T = TypeVar("T")


class Breaking:
    """A transaction whose n-th statement fails."""

    def __init__(self, run: Running, at: int, error: Exception) -> None:
        self._run, self._left, self._error = run, at, error

    def _count(self) -> None:
        self._left -= 1
        if not self._left:
            raise self._error

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


class Fragile:
    """A store that breaks where it is told to."""

    def __init__(self, store: SqlStore, error: Exception) -> None:
        self.store, self.error = store, error
        self.at = 0
        self.ran = 0
        write = store._write

        def breaking(tenant: str | None, work: Callable[[Running], T], *, erasing: bool = False) -> T:
            def broken(run: Running) -> T:
                return work(Breaking(run, self.at, self.error) if self.at else run)

            return write(tenant, broken, erasing=erasing)

        store._write = breaking  # type: ignore[method-assign]  # the one seam through which all writing goes


@pytest.fixture(params=["sqlite", "postgres"])
def fragile(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Fragile]:
    if request.param == "sqlite":
        store: SqlStore = SqliteStore(scratch / "threads.db")
        error: Exception = apsw.FullError("injected")
    else:
        running: Server = request.getfixturevalue("postgres")
        store = PostgresStore(running.app_url())
        error = psycopg.errors.DiskFull("injected")
    yield Fragile(store, error)
    store.close()


def everything(store: Store, tenant: str) -> object:
    """All that can be seen of a tenant."""
    threads = store.threads(tenant)
    return [
        (
            thread,
            list(store.events(tenant, thread.id)),
            list(store.frames(tenant, thread.id)),
            store.head(tenant, thread.id),
            store.postings(tenant, thread.id, ["one", "two", "full"]),
            store.search(tenant, "one two full", match="any"),
        )
        for thread in threads
    ], store.troubles(tenant)


FULL = Entry(
    events=(said("full one", turn=2), noted("usage"), said("full two", turn=3)),
    frames=(slid(2, 3, after_seq=5),),
    checkpoint=b"new",
    postings=(Posting("full", 4, 1), Posting("full", 5, 1)),
    covered=1,
)


def test_a_write_that_fails_at_any_statement_has_done_nothing(fragile: Fragile, tenant: str) -> None:
    store = fragile.store
    thread = thread_of(store, tenant, "one", "two").id
    store.append(tenant, thread, Entry(events=(said("x"),), frames=(slid(1, 2, after_seq=3),), checkpoint=b"old"))

    def summarize() -> None:
        lease = store.claim_due_summary(tenant, lease_seconds=0)
        assert lease is not None
        store.finish_summary(lease, Entry(events=(noted("summary"),), covered=2))

    writes: list[Callable[[], object]] = [
        lambda: store.append(tenant, thread, FULL, expected_seq=3, key=Key("k", b"d")),
        lambda: store.redact(tenant, thread, 1, b"gone"),
        lambda: store.create(tenant, "another", b"setup"),
        summarize,
        lambda: store.delete(tenant, thread),
    ]
    for write in writes:
        before = everything(store, tenant)
        for at in range(1, 100):
            fragile.at = at
            try:
                write()
            except StoreFull:
                pass
            else:
                break
            finally:
                fragile.at = 0
            assert everything(store, tenant) == before
        else:
            pytest.fail("it never came through")
        assert at > 2
        assert everything(store, tenant) != before


def test_a_read_that_fails_passes(fragile: Fragile, tenant: str) -> None:
    store = fragile.store
    thread = thread_of(store, tenant, "one").id
    read = store._read

    def failing(tenant: str | None, work: Callable[[Running], Any]) -> Any:
        return read(tenant, lambda run: work(Breaking(run, 1, fragile.error)))

    store._read = failing  # type: ignore[method-assign]  # the one seam through which all reading goes
    for call in (lambda: store.thread(tenant, thread), lambda: list(store.events(tenant, thread))):
        with pytest.raises(StoreError):
            call()
    store._read = read  # type: ignore[method-assign]  # as it was
    assert texts_of(store, tenant, thread) == ["one"]


def test_sqlite_failing_at_any_of_its_statements_also_begin_and_commit(scratch: Path) -> None:
    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "", "one", "two", "three").id
    before = everything(store, "")
    connection = store._writer.connection
    reached = set()
    for at in range(1, 60):
        left = at

        def fail(_cursor: object, sql: str, _values: object) -> bool:
            nonlocal left
            left -= 1
            if not left:
                reached.add(sql.split(maxsplit=1)[0])
                raise apsw.IOError("injected")
            return True

        connection.exec_trace = fail
        try:
            store.append("", thread, FULL, expected_seq=3, key=Key("k", b"d"))
        except StoreUnavailable:
            connection.exec_trace = None
            assert everything(store, "") == before
        else:
            break
    connection.exec_trace = None
    assert {"BEGIN", "COMMIT", "INSERT", "UPDATE"} <= reached
    assert store.last_seq("", thread) == 6
    store.close()


def test_of_a_batch_one_failing_write_takes_nobody_with_it(scratch: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event as Flag

    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "").id
    commits = []
    connection = store._writer.connection
    held, go = Flag(), Flag()

    def count(_cursor: object, sql: str, values: Any) -> bool:
        if sql == "COMMIT":
            commits.append(sql)
        if isinstance(values, dict) and values.get("text") == "poison":
            raise apsw.FullError("injected")
        return True

    def hold(_run: Running) -> None:
        held.set()
        go.wait(10)

    with ThreadPoolExecutor(12) as pool:
        holding = pool.submit(store._write, "", hold)
        held.wait(10)
        texts = ["poison" if number == 4 else str(number) for number in range(10)]
        writing = [pool.submit(store.append, "", thread, entry(said(text))) for text in texts]
        while len(store._writer._queue) < 10:
            pass
        connection.exec_trace = count
        go.set()
        holding.result()
        failed = [text for text, one in zip(texts, writing, strict=True) if one.exception()]
    connection.exec_trace = None
    assert failed == ["poison"]
    assert sorted(texts_of(store, "", thread)) == sorted(set(texts) - {"poison"})
    store.close()


def test_of_a_batch_a_write_that_turns_out_wrong_halfway_leaves_nothing(scratch: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event as Flag

    import msgspec

    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "").id
    held, go = Flag(), Flag()

    def hold(_run: Running) -> None:
        held.set()
        go.wait(10)

    wrong = entry(said("half"), msgspec.structs.replace(said("no time"), at=float("nan")))
    with ThreadPoolExecutor(8) as pool:
        holding = pool.submit(store._write, "", hold)
        held.wait(10)
        writing = [
            pool.submit(store.append, "", thread, wrong if number % 2 else entry(said(str(number))))
            for number in range(6)
        ]
        while len(store._writer._queue) < 6:
            pass
        go.set()
        holding.result()
        assert [one.exception() is None for one in writing] == [True, False] * 3
    assert sorted(texts_of(store, "", thread)) == ["0", "2", "4"]
    assert store.search("", "half") == []
    store.close()


def test_writers_who_wait_for_each_other_share_one_commit(scratch: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event as Flag

    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "").id
    commits = []
    held, go = Flag(), Flag()

    def hold(_run: Running) -> None:
        held.set()
        go.wait(10)

    def count(_cursor: object, sql: str, _values: object) -> bool:
        commits.extend([sql] if sql == "COMMIT" else [])
        return True

    with ThreadPoolExecutor(12) as pool:
        holding = pool.submit(store._write, "", hold)
        held.wait(10)
        writing = [pool.submit(store.append, "", thread, entry(said(str(number)))) for number in range(10)]
        while len(store._writer._queue) < 10:
            pass
        store._writer.connection.exec_trace = count
        go.set()
        holding.result()
        assert sorted(one.result().last_seq for one in writing) == list(range(1, 11))
    store._writer.connection.exec_trace = None
    # The holder's own, and one for all who waited.
    assert len(commits) == 2
    store.close()


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (apsw.FullError, StoreFull),
        (apsw.IOError, StoreUnavailable),
        (apsw.CantOpenError, StoreUnavailable),
        (apsw.ReadOnlyError, StoreReadOnly),
        (apsw.BusyError, StoreBusy),
        (apsw.LockedError, StoreBusy),
        (apsw.CorruptError, DamagedDatabase),
        (apsw.NotADBError, DamagedDatabase),
        (OverflowError, StoreError),
    ],
)
def test_errors_of_sqlite_have_their_translation(raised: type[Exception], expected: type[StoreError]) -> None:
    assert type(sqlite_faults.translation(raised("problem"), "place")) is expected


def test_no_error_of_a_driver_is_left_untranslated() -> None:
    errors = [value for value in vars(apsw).values() if isinstance(value, type) and issubclass(value, apsw.Error)]
    assert len(errors) > 30
    for error in errors:
        with pytest.raises(StoreError), sqlite_faults.translated("place"):
            raise error("problem")
    more = [value for value in vars(psycopg.errors).values() if isinstance(value, type)]
    raised = [value for value in more if issubclass(value, psycopg.Error)]
    assert len(raised) > 200
    for problem in raised:
        with pytest.raises(StoreError), postgres_faults.translated("place"):
            raise problem("problem")


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{}/threads.db"])
def test_a_closed_store_says_so(url: str, tenant: str, scratch: Path) -> None:
    store = open_store(url.format(scratch))
    thread = thread_of(store, tenant, "one").id
    store.close()
    for call in (lambda: store.thread(tenant, thread), lambda: store.append(tenant, thread, entry(said("two")))):
        with pytest.raises(StoreUnavailable, match="closed"):
            call()


def test_a_value_too_large_for_a_database_is_our_error(scratch: Path) -> None:
    import msgspec

    store = open_store(f"sqlite:///{scratch}/threads.db")
    thread = thread_of(store, "", "one").id
    with pytest.raises(StoreError):
        store.append("", thread, entry(msgspec.structs.replace(said("x"), tokens=2**70)))
    assert texts_of(store, "", thread) == ["one"]
    store.close()
