"""
opencode's sessions: a SQLite database that is in use while we look at it, so it is only read.

Two generations: messages with parts in a table of their own, and (`session_message`) messages with their content
inside. A call and its result stand in one part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import quote

import apsw
import msgspec

from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked, sent
from sash.transcripts.entry import Entry, Part, Usage
from sash.transcripts.moment import moment
from sash.transcripts.source import Source
from sash.wire import json_text
from sash.wire.carry import inline

NAME = "opencode"
WIRE = "anthropic"
ASKED_TO_SUM_UP = "What did we do so far?"
"""What opencode asks in the place of all that it compacted."""

_any = msgspec.json.Decoder(Any)
_JSON = dict[str, Any]


def read(source: Source, about: About, asked: Asked) -> Iterator[Entry]:
    """The entries of a session: the newest that is nobody's child, unless one is named."""
    try:
        with _file(source) as path, _opened(path) as database:
            about.parts = _listed(database, asked.part)
            if asked.part and not any(part.name == asked.part for part in about.parts):
                raise about.lacks(asked.part)
            current = next((part for part in about.parts if part.current), None)
            if current is None:
                return
            about.id, about.title = current.name, current.title
            found = _Reading(about, database, current.name).entries()
            yield from sent(found) if asked.as_sent else found
    except apsw.Error as error:
        about.hurt(0, f"the database cannot be read: {error}")


def sessions_in(path: Path) -> tuple[Part, ...]:
    """The sessions of a database; none where it cannot be read."""
    try:
        with _opened(path) as database:
            return _listed(database, "")
    except apsw.Error:
        return ()


@contextmanager
def _file(source: Source) -> Iterator[Path]:
    """The database as a file: SQLite reads no streams."""
    if source.path is not None and not source.packed:
        yield source.path
        return
    with NamedTemporaryFile(suffix=".db") as copy:
        for chunk in source.chunks():
            copy.write(chunk)
        copy.flush()
        yield Path(copy.name)


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    """The database, read-only and as it is at this moment."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    database = apsw.Connection(f"file:{quote(str(path.resolve()))}?mode=ro", flags=flags)
    try:
        database.set_busy_timeout(2_000)
        database.execute("BEGIN")
        yield database
    finally:
        database.close()


def _tables(database: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _columns(database: apsw.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


def _listed(database: apsw.Connection, wanted: str) -> tuple[Part, ...]:
    tables = _tables(database)
    found: dict[str, tuple[Part, bool]] = {}
    for table in ("session", "session_v2"):
        if table not in tables:
            continue
        columns = _columns(database, table)
        if not columns >= {"id", "title"}:
            continue
        at = _plain("time_updated") if "time_updated" in columns else "NULL"
        parent = _plain("parent_id") if "parent_id" in columns else "NULL"
        # The names are the two above, and columns that the table has.
        asked = f"SELECT {_plain('id')}, {_plain('title')}, {at}, {parent} FROM {table}"  # noqa: S608  (no word from outside)
        for name, title, updated, above in database.execute(asked):
            part = Part(name=_text(name), title=_text(title), at=_moment(updated))
            found[part.name] = (part, above is None)
    ordered = sorted(found.values(), key=lambda each: (each[0].at or 0.0, each[0].name), reverse=True)
    usual = next((part.name for part, top in ordered if top), "") or next((part.name for part, _ in ordered), "")
    chosen = wanted if wanted in found else usual
    return tuple(
        msgspec.structs.replace(part, current=part.name == chosen, usual=part.name == usual) for part, _ in ordered
    )


def _plain(column: str) -> str:
    """A column's value, text as its bytes: SQLite holds anything in any column, also text that is not UTF-8."""
    return f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) ELSE {column} END"


_ROW = f"{_plain('id')}, {_plain('time_created')}, {_plain('data')}"
_PARTS = f"SELECT {_plain('data')} FROM part WHERE message_id = CAST(? AS TEXT) ORDER BY id"  # noqa: S608  (likewise)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _moment(value: Any) -> float | None:
    return moment(_text(value) if isinstance(value, bytes) else value)


