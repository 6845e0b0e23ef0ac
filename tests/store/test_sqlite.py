"""One file: full disks, lost permissions, damage, copies, and a write-ahead log that stays small."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event as Flag

import apsw
import pytest

from sash.errors import (
    Conflict,
    DamagedDatabase,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    UnknownStore,
)
from sash.store import Entry, Store, open_store
from sash.store.queries import statements
from sash.store.sqlite import SqliteStore, writer
from sash.store.sqlite.connection import WAL_LIMIT
from tests.components import missing
from tests.store.building import entry, said, texts_of, thread_of
from tests.store.powers import held_to_permissions

LONG = "words of some length " * 500


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes. Where none can be mounted the test is skipped, but never in CI."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        problem = mounted.stderr.strip() if mounted.returncode else ""
    except FileNotFoundError as error:
        problem = str(error)
    if problem:
        missing(f"a small disk cannot be mounted here: {problem}; run it as root, with the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(store: Store, thread: int) -> int:
    """Write until there is no room. How many messages found some."""
    for stored in range(0, 2_000, 2):
        try:
            store.append("", thread, entry(said(LONG), said(LONG)))
        except StoreFull:
            return stored
    pytest.fail("there is room without end")


def test_a_full_disk_is_an_error_with_nothing_half_stored_and_passes(small_disk: Path) -> None:
    store = open_store(f"sqlite:///{small_disk}/threads.db")
    thread = thread_of(store, "", "first").id
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 1_500_000)
    stored = fill(store, thread)
    assert stored > 0
    assert store.last_seq("", thread) == 1 + stored
    assert texts_of(store, "", thread) == ["first"] + [LONG] * stored
    with pytest.raises(StoreFull):
        store.append("", thread, entry(*[said(LONG)] * 50))
    filler.unlink()
    store.append("", thread, entry(said("room again")))
    assert store.last_seq("", thread) == 2 + stored
    assert store.health().problems == ()
    store.close()


def test_a_database_that_may_not_grow_is_full(scratch: Path) -> None:
    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "", "first").id
    connection = store._writer.connection
    connection.pragma("max_page_count", connection.pragma("page_count") + 20)
    stored = fill(store, thread)
    assert texts_of(store, "", thread) == ["first"] + [LONG] * stored
    connection.pragma("max_page_count", 1_000_000)
    store.append("", thread, entry(said("room again")))
    assert store.health().problems == ()
    store.close()


def test_a_database_that_became_read_only_can_still_be_read(scratch: Path) -> None:
    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "", "first").id
    store._writer.connection.pragma("query_only", True)
    with pytest.raises(StoreReadOnly):
        store.append("", thread, entry(said("second")))
    assert texts_of(store, "", thread) == ["first"]
    store._writer.connection.pragma("query_only", False)
    store.append("", thread, entry(said("second")))
    assert texts_of(store, "", thread) == ["first", "second"]
    store.close()


def test_a_shortage_while_it_is_opened_is_not_taken_for_a_store_that_may_only_be_read(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scratch / "threads.db"
    SqliteStore(path).close()

    def short_of_files(*_given: object, **_named: object) -> None:
        raise apsw.CantOpenError("too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("sash.store.sqlite.store.connect", short_of_files)
        with pytest.raises(StoreUnavailable) as refused:
            SqliteStore(path)
        assert not isinstance(refused.value, StoreReadOnly)
    store = SqliteStore(path)
    assert texts_of(store, "", thread_of(store, "", "first").id) == ["first"]
    store.close()


def closed(path: Path) -> str:
    """A database that nobody has open, and what was said in it."""
    store = open_store(f"sqlite:///{path}")
    thread_of(store, "", "first")
    store.close()
    return "first"


@pytest.mark.parametrize("folder_mode", [0o555, 0o755])
def test_a_database_that_may_only_be_read_is_read(scratch: Path, folder_mode: int) -> None:
    folder = scratch / "theirs"
    folder.mkdir()
    path = folder / "threads.db"
    said_there = closed(path)
    path.chmod(0o444)
    folder.chmod(folder_mode)
    try:
        with held_to_permissions():
            store = open_store(f"sqlite:///{path}")
            [thread] = store.threads("")
            assert texts_of(store, "", thread.id) == [said_there]
            assert [found.text for found in store.search("", "first")] == [said_there]
            with pytest.raises(StoreReadOnly, match="permissions of file and folder"):
                store.append("", thread.id, entry(said("second")))
            with pytest.raises(StoreReadOnly):
                thread_of(store, "", "another")
            with pytest.raises(StoreReadOnly):
                open_store(f"sqlite:///{path}", to_write=True)
            store.backup(scratch / "copy.db")
            assert any("may not be written" in problem for problem in store.health().problems)
            store.close()
    finally:
        folder.chmod(0o755)
    copy = open_store(f"sqlite:///{scratch}/copy.db")
    assert texts_of(copy, "", thread.id) == [said_there]
    copy.close()


def test_an_address_may_ask_for_reading_only(scratch: Path) -> None:
    path = scratch / "threads.db"
    said_there = closed(path)
    store = open_store(f"sqlite:///{path}?mode=ro")
    [thread] = store.threads("")
    assert texts_of(store, "", thread.id) == [said_there]
    with pytest.raises(StoreReadOnly, match="its address says mode=ro"):
        store.append("", thread.id, entry(said("second")))
    # Somebody who may write goes on meanwhile.
    writing = open_store(f"sqlite:///{path}")
    writing.append("", thread.id, entry(said("second")))
    assert texts_of(store, "", thread.id) == [said_there, "second"]
    writing.close()
    store.close()
    with pytest.raises(StoreReadOnly, match="its address says mode=ro"):
        open_store(f"sqlite:///{path}?mode=ro", to_write=True)
    with pytest.raises(UnknownStore, match="it takes 'rw' or 'ro'"):
        open_store(f"sqlite:///{path}?mode=w")
    with pytest.raises(StoreUnavailable):
        open_store(f"sqlite:///{scratch}/nowhere.db?mode=ro")
    assert not (scratch / "nowhere.db").exists()


def test_what_cannot_be_read_whole_is_not_read_at_all(scratch: Path) -> None:
    folder = scratch / "theirs"
    folder.mkdir()
    path = folder / "threads.db"
    closed(path)
    # A log that was not copied back, as a killed process leaves it behind.
    (folder / "threads.db-wal").write_bytes(b"not copied back")
    old = folder / "old.db"
    closed(old)
    connection = apsw.Connection(str(old))
    connection.pragma("user_version", 1)
    connection.close()
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    try:
        with held_to_permissions():
            with pytest.raises(StoreReadOnly, match="still in its write-ahead log"):
                open_store(f"sqlite:///{path}")
            with pytest.raises(StoreReadOnly, match="its schema is at 1"):
                open_store(f"sqlite:///{old}")
    finally:
        folder.chmod(0o755)


def test_a_folder_without_permission_is_named(scratch: Path) -> None:
    folder = scratch / "theirs"
    folder.mkdir(mode=0o555)
    with held_to_permissions(), pytest.raises(StoreReadOnly, match="permissions"):
        open_store(f"sqlite:///{folder}/threads.db")
    assert list(folder.iterdir()) == []


def grown(path: Path) -> list[str]:
    """A closed database of some size, and what was said in it."""
    store = open_store(f"sqlite:///{path}")
    said_there = [f"message {number} " + "x" * (number % 700) for number in range(300)]
    thread_of(store, "", *said_there)
    store.close()
    return said_there


def test_a_torn_database_is_noticed(scratch: Path) -> None:
    grown(scratch / "whole.db")
    whole = (scratch / "whole.db").read_bytes()
    for share in (0.1, 0.5, 0.9):
        torn = scratch / f"torn-{share}.db"
        torn.write_bytes(whole[: int(len(whole) * share)])
        assert noticed(torn)
    (scratch / "empty.db").touch()
    open_store(f"sqlite:///{scratch}/empty.db").close()


def noticed(path: Path) -> bool:
    """Whether opening or looking closely tells of damage; never an error of the driver's."""
    try:
        store = open_store(f"sqlite:///{path}")
    except DamagedDatabase:
        return True
    problems = store.health().problems
    store.close()
    return any("damaged" in problem for problem in problems)


