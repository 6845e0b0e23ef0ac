"""
pi's sessions: a tree of entries, of which the path from the last one to the root is the conversation.

Versions 1 to 3. The first has no ids: its entries follow each other. Content is Anthropic's in all but spelling.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from sash.core.message import Message
from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.entry import Entry, Part, Usage
from sash.transcripts.lines import Record, records
from sash.transcripts.moment import moment
from sash.transcripts.source import Source
from sash.wire import json_text, wire_named

NAME = "pi"
WIRE = "anthropic"

COMPACTED = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
CAME_BACK = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)
"""What pi puts around a summary when it sends it."""


class _Usage(msgspec.Struct, gc=False, rename="camel"):
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class _Said(msgspec.Struct, gc=False, rename="camel"):
    role: str = ""
    content: msgspec.Raw = json_text.ABSENT
    timestamp: Any = None
    api: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    stop_reason: str | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    command: str | None = None
    output: str | None = None
    exit_code: int | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    summary: str | None = None


class _Beside(msgspec.Struct, gc=False, rename={"joins": "with"}):
    """What sash wrote beside an entry, since pi has no place for it."""

    message: msgspec.Raw = json_text.ABSENT
    """The message as it was before it was told in pi's blocks."""
    joins: str | None = None
    """The entry whose message this one is a part of."""


