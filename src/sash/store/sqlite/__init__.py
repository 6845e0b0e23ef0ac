"""Threads in one file, through apsw, which brings its own current SQLite."""

from sash.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