def test_a_flipped_byte_is_noticed_and_never_read_as_if_it_had_been_said(scratch: Path) -> None:
    path = scratch / "threads.db"
    before = grown(path)
    whole = path.read_bytes()
    chance = random.Random(5)
    told = 0
    for _ in range(60):
        place = chance.randrange(100, len(whole))
        flipped = bytearray(whole)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(flipped))
        told += noticed(path)
        try:
            store = open_store(f"sqlite:///{path}")
            try:
                read = texts_of(store, "", 1)
            finally:
                store.close()
        except StoreError:
            continue
        assert read == before
    assert told > 20


def test_other_threads_stay_readable_beside_a_damaged_one(scratch: Path) -> None:
    path = scratch / "threads.db"
    store = open_store(f"sqlite:///{path}")
    good, bad = thread_of(store, "", "good", name="good").id, thread_of(store, "", "marked body", name="bad").id
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"content":"marked body"', b'"content":"altered body"'[:23]))
    store = open_store(f"sqlite:///{path}")
    assert texts_of(store, "", good) == ["good"]
    with pytest.raises(DamagedDatabase, match="event 1"):
        texts_of(store, "", bad)
    assert any("event 1" in problem for problem in store.health().problems)
    with pytest.raises(DamagedDatabase, match="event 1"):
        store.backup(scratch / "copy.db")
    assert not list(scratch.glob("copy.db*"))
    store.close()