class _Line(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    sash: _Beside | None = None
    id: str | None = None
    parent_id: str | None = None
    version: int | None = None
    timestamp: Any = None
    cwd: str | None = None
    provider: str | None = None
    model_id: str | None = None
    summary: str | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    name: str | None = None
    label: Any = None
    content: msgspec.Raw = json_text.ABSENT
    message: _Said | None = None


class _Block(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    thinking_signature: str | None = None
    redacted: bool | None = None
    data: str | None = None
    mime_type: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = json_text.ABSENT


class _Glimpse(msgspec.Struct, gc=False, rename="camel"):
    """As much of an entry as places it in the tree."""

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: Any = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None


_line = msgspec.json.Decoder(_Line)
_glimpse = msgspec.json.Decoder(_Glimpse)
_content = msgspec.json.Decoder(str | list[_Block])


class _Path(msgspec.Struct):
    """Which entries of a file are the conversation, by their place among all entries."""

    on: bytearray
    compaction: int = -1
    """Place of the newest compaction on the path."""
    kept: int = 0
    """Place of the first entry that it kept."""


def read(source: Source, about: About, asked: Asked) -> Iterator[Entry]:
    """The entries of the current branch, or of the one that ends with the entry named."""
    path = _path(source, asked.part, about)
    if asked.as_sent and path.compaction >= 0:
        yield from _summary(source, path.compaction)
    yield from _joined(_on(path, source, about, asked), _Reading(about), as_sent=asked.as_sent)


def reread(texts: Sequence[bytes]) -> list[Message]:
    """The messages that entries give when they are read: what a writer holds against what it was given."""
    found = (Record(0, _line.decode(text), text) for text in texts)
    return [entry.message for entry in _joined(found, _Reading(About()), as_sent=False)]


def _on(path: _Path, source: Source, about: About, asked: Asked) -> Iterator[Record[_Line]]:
    """The records of the branch that is read, the header among them."""
    place = -1
    for record in records(source, about, _line):
        line = record.value
        if line.type == "session":
            yield record
            continue
        place += 1
        if place >= len(path.on) or not path.on[place]:
            about.skipped["other branch"] += 1
        elif not asked.as_sent or (line.type != "compaction" and place >= path.kept):
            yield record


def _joined(found: Iterable[Record[_Line]], reading: _Reading, *, as_sent: bool) -> Iterator[Entry]:
    """The entries of records; of a message that was told in several of them, one."""
    held: Entry | None = None
    whole = False
    for record in found:
        beside = record.value.sash or _Beside()
        try:
            if held is not None and beside.joins and beside.joins == held.key:
                if not whole:
                    held = _together(held, reading.entries(record))
                continue
            for entry in reading.entries(record):
                if held is not None:
                    yield held
                held, whole = entry, json_text.present(beside.message)
                if whole:
                    source = bytes(beside.message)
                    held = msgspec.structs.replace(held, message=wire_named(WIRE).read_message(source))
                if as_sent and held.kind == "note":
                    held = None
        except InvalidMessage as error:
            reading.about.hurt(record.line, f"no message: {error}")
    if held is not None:
        yield held


def _together(held: Entry, more: Iterable[Entry]) -> Entry:
    """One message out of two: its blocks, then theirs."""
    blocks = [block for entry in (held, *more) for block in _content_of(entry.message)]
    return msgspec.structs.replace(held, message=spoken.anthropic(held.message.role, blocks))


def _content_of(message: Message) -> list[bytes]:
    return json_text.items(json_text.fields(message.source)["content"])


def _summary(source: Source, place: int) -> Iterator[Entry]:
    """The newest compaction, as pi sends it before all that it kept."""
    at = -1
    for record in records(source, About(), _line):
        at += record.value.type != "session"
        if at == place:
            words = _framed(record.value.summary or "", COMPACTED)
            message = spoken.anthropic("user", [spoken.text_block(words)])
            yield _entry(record, message, kind="compaction")
            return


def _path(source: Source, part: str, about: About) -> _Path:
    """The path from the leaf to the root. Of a file that never branches it takes a few bytes an entry to find."""
    ids: array[int] = array("q")
    parents: array[int] = array("q")
    by_id: dict[int, int] | None = None
    leaves: dict[int, tuple[str, float | None]] = {}
    compactions: list[tuple[int, str, int | None]] = []
    wanted = -1
    for _, entry, _ in records(source, About(), _glimpse):
        if entry.type == "session":
            continue
        place, name = len(ids), hash(entry.id) if entry.id is not None else 0
        if entry.id is None or (ids and entry.parent_id is not None and hash(entry.parent_id) == ids[-1]):
            # The first version, or an entry that follows the one before it: nearly always.
            parent = place - 1
        elif entry.parent_id is None:
            parent = -1
        else:
            by_id = by_id if by_id is not None else {each: at for at, each in enumerate(ids)}
            parent = by_id.get(hash(entry.parent_id), -1)
        ids.append(name)
        parents.append(parent)
        if by_id is not None:
            by_id[name] = place
        leaves.pop(parent, None)
        leaves[place] = (entry.id or "", moment(entry.timestamp))
        if entry.type == "compaction":
            compactions.append((place, entry.first_kept_entry_id or "", entry.first_kept_entry_index))
        if part and entry.id == part:
            wanted = place
    leaf = wanted if wanted >= 0 else len(ids) - 1
    if len(leaves) > 1:
        about.parts = tuple(
            Part(name=name, at=at, current=place == leaf, usual=place == len(ids) - 1)
            for place, (name, at) in leaves.items()
        )
    if part and wanted < 0:
        raise about.lacks(part)
    on = bytearray(len(ids))
    while leaf >= 0:
        on[leaf] = 1
        leaf = parents[leaf]
    for place, first, index in reversed(compactions):
        if on[place]:
            # Version 1 counts the header; a name that nobody has keeps nothing, as in pi.
            kept = index - 1 if index is not None else _place_of(hash(first), ids, on, place)
            return _Path(on, place, min(max(kept, 0), place))
    return _Path(on)


def _place_of(name: int, ids: array[int], on: bytearray, end: int) -> int:
    for place in range(end):
        if ids[place] == name and on[place]:
            return place
    return end


class _Reading:
    def __init__(self, about: About) -> None:
        self.about = about

    def _heading(self, line: _Line) -> None:
        about = self.about
        about.id = about.id or line.id or ""
        about.cwd = about.cwd or line.cwd or ""
        about.model = about.model or line.model_id or ""
        if about.started is None:
            about.started = moment(line.timestamp)

    def entries(self, record: Record[_Line]) -> Iterator[Entry]:
        line = record.value
        match line.type:
            case "session":
                self._heading(line)
            case "message" if line.message is not None:
                yield from self._said(record, line.message)
            case "compaction":
                words = line.summary or ""
                stands = spoken.anthropic("user", [spoken.text_block(_framed(words, COMPACTED))])
                yield _entry(record, spoken.note(words), kind="compaction", stands=(stands,))
            case "branch_summary" if line.summary:
                words = _framed(line.summary, CAME_BACK)
                yield _entry(record, spoken.anthropic("system", [spoken.text_block(words)]), kind="injected")
            case "custom_message":
                blocks = _blocks(line.content, signed=False)
                yield _entry(record, spoken.anthropic("system", blocks), kind="injected")
            case "model_change":
                self.about.model = line.model_id or self.about.model
                self.about.skipped[line.type] += 1
            case "session_info":
                self.about.title = line.name or self.about.title
                self.about.skipped[line.type] += 1
            case "label" if isinstance(line.label, str):
                yield _entry(record, spoken.note(f"label: {line.label}"), kind="note")
            case _:
                self.about.skipped[line.type or "no type"] += 1

    def _said(self, record: Record[_Line], said: _Said) -> Iterator[Entry]:
        match said.role:
            case "user":
                yield _entry(record, spoken.anthropic("user", _blocks(said.content, signed=False)))
            case "assistant":
                self.about.model = said.model or self.about.model
                blocks = _blocks(said.content, signed=said.api in (None, "anthropic-messages"))
                message = spoken.anthropic("assistant", blocks)
                yield _entry(record, message, model=said.model or "", usage=_reported(said.usage))
            case "toolResult":
                result: dict[str, Any] = {
                    "type": "tool_result",
                    "tool_use_id": said.tool_call_id or f"line-{record.line}",
                    "content": msgspec.Raw(json_text.list_of(_blocks(said.content, signed=False))),
                }
                if said.is_error:
                    result["is_error"] = True
                yield _entry(record, spoken.anthropic("user", [msgspec.json.encode(result)]))
            case "bashExecution":
                words = _ran(said)
                if said.exclude_from_context:
                    yield _entry(record, spoken.note(words), kind="note")
                else:
                    yield _entry(record, spoken.anthropic("user", [spoken.text_block(words)]))
            case "custom" | "hookMessage":
                blocks = _blocks(said.content, signed=False)
                yield _entry(record, spoken.anthropic("system", blocks), kind="injected")
            case "branchSummary" | "compactionSummary" if said.summary:
                frame = CAME_BACK if said.role == "branchSummary" else COMPACTED
                words = _framed(said.summary, frame)
                yield _entry(record, spoken.anthropic("system", [spoken.text_block(words)]), kind="injected")
            case _:
                self.about.skipped[f"message of {said.role or 'nobody'}"] += 1


def _entry(record: Record[_Line], message: Message, **more: Any) -> Entry:
    line = record.value
    at = moment(line.timestamp) or (moment(line.message.timestamp) if line.message is not None else None)
    return Entry(message=message, at=at, line=record.line, key=line.id or "", **more)


def _blocks(content: msgspec.Raw, *, signed: bool) -> list[bytes]:
    """pi's blocks as Anthropic's; thinking that is not signed is sent as words, as pi does."""
    if not json_text.present(content):
        return []
    given = json_text.decode(_content, content)[0]
    if isinstance(given, str):
        return [spoken.text_block(given)] if given else []
    return [written for block in given if (written := _block(block, signed=signed))]


def _block(block: _Block, *, signed: bool) -> bytes:
    match block.type:
        case "text":
            return spoken.text_block(block.text) if block.text else b""
        case "toolCall":
            arguments = block.arguments if json_text.present(block.arguments) else msgspec.Raw(b"{}")
            call = {"type": "tool_use", "id": block.id or "", "name": block.name or "", "input": arguments}
            return msgspec.json.encode(call)
        case "thinking":
            proof = block.thinking_signature or ""
            if signed and block.redacted and proof:
                return msgspec.json.encode({"type": "redacted_thinking", "data": proof})
            if signed and proof:
                return msgspec.json.encode({"type": "thinking", "thinking": block.thinking or "", "signature": proof})
            return spoken.text_block(block.thinking) if block.thinking else b""
        case "image":
            picture = {"type": "base64", "media_type": block.mime_type or "", "data": block.data or ""}
            return msgspec.json.encode({"type": "image", "source": picture})
    raise InvalidMessage(f"a block of type {block.type!r}")


def _framed(words: str, frame: tuple[str, str]) -> str:
    return f"{frame[0]}{words}{frame[1]}"


def _ran(said: _Said) -> str:
    """A command that the user ran, as pi tells the model of it."""
    words = f"Ran `{said.command or ''}`\n"
    words += f"```\n{said.output}\n```" if said.output else "(no output)"
    if said.cancelled:
        words += "\n\n(command cancelled)"
    elif said.exit_code:
        words += f"\n\nCommand exited with code {said.exit_code}"
    if said.truncated and said.full_output_path:
        words += f"\n\n[Output truncated. Full output: {said.full_output_path}]"
    return words


def _reported(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    told = Usage(
        input=usage.input or 0,
        output=usage.output or 0,
        cache_read=usage.cache_read or 0,
        cache_write=usage.cache_write or 0,
    )
    return told if told.context else None