class _Reading:
    def __init__(self, about: About, database: apsw.Connection, session: str) -> None:
        self.about, self.database, self.session = about, database, session
        self._place = 0
        self._compaction: Entry | None = None
        """A compaction whose summary has not come yet."""

    def entries(self) -> Iterator[Entry]:
        tables = _tables(self.database)
        told = False
        if "message" in tables and "part" in tables:
            for entry in self._in_parts():
                told = True
                yield entry
        if not told and "session_message" in tables:
            yield from self._whole()
        if self._compaction is not None:
            yield self._compaction

    def _json(self, text: Any) -> _JSON:
        value = text
        if isinstance(text, bytes):
            try:
                value = json_text.decode(_any, text.decode("utf-8", "replace").encode())[0]
            except InvalidMessage as error:
                self.about.hurt(self._place, f"no JSON: {error}")
                return {}
        if not isinstance(value, dict):
            self.about.hurt(self._place, f"no record of this format: {type(value).__name__!r}")
            return {}
        return value

    def _in_parts(self) -> Iterator[Entry]:
        rows = self.database.execute(
            f"SELECT {_ROW} FROM message WHERE session_id = ? ORDER BY time_created, id",  # noqa: S608  (likewise)
            (self.session,),
        )
        for name, created, text in rows:
            self._place += 1
            said = self._json(text)
            parts = [self._json(part) for (part,) in self.database.execute(_PARTS, (name,))]
            yield from self._told(said, str(said.get("role") or ""), parts, _text(name), _moment(created))

    def _whole(self) -> Iterator[Entry]:
        rows = self.database.execute(
            f"SELECT {_ROW}, {_plain('type')} FROM session_message WHERE session_id = ? ORDER BY seq",  # noqa: S608  (likewise)
            (self.session,),
        )
        for named, created, text, typed in rows:
            self._place += 1
            name, kind = _text(named), _text(typed)
            said, at = self._json(text), _moment(created)
            spoke, listed = said.get("text"), said.get("files")
            words = spoke if isinstance(spoke, str) else ""
            files = (
                [{**file, "type": "file"} for file in listed if isinstance(file, dict)]
                if isinstance(listed, list)
                else []
            )
            match kind:
                case "user":
                    yield from self._told(said, "user", [{"type": "text", "text": words}, *files], name, at)
                case "synthetic" | "system" if words:
                    message = spoken.anthropic("system", [spoken.text_block(words)])
                    yield self._entry(message, name, at, kind="injected")
                case "assistant":
                    content = said.get("content")
                    listed = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
                    yield from self._told(said, "assistant", listed, name, at)
                case "compaction":
                    summary = str(said.get("summary") or "")
                    stands = (spoken.anthropic("user", [spoken.text_block(summary)]),) if summary else ()
                    yield self._entry(spoken.note(summary), name, at, kind="compaction", stands=stands)
                case "shell":
                    ran = f"Ran `{said.get('command') or ''}`\n{said.get('output') or ''}"
                    yield self._entry(spoken.anthropic("user", [spoken.text_block(ran)]), name, at)
                case _:
                    self.about.skipped[kind] += 1

    def _told(self, said: _JSON, role: str, parts: list[_JSON], name: str, at: float | None) -> Iterator[Entry]:
        try:
            if role == "user":
                yield from self._user(parts, name, at)
            elif role == "assistant":
                yield from self._assistant(said, parts, name, at)
            else:
                self.about.skipped[f"message of {role or 'nobody'}"] += 1
        except InvalidMessage as error:
            self.about.hurt(self._place, f"no message: {error}")

    def _user(self, parts: list[_JSON], name: str, at: float | None) -> Iterator[Entry]:
        if self.about.started is None:
            self.about.started = at
        for part in parts:
            if part.get("type") == "compaction":
                tail = part.get("tail_start_id")
                kept = (tail, "...", name) if isinstance(tail, str) else ()
                self._compaction = self._entry(spoken.note(""), name, at, kind="compaction", kept=kept)
                return
        blocks = [block for part in parts if (block := _user_block(part))]
        yield self._entry(spoken.anthropic("user", blocks), name, at)

    def _assistant(self, said: _JSON, parts: list[_JSON], name: str, at: float | None) -> Iterator[Entry]:
        model = said.get("modelID") or (said["model"].get("id") if isinstance(said.get("model"), dict) else "")
        self.about.model = str(model or self.about.model)
        place = said.get("path")
        if isinstance(place, dict) and isinstance(place.get("cwd"), str):
            self.about.cwd = self.about.cwd or place["cwd"]
        if self._compaction is not None and said.get("summary"):
            yield self._summed_up(parts)
            return
        steps = _steps(parts)
        told = any(part.get("type") == "step-finish" for part in parts)
        for number, step in enumerate(steps):
            usage = next((_reported(part.get("tokens")) for part in step if part.get("type") == "step-finish"), None)
            if not told and number == len(steps) - 1:
                usage = _reported(said.get("tokens"))
            key = name if not number else f"{name}-{number}"
            blocks = [block for part in step if (block := _model_block(part))]
            message = spoken.anthropic("assistant", blocks)
            yield self._entry(message, key, at, model=str(model or ""), usage=usage)
            if results := [result for part in step if (result := _result(part))]:
                yield self._entry(spoken.anthropic("user", results), f"{key}-results", at)

    def _summed_up(self, parts: list[_JSON]) -> Entry:
        """The compaction, now that its summary is there."""
        compaction, self._compaction = self._compaction, None
        assert compaction is not None
        words = "\n".join(str(part.get("text")) for part in parts if part.get("type") == "text" and part.get("text"))
        asked = spoken.anthropic("user", [spoken.text_block(ASKED_TO_SUM_UP)])
        stands = (asked, spoken.anthropic("assistant", [spoken.text_block(words)])) if words else (asked,)
        return msgspec.structs.replace(compaction, message=spoken.note(words), stands=stands)

    def _entry(self, message: Any, name: str, at: float | None, **more: Any) -> Entry:
        return Entry(message=message, at=at, line=self._place, key=name, **more)