def test_a_copy_made_while_others_write_holds_a_beginning_of_what_they_wrote(scratch: Path) -> None:
    store = open_store(f"sqlite:///{scratch}/threads.db")
    thread = thread_of(store, "", "0").id
    started, stop = Flag(), Flag()

    def write() -> int:
        number = 0
        while not stop.is_set() or number < 30:
            number += 1
            store.append("", thread, entry(said(str(number))))
            if number == 20:
                started.set()
        return number

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        started.wait(20)
        least = store.last_seq("", thread)
        store.backup(scratch / "copy.db")
        most = store.last_seq("", thread)
        stop.set()
        writing.result()
    store.close()
    copy = open_store(f"sqlite:///{scratch}/copy.db")
    held = texts_of(copy, "", thread)
    assert least <= len(held) <= most
    assert held == [str(number) for number in range(len(held))]
    assert copy.health().problems == ()
    assert len(copy.search("", "7")) == 1
    copy.close()


def test_a_copy_that_fails_leaves_nothing(scratch: Path) -> None:
    store = open_store(f"sqlite:///{scratch}/threads.db")
    (scratch / "file").touch()
    with pytest.raises(StoreUnavailable):
        store.backup(scratch / "file" / "copy.db")
    assert sorted(path.name for path in scratch.iterdir() if "copy" in path.name) == []
    store.close()


def test_the_write_ahead_log_stays_small_also_beside_readers_who_linger(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 50)
    monkeypatch.setattr(writer, "TRUNCATE_PAGES", 400)
    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "", *["x"] * 300).id
    lingering = store.events("", thread)
    next(lingering)
    sizes: list[int] = []
    for _ in range(200):
        store.append("", thread, entry(said(LONG)))
        sizes.append(store.health().wal_bytes if len(sizes) % 50 == 0 else store._wal_bytes())
    assert max(sizes) < 600 * 4200
    assert max(sizes) < WAL_LIMIT
    store.close()
    assert not (scratch / "threads.db-wal").exists()


