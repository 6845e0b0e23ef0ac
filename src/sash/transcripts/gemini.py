"""
Gemini CLI's sessions: one JSON document, or lines that add to it, change it and take back.

A call and its result stand in one record, and a record that comes again replaces the earlier one, so the
conversation is known only when the file was read to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.document import document, items
from sash.transcripts.entry import Entry, Usage
from sash.transcripts.lines import records
from sash.transcripts.moment import moment
from sash.transcripts.source import Source
from sash.wire import json_text

NAME = "gemini"
WIRE = "anthropic"


class _Tokens(msgspec.Struct, gc=False):
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None


class _Call(msgspec.Struct, gc=False):
    id: str = ""
    name: str = ""
    args: msgspec.Raw = json_text.ABSENT
    result: Any = None
    status: Any = None


class _Said(msgspec.Struct, gc=False, rename={"tool_calls": "toolCalls"}):
    id: str = ""
    type: str = ""
    timestamp: Any = None
    content: Any = None
    model: str | None = None
    tokens: _Tokens | None = None
    tool_calls: list[_Call] | None = None
    thoughts: Any = None


class _Line(msgspec.Struct, gc=False, rename={"session_id": "sessionId", "start_time": "startTime"}):
    id: str | None = None
    type: str | None = None
    session_id: str | None = None
    start_time: Any = None
    summary: Any = None
    messages: msgspec.Raw = json_text.ABSENT
    set: msgspec.Raw = msgspec.field(name="$set", default=json_text.ABSENT)
    rewind_to: str | None = msgspec.field(name="$rewindTo", default=None)


_line = msgspec.json.Decoder(_Line)
_said = msgspec.json.Decoder(_Said)
_TOLD = frozenset({"info", "error", "warning"})


def read(source: Source, about: About, _: Asked) -> Iterator[Entry]:
    """The entries of a session."""
    text = source.head().lstrip(b"\xef\xbb\xbf \t\r\n")
    reading = _Reading(about)
    if text[:1] == b"{" and b'"messages"' in text and not _is_record(text):
        found = document(source, about)
        reading.heading(_decoded(json_text.object_of(found.fields)))
        for place, item in enumerate(items(found.fields.get("messages"), about), 1):
            reading.add(place, item)
    else:
        for number, line, raw in records(source, about, _line):
            reading.line(number, line, raw)
    yield from reading.entries()


def _is_record(text: bytes) -> bool:
    """Whether the first line is whole and only the heading of a file of lines."""
    try:
        line = _line.decode(text.partition(b"\n")[0])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return not json_text.present(line.messages)


def _decoded(text: bytes) -> _Line:
    try:
        return json_text.decode(_line, text)[0]
    except InvalidMessage:
        return _Line()


class _Reading:
    def __init__(self, about: About) -> None:
        self.about = about
        self._said: dict[str, tuple[int, bytes]] = {}
        """Records in the order they were first said, by id."""

    def heading(self, line: _Line) -> None:
        about = self.about
        about.id = line.session_id or about.id
        about.title = line.summary if isinstance(line.summary, str) else about.title
        about.started = about.started or moment(line.start_time)

    def line(self, number: int, line: _Line, text: bytes) -> None:
        if line.rewind_to is not None:
            self._rewind(line.rewind_to)
        elif json_text.present(line.set):
            changed = _decoded(bytes(line.set))
            self.heading(changed)
            if json_text.present(changed.messages):
                self._said.clear()
                for item in items(bytes(changed.messages), self.about):
                    self.add(number, item)
            self.about.skipped["$set"] += 1
        elif line.id is not None and line.type is not None:
            self._said[line.id] = (self._said.get(line.id, (number,))[0], text)
        else:
            self.heading(line)
            self.about.skipped[line.type or "heading"] += 1

    def add(self, place: int, item: bytes) -> None:
        line = _decoded(item)
        self._said[line.id or f"place-{len(self._said)}"] = (place, item)

    def _rewind(self, name: str) -> None:
        """Take back a message and all after it; where nobody has that name, everything."""
        names = list(self._said)
        at = names.index(name) if name in self._said else 0
        for taken in names[at:]:
            del self._said[taken]
            self.about.skipped["rewound"] += 1

    def entries(self) -> Iterator[Entry]:
        for number, text in self._said.values():
            try:
                said = json_text.decode(_said, text)[0]
                yield from self._entries(number, said)
            except InvalidMessage as error:
                self.about.hurt(number, f"no message: {error}")

    def _entries(self, number: int, said: _Said) -> Iterator[Entry]:
        at = moment(said.timestamp)
        if said.type == "user":
            message = spoken.anthropic("user", _parts(said.content))
            yield Entry(message=message, at=at, line=number, key=said.id)
        elif said.type == "gemini":
            self.about.model = said.model or self.about.model
            calls = said.tool_calls or []
            message = spoken.anthropic("assistant", [*_parts(said.content), *map(_called, calls)])
            usage = _reported(said.tokens)
            yield Entry(message=message, at=at, line=number, key=said.id, model=said.model or "", usage=usage)
            if results := [_answered(call) for call in calls if call.result is not None]:
                yield Entry(message=spoken.anthropic("user", results), at=at, line=number, key=f"{said.id}-results")
        elif said.type in _TOLD:
            words = spoken.anthropic("user", _parts(said.content)).text
            yield Entry(message=spoken.note(f"{said.type}: {words}"), kind="note", at=at, line=number, key=said.id)
        else:
            self.about.skipped[said.type or "no type"] += 1


def _parts(content: Any) -> list[bytes]:
    """Gemini's parts as blocks of Anthropic's."""
    blocks: list[bytes] = []
    for part in content if isinstance(content, list) else [content]:
        words: Any = part
        if isinstance(part, dict):
            inline, words = part.get("inlineData"), part.get("text")
            if isinstance(inline, dict):
                blocks.append(_picture(inline))
        if isinstance(words, str) and words:
            blocks.append(spoken.text_block(words))
    return blocks


def _picture(inline: dict[str, Any]) -> bytes:
    kind, given = str(inline.get("mimeType") or ""), str(inline.get("data") or "")
    block = "image" if kind.startswith("image/") else "document"
    return msgspec.json.encode({"type": block, "source": {"type": "base64", "media_type": kind, "data": given}})


def _called(call: _Call) -> bytes:
    given = call.args if json_text.present(call.args) else msgspec.Raw(b"{}")
    return msgspec.json.encode({"type": "tool_use", "id": call.id, "name": call.name, "input": given})


def _answered(call: _Call) -> bytes:
    parts = call.result if isinstance(call.result, list) else [call.result]
    blocks: list[bytes] = []
    for part in parts:
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        if not isinstance(answer, dict):
            blocks += _parts(part)
            continue
        response = answer.get("response")
        told = response.get("output", response.get("error")) if isinstance(response, dict) else response
        words = told if isinstance(told, str) else msgspec.json.encode(told if told is not None else response).decode()
        if words:
            blocks.append(spoken.text_block(words))
        blocks += _parts(answer.get("parts"))
    failed = {"is_error": True} if call.status in ("error", "cancelled") else {}
    content = msgspec.Raw(json_text.list_of(blocks))
    return msgspec.json.encode({"type": "tool_result", "tool_use_id": call.id, "content": content, **failed})


def _reported(tokens: _Tokens | None) -> Usage | None:
    if tokens is None or not tokens.input:
        return None
    cached = min(tokens.cached or 0, tokens.input)
    output = (tokens.output or 0) + (tokens.thoughts or 0)
    return Usage(input=tokens.input - cached, output=output, cache_read=cached)
