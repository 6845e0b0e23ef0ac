"""Records with anything in the place of anything: nothing crashes a reader."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.transcripts import FORMATS, WRITERS, Transcript, open_transcript, write_transcript
from tests.transcripts.samples import SAMPLES
from tests.transcripts.test_formats import opencode

BY_LINE = ("claude-code", "pi", "codex", "droid")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "x"]), inner),
    max_leaves=6,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def replaced(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    twin = deepcopy(node)
    holder = twin
    for key in path[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return twin


def written(name: str, records: list[Any]) -> bytes:
    """The file that holds these records: a line each, or the only one as a document."""
    if name in BY_LINE:
        return "\n".join(map(json.dumps, records)).encode()
    return json.dumps(records[0] if records else 0).encode()


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=25)
@given(choice=st.data())
def test_a_record_with_anything_in_any_place_is_read_or_listed(name: str, choice: st.DataObject) -> None:
    records = SAMPLES[name]
    path = choice.draw(st.sampled_from(places(records)).filter(bool))
    changed = replaced(records, path, choice.draw(st.just(...) | ANYTHING))
    transcript = open_transcript(io.BytesIO(written(name, changed)), format=name)
    list(transcript.messages(as_sent=True))
    entries = list(transcript.messages())
    for writer in WRITERS:
        write_transcript(entries, writer, io.BytesIO())


ODD: tuple[Any, ...] = (..., None, True, -1, 10**30, "", "\ud800", [], [[None]], {}, {"type": [7]}, {"text": 5})
"""What another program, or another version of it, may have written there; `...` is nothing at all."""


@pytest.mark.parametrize("name", SAMPLES)
def test_every_place_of_a_session_may_hold_any_odd_value(name: str) -> None:
    records = SAMPLES[name]
    for path in places(records)[1:]:
        for odd in ODD:
            transcript = open_transcript(io.BytesIO(written(name, replaced(records, path, odd))), format=name)
            entries = list(transcript.messages())
            assert all(0 <= damage.line <= max(len(records), len(entries) + 1) for damage in transcript.damage)
            write_transcript(transcript.messages(as_sent=True), "pi", io.BytesIO())


def said(transcript: Transcript) -> list[tuple[int, str]]:
    return [(entry.line, entry.message.text) for entry in transcript.messages()]


def test_a_codex_record_of_no_known_kind_is_listed_by_its_line_and_the_rest_is_read() -> None:
    for kind in (7, ["message"], {"message": 1}):
        records = replaced(SAMPLES["codex"], (3, "payload", "type"), kind)
        transcript = open_transcript(io.BytesIO(written("codex", records)))
        assert len(said(transcript)) == len(SAMPLES["codex"]) - 4
        assert [damage.line for damage in transcript.damage] == [4]


COLUMNS = ("NULL", "-1", "1.5", "4611686018427387904", "''", "x'ff'", "CAST(x'ff41' AS TEXT)")


@pytest.mark.parametrize("whole", [False, True])
def test_every_place_of_a_database_may_hold_any_odd_value(whole: bool, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    opencode(path, whole=whole)
    database = apsw.Connection(str(path))
    database.execute("PRAGMA synchronous = off")
    for table, column, row, value in cells(database):
        inside = json.loads(value) if column == "data" else None
        odd = [
            json.dumps(replaced(inside, place, odd))
            for place in places(inside)
            for odd in ODD
            if place or odd is not ...
        ]
        quoted = [f"CAST(x'{text.encode().hex()}' AS TEXT)" for text in odd] if column == "data" else []
        for literal in (*COLUMNS, *quoted):
            database.execute(f"UPDATE {table} SET {column} = {literal} WHERE rowid = ?", (row,))
            write_transcript(open_transcript(path).messages(), "pi", io.BytesIO())
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
    database.close()


def cells(database: apsw.Connection) -> list[tuple[str, str, Any, Any]]:
    tables = [str(name) for (name,) in database.execute("SELECT name FROM sqlite_master").fetchall()]
    found: list[tuple[str, str, Any, Any]] = []
    for table in tables:
        columns = [str(row[1]) for row in database.execute(f"PRAGMA table_info({table})").fetchall()]
        for row, *values in database.execute(f"SELECT rowid, * FROM {table}").fetchall():
            found += [(table, column, row, value) for column, value in zip(columns, values, strict=True)]
    return found


def test_every_format_but_the_database_has_a_sample() -> None:
    assert set(SAMPLES) == set(FORMATS) - {"opencode"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_told_apart_by_its_content(name: str) -> None:
    records = SAMPLES[name]
    for text in ("\n".join(map(json.dumps, records)), *([] if name in BY_LINE else [json.dumps(records[0], indent=2)])):
        transcript = open_transcript(io.BytesIO(text.encode()))
        assert transcript.format == name
        assert list(transcript.messages())
        assert not transcript.damage
