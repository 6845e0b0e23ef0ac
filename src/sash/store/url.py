"""Stores by their address: `memory:`, `sqlite:///FILE`, `postgresql://USER@HOST/NAME`."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from sash.errors import MissingExtra, StoreReadOnly, UnknownStore
from sash.store.memory import MemoryStore
from sash.store.protocol import Store

DEFAULT = "sqlite:"
"""The user's own database, in the place that the desktop's rules (XDG) give to a program's data."""


def open_store(url: str = DEFAULT, *, to_write: bool = False) -> Store:
    """
    The store at an address.

    `sqlite:///sash.db` is a file in the current folder, `sqlite:////var/lib/sash.db` has the whole
    path, `sqlite:` is the user's own. `?durability=normal` trades the last moments before a
    power cut for speed; a crash of the process loses nothing either way. `?mode=ro` only reads, as
    is done anyway with a file that may not be written; `to_write` refuses such a one at once.
    """
    parts = _parts(url)
    match parts.scheme:
        case "memory":
            return MemoryStore()
        case "sqlite":
            return _sqlite(url, parts, to_write=to_write)
        case "postgresql" | "postgres":
            return _postgres(url)
    raise UnknownStore(_hidden(parts), f"it starts with {parts.scheme!r}")


def file_of(url: str) -> Path | None:
    """The file that a store on SQLite is; None of any other."""
    parts = _parts(url)
    return _file(url, parts) if parts.scheme == "sqlite" else None


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UnknownStore(url.rpartition("@")[2].partition("?")[0], str(error)) from None


def default_path() -> Path:
    """Where the user's own threads are."""
    home = os.environ.get("XDG_DATA_HOME", "")
    # The rules say that a relative path there is to be ignored.
    base = Path(home) if home.startswith("/") else Path.home() / ".local" / "share"
    return base / "sash" / "sash.db"


def _sqlite(url: str, parts: SplitResult, *, to_write: bool) -> Store:
    from sash.store.sqlite import SqliteStore

    file = _file(url, parts)
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    durability, mode = asked.pop("durability", "full"), asked.pop("mode", "rw")
    if asked:
        raise UnknownStore(url, f"it does not know {', '.join(map(repr, asked))}, only 'durability' and 'mode'")
    if mode not in ("rw", "ro"):
        raise UnknownStore(url, f"mode is {mode!r}; it takes 'rw' or 'ro'")
    if mode == "ro" and to_write:
        raise StoreReadOnly(str(file), "its address says mode=ro")
    if durability == "full":
        return SqliteStore(file, durability="full", read_only=mode == "ro", to_write=to_write)
    if durability == "normal":
        return SqliteStore(file, durability="normal", read_only=mode == "ro", to_write=to_write)
    raise UnknownStore(url, f"durability is {durability!r}; it takes 'full' or 'normal'")


def _file(url: str, parts: SplitResult) -> Path:
    if parts.netloc:
        raise UnknownStore(url, f"a file has no host {parts.netloc!r}; write three slashes before a relative path")
    path = unquote(parts.path)
    if "\0" in path:
        raise UnknownStore(url, "a path has no NUL characters")
    if len(path) <= 1:
        return default_path()
    if not url.partition(":")[2].startswith("///"):
        # With fewer slashes it could mean a file here or the whole path; taken for the wrong one, threads seem lost.
        raise UnknownStore(url, f"three slashes stand before a path: 'sqlite:///{parts.path}'")
    return Path(path[1:])


def _postgres(url: str) -> Store:
    try:
        from sash.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name not in ("psycopg", "psycopg_pool"):
            raise
        package = "psycopg[binary,pool]"
        raise MissingExtra("a store on PostgreSQL", extra="postgres", package=package) from None
    return PostgresStore(url)


def _hidden(parts: SplitResult) -> str:
    """The address without a password."""
    if parts.password is None:
        return parts.geturl()
    return parts._replace(netloc=f"{parts.username}:***@{parts.netloc.rpartition('@')[2]}").geturl()