def test_a_reader_in_a_transaction_delays_the_emptying_and_loses_nothing(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(writer, "TRUNCATE_PAGES", 40)
    store = SqliteStore(scratch / "threads.db")
    thread = thread_of(store, "", "first").id
    reader = apsw.Connection(str(scratch / "threads.db"))
    reader.execute("BEGIN; SELECT count(*) FROM log").fetchall()
    for _ in range(20):
        store.append("", thread, entry(said(LONG)))
    grown_to = store._wal_bytes()
    reader.execute("COMMIT")
    store.append("", thread, entry(said("last")))
    assert store._wal_bytes() < grown_to
    assert store.last_seq("", thread) == 22
    reader.close()
    store.close()


def test_what_was_deleted_or_redacted_is_not_left_in_the_file(scratch: Path) -> None:
    store = open_store(f"sqlite:///{scratch}/threads.db")
    gone = thread_of(store, "", *[f"zanzibar{number} quokka" for number in range(40)], name="gone").id
    kept = thread_of(store, "", "public", "xylophone secret", name="kept").id
    store.redact("", kept, 2, b"{}")
    store.delete("", gone)
    left = b"".join(path.read_bytes() for path in scratch.iterdir())
    for word in (b"zanzibar", b"quokka", b"xylophone"):
        assert word not in left
    assert b"public" in left
    store.close()


def test_a_lower_durability_says_so_to_the_database(scratch: Path) -> None:
    for durability, level in (("full", 2), ("normal", 1)):
        store = open_store(f"sqlite:///{scratch}/{durability}.db?durability={durability}")
        assert isinstance(store, SqliteStore)
        assert store._writer.connection.pragma("synchronous") == level
        assert store._writer.connection.pragma("journal_mode") == "wal"
        store.close()


def test_what_is_no_message_is_found_without_looking_at_messages(scratch: Path) -> None:
    store = SqliteStore(scratch / "threads.db")
    asked = {"tenant": "", "thread": 1, "since": 0, "until": 9, "kinds": '["mark"]', "limit": 9}
    plan = store._writer.connection.execute(f"EXPLAIN QUERY PLAN {statements('sqlite')['rest']}", asked).fetchall()
    assert "SEARCH log USING INDEX log_rest" in str(plan[0][3])
    store.close()


@pytest.fixture
def unshared() -> Iterator[None]:
    """A file system on which processes share no memory, such as NFS: SQLite's own way to lock files there."""
    usual = apsw.vfs_names()[0]
    remote = apsw.VFS(f"remote {os.getpid()}", base="unix-dotfile", makedefault=True)
    yield
    remote.unregister()
    assert apsw.vfs_names()[0] == usual


def test_where_no_memory_is_shared_a_rollback_journal_serves_and_the_doctor_says_so(
    scratch: Path, unshared: None
) -> None:
    """D15."""
    store = open_store(f"sqlite:///{scratch}/threads.db")
    assert isinstance(store, SqliteStore)
    assert store._writer.connection.pragma("journal_mode") == "delete"
    thread = thread_of(store, "", "first", "second").id
    other = open_store(f"sqlite:///{scratch}/threads.db")
    other.append("", thread, entry(said("third")), expected_seq=2)
    with pytest.raises(Conflict):
        store.append("", thread, entry(said("late")), expected_seq=2)
    store.append("", thread, entry(said("fourth")), expected_seq=3)
    assert texts_of(other, "", thread) == texts_of(store, "", thread) == ["first", "second", "third", "fourth"]
    assert [problem for problem in store.health().problems if "shares no memory" in problem]
    store.close()
    other.close()
    assert {path.name for path in scratch.iterdir()} == {"threads.db"}


def test_redacted_words_are_nowhere_in_the_file_not_even_where_something_else_stood(scratch: Path) -> None:
    """S12: a checkpoint that was replaced long ago leaves its pages to nobody, and its words on them."""
    path = scratch / "threads.db"
    store = open_store(f"sqlite:///{path}")
    thread = thread_of(store, "", "my name is Zebulonix").id
    large = b"of Zebulonix " * 5_000
    store.append("", thread, Entry(events=(said("more"),), checkpoint=large))
    store.append("", thread, Entry(events=(said("more"),), checkpoint=b"small"))
    with suppress(StoreError):
        store.append("", thread, Entry(events=(said("more of Zebulonix" * 900),) * 9, checkpoint=large), expected_seq=1)
    assert b"Zebulonix" in path.read_bytes() + path.with_name("threads.db-wal").read_bytes()
    for _ in range(2):
        store.redact("", thread, 1, b"{}")
        kept = b"".join(one.read_bytes() for one in scratch.iterdir() if one.name.startswith("threads.db"))
        assert b"zebulonix" not in kept.lower()
        # Freed again, by others, between two redactions.
        other = open_store(f"sqlite:///{path}")
        other.append("", thread, Entry(events=(said("more"),), checkpoint=large))
        other.append("", thread, Entry(events=(said("more"),), checkpoint=b"small"))
        other.close()
    assert store.health().problems == ()
    assert texts_of(store, "", thread)[0] == ""
    store.close()
