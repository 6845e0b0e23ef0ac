"""SQL lives in .sql files: statements by name, and a schema with its numbered migrations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_MIGRATION = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(msgspec.Struct, frozen=True):
    """One step from an older schema to a newer one."""

    number: int
    name: str
    sql: str


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """What both databases say alike, and what one says its own way."""
    place = files("sash.store")
    return _named(place / "queries.sql") | _named(place / dialect / "queries.sql")


@cache
def schema(dialect: str) -> str:
    """The newest schema: what all migrations together lead to, which a test proves."""
    return (files("sash.store") / dialect / "schema.sql").read_text(encoding="utf-8")


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """In their order, from 1 on without a gap."""
    found = [
        Migration(int(named[1]), named[2], file.read_text(encoding="utf-8"))
        for file in (files("sash.store") / dialect / "migrations").iterdir()
        if (named := _MIGRATION.fullmatch(file.name))
    ]
    found.sort(key=lambda migration: migration.number)
    assert [migration.number for migration in found] == list(range(1, len(found) + 1))
    return tuple(found)


def _named(file: Traversable) -> dict[str, str]:
    _, *parts = _NAMED.split(file.read_text(encoding="utf-8"))
    return {name: sql.strip().removesuffix(";") for name, sql in zip(parts[::2], parts[1::2], strict=True)}