def _steps(parts: list[_JSON]) -> list[list[_JSON]]:
    """The parts of each call of the model: an answer may hold several."""
    steps: list[list[_JSON]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and any(each.get("type") != "step-start" for each in steps[-1]):
            steps.append([])
        steps[-1].append(part)
    return steps


def _user_block(part: _JSON) -> bytes:
    match part.get("type"):
        case "text" if isinstance(part.get("text"), str) and part["text"] and not part.get("ignored"):
            return spoken.text_block(part["text"])
        case "file":
            return _attached(part)
    return b""


def _attached(part: _JSON) -> bytes:
    kind, encoded = inline(str(part.get("url") or part.get("uri") or ""))
    if not encoded:
        return b""
    name = {"title": part["filename"]} if isinstance(part.get("filename"), str) else {}
    picture = kind.startswith("image/")
    source = {"type": "base64", "media_type": kind, "data": encoded}
    return msgspec.json.encode(
        {"type": "image" if picture else "document", "source": source} | ({} if picture else name)
    )


def _model_block(part: _JSON) -> bytes:
    match part.get("type"):
        case "text" if isinstance(part.get("text"), str) and part["text"]:
            return spoken.text_block(part["text"])
        case "reasoning":
            proof = _signature(part)
            if proof:
                thought = str(part.get("text") or "")
                return msgspec.json.encode({"type": "thinking", "thinking": thought, "signature": proof})
        case "tool":
            state = part.get("state")
            given = state.get("input") if isinstance(state, dict) else None
            call = {"type": "tool_use", "id": _call_id(part), "name": str(part.get("tool") or part.get("name") or "")}
            return msgspec.json.encode(call | {"input": given if isinstance(given, dict) else {}})
    return b""


def _call_id(part: _JSON) -> str:
    return str(part.get("callID") or part.get("id") or "")


def _signature(part: _JSON) -> str:
    for field in ("metadata", "state"):
        holder = part.get(field)
        anthropic = holder.get("anthropic") if isinstance(holder, dict) else None
        if isinstance(anthropic, dict) and isinstance(anthropic.get("signature"), str):
            return str(anthropic["signature"])
    return ""


def _result(part: _JSON) -> bytes:
    state = part.get("state")
    if part.get("type") != "tool" or not isinstance(state, dict):
        return b""
    status = state.get("status")
    if status not in ("completed", "error"):
        return b""
    content: list[bytes] = []
    told = state.get("error") if status == "error" else state.get("output")
    if isinstance(told, dict):
        told = told.get("message")
    if isinstance(told, str) and told:
        content.append(spoken.text_block(told))
    for field in ("content", "attachments"):
        listed = state.get(field)
        blocks = (_user_block(each) for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict))
        content += [block for block in blocks if block]
    result: _JSON = {"type": "tool_result", "tool_use_id": _call_id(part)}
    result["content"] = msgspec.Raw(json_text.list_of(content))
    return msgspec.json.encode(result | ({"is_error": True} if status == "error" else {}))


def _reported(tokens: Any) -> Usage | None:
    if not isinstance(tokens, dict):
        return None
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    given = (tokens.get("input"), tokens.get("output"), tokens.get("reasoning"), cache.get("read"), cache.get("write"))
    counts = [int(count) if isinstance(count, int | float) and 0 < count < 1 << 53 else 0 for count in given]
    told = Usage(input=counts[0], output=counts[1] + counts[2], cache_read=counts[3], cache_write=counts[4])
    return told if told.context else None
