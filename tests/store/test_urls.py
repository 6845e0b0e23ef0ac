"""Stores by their address; files that nobody else may read."""

from __future__ import annotations

import builtins
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sash.errors import MissingExtra, StoreError, StoreUnavailable, UnknownStore
from sash.store import open_store
from sash.store.memory import MemoryStore
from sash.store.sqlite import SqliteStore
from sash.store.url import default_path


@pytest.fixture
def open_umask() -> Iterator[None]:
    """As if anybody might read anything."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_memory_is_a_store() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)


def test_three_slashes_are_a_path_from_here_and_four_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for url, path in (
        ("sqlite:///here.db", "here.db"),
        (f"sqlite:///{tmp_path}/whole.db", "whole.db"),
        ("sqlite:///a%20b%3F.db?durability=normal", "a b?.db"),
    ):
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        assert (tmp_path / path).exists()
        assert store.durability == ("normal" if "normal" in url else "full")
        store.close()


def test_the_users_own_store_is_where_the_desktops_rules_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    open_store().close()
    assert (tmp_path / "share" / "sash" / "sash.db").exists()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    assert default_path() == tmp_path / ".local" / "share" / "sash" / "sash.db"


@pytest.mark.usefixtures("open_umask")
def test_file_and_folder_are_the_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "new"
    store = open_store(f"sqlite:///{folder}/threads.db")
    store.create("", "thread", b"")
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == {
        "threads.db": 0o600,
        "threads.db-shm": 0o600,
        "threads.db-wal": 0o600,
    }
    store.backup(tmp_path / "copy.db")
    assert mode(tmp_path / "copy.db") == 0o600
    assert store.health().problems == ()
    (folder / "threads.db").chmod(0o644)
    assert "chmod 600" in store.health().problems[0]
    store.close()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("mysql://host/name", "'mysql'"),
        ("", "it starts with ''"),
        ("threads.db", "it starts with"),
        ("sqlite://threads.db", "three slashes"),
        ("sqlite:threads.db", "'sqlite:///threads.db'"),
        ("sqlite:/var/threads.db", "'sqlite:////var/threads.db'"),
        ("sqlite:///x.db?durability=none", "'full' or 'normal'"),
        ("sqlite:///x.db?cache=shared", "'cache'"),
        ("sqlite:///a%00b", "NUL"),
        ("postgresql://[bad", "is no store"),
        ("postgresql://host/name?nonsense=1", "nonsense"),
    ],
)
def test_an_address_that_is_none_says_what_is_wrong_with_it(url: str, problem: str) -> None:
    with pytest.raises(UnknownStore) as refused:
        open_store(url)
    assert problem in str(refused.value)


def test_an_address_with_too_few_slashes_touches_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownStore):
        open_store("sqlite:threads.db")
    assert not list(tmp_path.iterdir())


def test_no_error_shows_a_password() -> None:
    for url in (
        "mysql://user:hunter2@host/name",
        "postgresql://user:hunter2@127.0.0.1:1/name?connect_timeout=1",
        "postgresql://user:hunter2@[bad",
    ):
        with pytest.raises(StoreError) as refused:
            open_store(url)
        shown: BaseException | None = refused.value
        while shown is not None:
            assert "hunter2" not in str(shown)
            shown = shown.__cause__


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        open_store("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        open_store(f"sqlite:///{tmp_path}")
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable):
        open_store(f"sqlite:///{tmp_path}/file/threads.db")


@pytest.mark.parametrize(("missing", "expected"), [("psycopg", MissingExtra), ("ssl", ModuleNotFoundError)])
def test_a_missing_driver_is_told_from_other_missing_modules(
    monkeypatch: pytest.MonkeyPatch, missing: str, expected: type[Exception]
) -> None:
    for name in [name for name in sys.modules if name.startswith(("psycopg", "sash.store.postgres"))]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def importing(name: str, *more: Any) -> Any:
        if name.startswith(("psycopg", "sash.store.postgres.store")) and (missing != "ssl" or name == "psycopg"):
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(expected) as refused:
        open_store("postgresql://host/name")
    assert ("sash[postgres]" in str(refused.value)) is (expected is MissingExtra)
