"""
Claude Code's sessions: lines with a tree of uuids.

What the API gave as one message stands on several lines with one `message.id`, often with results of its calls in
between, so a step is put together before it is told. The tree is followed only where the user went back and typed
something else: lines of parallel calls fork it too, and resumed sessions break it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import msgspec

from sash.core.message import Message
from sash.core.turn import starts_turn, wrote
from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked, sent
from sash.transcripts.entry import Entry, Kind, Part, Usage
from sash.transcripts.lines import Record, records
from sash.transcripts.moment import moment
from sash.transcripts.source import Source
from sash.wire import json_text, wire_named

NAME = "claude-code"
WIRE = "anthropic"
SYNTHETIC = "<synthetic>"
"""The model's name on messages that the program wrote itself."""
IDS_KEPT = 4_096
_ASIDES = (b"<", b"[Request ", b"Caveat: ")
_ASIDE_REACH = 200
"""Bytes in which a message shows that it may be an aside: most show that they are none."""


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Said(msgspec.Struct, gc=False):
    role: str = ""
    content: msgspec.Raw = json_text.ABSENT
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Beside(msgspec.Struct, gc=False):
    """What sash wrote beside a line, since the format has no place for it."""

    message: msgspec.Raw = json_text.ABSENT


class _Line(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    sash: _Beside | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: Any = None
    session_id: str | None = None
    agent_id: str | None = None
    cwd: str | None = None
    subtype: str | None = None
    summary: str | None = None
    custom_title: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    compact_metadata: msgspec.Raw = json_text.ABSENT
    attachment: msgspec.Raw = json_text.ABSENT
    message: _Said | None = None


class _Queued(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    command_mode: Any = "prompt"
    """Only a prompt is the user's; a background task tells of itself in the same way."""
    prompt: msgspec.Raw = json_text.ABSENT


class _Kept(msgspec.Struct, gc=False, rename="camel"):
    """What a compaction left as it was."""

    head_uuid: str = ""
    tail_uuid: str = ""
    uuids: list[str] = []
    all_uuids: list[str] = []


class _Compaction(msgspec.Struct, gc=False, rename="camel"):
    preserved_segment: _Kept | None = None
    preserved_messages: _Kept | None = None


_line = msgspec.json.Decoder(_Line)
_queued = msgspec.json.Decoder(_Queued)
_compaction = msgspec.json.Decoder(_Compaction)
_blocks = msgspec.json.Decoder(str | list[msgspec.Raw])


def read(source: Source, about: About, asked: Asked) -> Iterator[Entry]:
    """The entries of a session, or of the part of it that is named."""
    found = _Reading(about, _outline(source, asked.part, about)).entries(source)
    yield from sent(found) if asked.as_sent else found


class _Outline(msgspec.Struct):
    """Which lines are read: found by going through the file once before."""

    side: str | None = None
    """The agent whose lines are read; None for the conversation itself."""
    left: list[tuple[int, int]] = []
    """Lines that the user went back on: from the first to before the last."""
    end: int = 0
    """Lines from here on are not read; 0 for all."""

    def reads(self, number: int, line: _Line) -> bool:
        if self.end and number >= self.end:
            return False
        agent = _agent(line)
        if agent != self.side and (self.side is not None or agent is not None):
            return False
        return not any(first <= number < last for first, last in self.left)


def _agent(line: _Line) -> str | None:
    return (line.agent_id or line.session_id or "sidechain") if line.is_sidechain else None


def _outline(source: Source, part: str, about: About) -> _Outline:
    """Where the user went back, and which agents speak in the file."""
    typed: dict[str, tuple[int, str]] = {}
    left: list[tuple[int, int]] = []
    branches: list[Part] = []
    agents: dict[str, float | None] = {}
    main = False
    last: float | None = None
    tip = ""
    for number, line, _ in records(source, About(), _line):
        agent = _agent(line)
        if line.message is None:
            continue
        last = moment(line.timestamp) or last
        if agent is not None:
            agents[agent] = last
            continue
        main = True
        if not (_typed(line) and line.uuid):
            continue
        tip = line.uuid
        if line.parent_uuid and line.parent_uuid != line.uuid:
            earlier, name = typed.get(line.parent_uuid, (0, ""))
            if earlier:
                left.append((earlier, number))
                branches.append(Part(name=name, at=last))
            typed[line.parent_uuid] = (number, line.uuid)
    parts = [*branches, *(Part(name=name, at=at) for name, at in agents.items())]
    if main or not agents:
        parts.insert(0, Part(name=tip or "main", at=last))
    usual = parts[0].name
    if len(parts) > 1:
        about.parts = tuple(
            msgspec.structs.replace(each, current=each.name == (part or usual), usual=each.name == usual)
            for each in parts
        )
    if part and part not in {each.name for each in parts}:
        raise about.lacks(part)
    if not main and agents:
        return _Outline(side=part or usual)
    if part in agents:
        return _Outline(side=part)
    for branch, (first, end) in zip(branches, left, strict=True):
        if branch.name == part:
            return _Outline(left=[span for span in left if not span[0] <= first < span[1]], end=end)
    return _Outline(left=left)


def _typed(line: _Line) -> bool:
    """Whether the user typed it: no result, and nothing that the program put there."""
    if line.type != "user" or line.is_meta or line.is_compact_summary or line.message is None:
        return False
    content = bytes(line.message.content)
    if content[:1] != b'"' and b'"tool_result"' in content:
        return False
    beginning = content[:_ASIDE_REACH]
    return not any(mark in beginning for mark in _ASIDES) or not _is_aside(line.message.content)


def _is_aside(content: msgspec.Raw) -> bool:
    """Whether the program speaks in it, in the user's name."""
    try:
        return not wrote(spoken.anthropic("user", content))
    except InvalidMessage:
        return False


class _Step:
    """One message of the model's while its lines and the results of its calls come in."""

    def __init__(self, record: Record[_Line]) -> None:
        assert record.value.message is not None
        self.record = record
        self.id = record.value.message.id
        self.blocks: list[bytes] = []
        self.usage: _Usage | None = None
        self.results: list[Entry] = []


class _Reading:
    def __init__(self, about: About, outline: _Outline) -> None:
        self.about, self.outline = about, outline
        self._step: _Step | None = None
        self._told: OrderedDict[str, None] = OrderedDict()
        """Ids of messages whose usage was told."""
        self._compacted: Record[_Line] | None = None
        self._unnamed: list[str] = []
        """Calls that came without an id, oldest first: a result without one answers them."""

    def entries(self, source: Source) -> Iterator[Entry]:
        for record in records(source, self.about, _line):
            line = record.value
            if not self.outline.reads(record.line, line):
                if line.message is not None:
                    self.about.skipped["sidechain" if line.is_sidechain else "left branch"] += 1
                continue
            self._heading(line)
            try:
                yield from self._entries(record)
            except InvalidMessage as error:
                self.about.hurt(record.line, f"no message: {error}")
        yield from self._flushed()
        yield from self._boundary(None)

    def _heading(self, line: _Line) -> None:
        about = self.about
        about.id = about.id or line.session_id or ""
        about.cwd = about.cwd or line.cwd or ""
        about.title = line.custom_title or line.summary or about.title
        if about.started is None:
            about.started = moment(line.timestamp)

    def _entries(self, record: Record[_Line]) -> Iterator[Entry]:
        line = record.value
        if line.type == "assistant" and line.message is not None:
            yield from self._assistant(record)
        elif line.type == "user" and line.message is not None:
            yield from self._user(record)
        elif line.subtype == "compact_boundary":
            yield from self._flushed()
            yield from self._boundary(None)
            self._compacted = record
        elif line.type in ("tool_use", "tool_result") and line.message is None:
            yield from self._bare(record)
        elif line.type == "attachment" and b'"queued_command"' in bytes(line.attachment):
            yield from self._queued(record)
        else:
            self.about.skipped[line.subtype or line.type or "no type"] += 1

    def _assistant(self, record: Record[_Line]) -> Iterator[Entry]:
        said = record.value.message
        assert said is not None
        if record.value.is_api_error_message:
            yield from self._flushed()
            words = spoken.anthropic("assistant", said.content or b'""').text
            yield self._entry(record, spoken.note(words), kind="note")
            return
        if self._step is None or self._step.id != said.id or said.id is None:
            yield from self._flushed()
            yield from self._boundary(None)
            self._step = _Step(record)
        self._step.blocks += self._called(record, _listed(said.content))
        self._step.usage = said.usage or self._step.usage

    def _flushed(self) -> Iterator[Entry]:
        """The step so far: the model's message, then the results of its calls."""
        step, self._step = self._step, None
        if step is None:
            return
        said = step.record.value.message
        assert said is not None
        model = said.model if said.model and said.model != SYNTHETIC else ""
        self.about.model = model or self.about.model
        usage = _reported(step.usage) if step.id is None or step.id not in self._told else None
        if step.id is not None:
            self._told[step.id] = None
            if len(self._told) > IDS_KEPT:
                self._told.popitem(last=False)
        message = spoken.saved("assistant", step.blocks, self.about, step.record.line)
        yield self._entry(step.record, message, model=model, usage=usage)
        yield from step.results

    def _user(self, record: Record[_Line]) -> Iterator[Entry]:
        line = record.value
        assert line.message is not None
        content = line.message.content or msgspec.Raw(b'""')
        if line.is_compact_summary:
            yield from self._flushed()
            yield from self._boundary((record, spoken.anthropic("user", content)))
            return
        if line.is_meta and not _holds_result(content):
            yield from self._flushed()
            yield from self._boundary(None)
            yield self._entry(record, spoken.anthropic("system", content), kind="injected")
            return
        if _holds_result(content):
            blocks = self._answered(record, _listed(content))
            entry = self._entry(record, spoken.saved("user", blocks, self.about, record.line))
            if self._step is not None:
                self._step.results.append(entry)
            else:
                yield entry
            return
        yield from self._flushed()
        yield from self._boundary(None)
        message = spoken.anthropic("user", content)
        kind: Kind = "message" if starts_turn(message) or not message.blocks else "injected"
        yield self._entry(record, message, kind=kind)

    def _bare(self, record: Record[_Line]) -> Iterator[Entry]:
        """A call, or a result, on a line of its own, as the first versions wrote them: neither has an id."""
        yield from self._flushed()
        given = json_text.fields(record.text)
        said: dict[str, msgspec.Raw]
        if record.value.type == "tool_use":
            said = {name: given[name] for name in ("type", "name", "input") if name in given}
            yield self._entry(record, spoken.anthropic("assistant", self._called(record, [json_text.object_of(said)])))
        else:
            said = {"type": msgspec.Raw(b'"tool_result"'), "content": given.get("output", msgspec.Raw(b'""'))}
            yield self._entry(record, spoken.anthropic("user", self._answered(record, [json_text.object_of(said)])))

    def _queued(self, record: Record[_Line]) -> Iterator[Entry]:
        """Words that came while the model was at work: sent with the next results."""
        queued = json_text.decode(_queued, record.value.attachment)[0]
        if queued.type != "queued_command" or not json_text.present(queued.prompt):
            self.about.skipped["attachment"] += 1
            return
        if queued.command_mode == "prompt":
            entry = self._entry(record, spoken.anthropic("user", queued.prompt))
        else:
            entry = self._entry(record, spoken.anthropic("system", queued.prompt), kind="injected")
        if self._step is not None:
            self._step.results.append(entry)
        else:
            yield entry

    def _boundary(self, summary: tuple[Record[_Line], Message] | None) -> Iterator[Entry]:
        """A compaction, told when its summary came, or when it is clear that none will."""
        record, self._compacted = self._compacted, None
        if record is None and summary is None:
            return
        where = record or (summary[0] if summary is not None else None)
        assert where is not None
        stands = (summary[1],) if summary is not None else ()
        words = summary[1].text if summary is not None else ""
        kept = self._kept(record) if record is not None else ()
        yield self._entry(where, spoken.note(words), kind="compaction", stands=stands, kept=kept)

    def _kept(self, record: Record[_Line]) -> tuple[str, ...]:
        given = record.value.compact_metadata
        if not json_text.present(given):
            return ()
        try:
            told = json_text.decode(_compaction, given)[0]
        except InvalidMessage:
            return ()
        if told.preserved_messages is not None:
            return tuple(told.preserved_messages.all_uuids or told.preserved_messages.uuids)
        segment = told.preserved_segment
        return (segment.head_uuid, "...", segment.tail_uuid) if segment is not None else ()

    def _called(self, record: Record[_Line], blocks: list[bytes]) -> list[bytes]:
        """The blocks, calls without an id named by their line, so that their results find them."""
        if b'"tool_use"' not in record.text:
            return blocks
        named = []
        for place, block in enumerate(blocks):
            if _typed_as(block, "tool_use"):
                fields = json_text.fields(block)
                if not json_text.present(fields.get("id")):
                    name = f"line-{record.line}-{place}"
                    self._unnamed.append(name)
                    self.about.hurt(record.line, "a call without an id")
                    block = json_text.object_of(fields | {"id": msgspec.json.encode(name)})  # noqa: PLW2901  (named)
            named.append(block)
        return named

    def _answered(self, record: Record[_Line], blocks: list[bytes]) -> list[bytes]:
        named = []
        for block in blocks:
            if _typed_as(block, "tool_result"):
                fields = json_text.fields(block)
                if not json_text.present(fields.get("tool_use_id")):
                    self.about.hurt(record.line, "a result without the id of its call")
                    name = self._unnamed.pop(0) if self._unnamed else f"line-{record.line}"
                    block = json_text.object_of(fields | {"tool_use_id": msgspec.json.encode(name)})  # noqa: PLW2901  (named)
            named.append(block)
        return named

    def _entry(self, record: Record[_Line], message: Message, **more: Any) -> Entry:
        line = record.value
        if line.sash is not None and json_text.present(line.sash.message):
            message = wire_named(WIRE).read_message(bytes(line.sash.message))
        return Entry(message=message, at=moment(line.timestamp), line=record.line, key=line.uuid or "", **more)


def _typed_as(block: bytes, kind: str) -> bool:
    return f'"{kind}"'.encode() in block and json_text.decode(_named, block)[0].type == kind


def _listed(content: msgspec.Raw | bytes) -> list[bytes]:
    """The blocks of a message's content; of words, the one text."""
    if not json_text.present(content):
        return []
    given = json_text.decode(_blocks, content)[0]
    if isinstance(given, str):
        return [spoken.text_block(given)] if given else []
    return [bytes(block) for block in given]


def _holds_result(content: msgspec.Raw | bytes) -> bool:
    return bytes(content)[:1] == b"[" and b'"tool_result"' in bytes(content)


def _reported(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    told = Usage(
        input=usage.input_tokens or 0,
        output=usage.output_tokens or 0,
        cache_read=usage.cache_read_input_tokens or 0,
        cache_write=usage.cache_creation_input_tokens or 0,
    )
    return told if told.context else None


class _Named(msgspec.Struct, gc=False):
    type: str = ""


_named = msgspec.json.Decoder(_Named)
