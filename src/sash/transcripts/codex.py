"""
Codex's rollouts: items of the Responses API, wrapped in lines that also tell the program's events.

Items and events tell the same conversation twice. The items are read, since they are what was sent; events only where a
file has no items of that kind. Bare items, as the first versions wrote them, are read too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sash.core.aside import is_aside
from sash.core.message import Message, Text
from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked, sent
from sash.transcripts.entry import Entry, Usage
from sash.transcripts.lines import Record, records
from sash.transcripts.moment import moment
from sash.transcripts.source import Source
from sash.wire import json_text, wire_named

NAME = "codex"
WIRE = "openai-responses"
USERS_KEPT = 200

_UNSENT = frozenset({"ghost_snapshot"})
_INTERNAL = ("internal_chat_message_metadata_passthrough", "metadata")


class _Line(msgspec.Struct, gc=False):
    type: str = ""
    timestamp: Any = None
    created_at: Any = None
    payload: msgspec.Raw = json_text.ABSENT
    role: str | None = None


class _Payload(msgspec.Struct, gc=False):
    """What is looked at of a line's load, whatever its type."""

    type: Any = None
    role: Any = None
    id: Any = None
    session_id: Any = None
    cwd: Any = None
    timestamp: Any = None
    model: Any = None
    base_instructions: Any = None
    instructions: Any = None
    message: Any = None
    replacement_history: msgspec.Raw = json_text.ABSENT
    info: Any = None
    usage: Any = None
    num_turns: Any = None
    item: Any = None
    error: Any = None
    thread_name: Any = None


_line = msgspec.json.Decoder(_Line)
_payload = msgspec.json.Decoder(_Payload)
_list = msgspec.json.Decoder(list[msgspec.Raw])
_any = msgspec.json.Decoder(Any)


class _Outline(msgspec.Struct):
    """What going through the file once before tells."""

    users: bool = False
    """There are items that the user said, so the events that repeat them are not read."""
    answers: bool = False
    left: list[tuple[int, int]] = []
    """Lines that were rolled back: from the first to before the last."""

    def reads(self, number: int) -> bool:
        return not any(first <= number < last for first, last in self.left)


def read(source: Source, about: About, asked: Asked) -> Iterator[Entry]:
    """The entries of a rollout."""
    found = _Reading(about, _outline(source)).entries(source)
    yield from sent(found) if asked.as_sent else found


def _outline(source: Source) -> _Outline:
    outline = _Outline(left=[])
    typed: list[int] = []
    for number, line, text in records(source, About(), _line):
        kind, load = _load(line, text)
        if kind == "response_item":
            if b'"user"' in load and _plain(load).role == "user":
                outline.users = True
                typed.append(number)
            elif b'"output_text"' in load:
                outline.answers = True
        elif kind == "event_msg" and b'"thread_rolled_back"' in load:
            turns = _plain(load).num_turns
            if type(turns) is int and 0 < turns <= len(typed):
                outline.left.append((typed[-turns], number))
                del typed[-turns:]
    return outline


def _load(line: _Line, text: bytes) -> tuple[str, bytes]:
    """What a line is, and what it carries; a line without a load is an item itself."""
    if json_text.present(line.payload):
        return line.type, bytes(line.payload)
    return ("response_item" if line.role or line.type in _BARE else line.type), text


_BARE = frozenset(
    {
        "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
        "local_shell_call", "web_search_call", "tool_call", "tool_result", "function_result",
    }
)  # fmt: skip


def _plain(load: bytes) -> _Payload:
    try:
        return json_text.decode(_payload, load)[0]
    except InvalidMessage:
        return _Payload()


class _Reading:
    def __init__(self, about: About, outline: _Outline) -> None:
        self.about, self.outline = about, outline
        self._model = ""
        self._total: Any = None
        self._users: list[str] = []
        """Keys of what the user said: a compaction without a history of its own keeps them."""
        self._unnamed: list[str] = []
        """Calls that came without an id, oldest first."""

    def entries(self, source: Source) -> Iterator[Entry]:
        for record in records(source, self.about, _line):
            if not self.outline.reads(record.line):
                self.about.skipped["rolled back"] += 1
                continue
            kind, load = _load(record.value, record.text)
            try:
                yield from self._entries(record, kind, load)
            except InvalidMessage as error:
                self.about.hurt(record.line, f"no message: {error}")

    def _entries(self, record: Record[_Line], kind: str, load: bytes) -> Iterator[Entry]:
        if kind == "response_item":
            yield from self._item(record, load)
        elif kind == "event_msg":
            yield from self._event(record, _plain(load))
        elif kind == "compacted":
            yield self._compaction(record, _plain(load))
        elif kind == "session_meta" or (not kind and b'"instructions"' in load):
            self._heading(_plain(load), record)
            self.about.skipped[kind or "session_meta"] += 1
        else:
            if kind == "turn_context":
                self._speaks(_plain(load).model)
            self.about.skipped[kind or "no type"] += 1

    def _heading(self, load: _Payload, record: Record[_Line]) -> None:
        about = self.about
        name, given = load.session_id or load.id, load.base_instructions or load.instructions
        if about.id or not isinstance(name, str):
            # A fork begins with its parent's heading; the first is its own.
            return
        about.id, about.cwd = name, load.cwd if isinstance(load.cwd, str) else ""
        about.started = moment(load.timestamp) or moment(record.value.timestamp)
        words = given.get("text") if isinstance(given, dict) else given
        if isinstance(words, str) and words:
            about.system = wire_named(WIRE).read_system(msgspec.json.encode(words))

    def _speaks(self, model: Any) -> None:
        if isinstance(model, str) and model:
            self._model = self.about.model = model

    def _item(self, record: Record[_Line], load: bytes) -> Iterator[Entry]:
        fields: Mapping[str, msgspec.Raw] = json_text.fields(load)
        kind = _value(fields.get("type")) or "message"
        self._speaks(_value(fields.get("model")))
        if not isinstance(kind, str):
            raise InvalidMessage(f"is {kind!r}; it takes words", field="type")
        if kind in _UNSENT:
            self.about.skipped[kind] += 1
            return
        message = wire_named(WIRE).read_message(self._settled(record, kind, fields))
        if message.role == "user" and _injected(message):
            message = _retold(message)
        if message.role in ("developer", "system"):
            yield self._entry(record, message, fields, kind="injected")
            return
        entry = self._entry(record, message, fields)
        if message.role == "user":
            self._users = [*self._users[1 - USERS_KEPT :], entry.key]
        yield entry

    def _settled(self, record: Record[_Line], kind: str, fields: Mapping[str, msgspec.Raw]) -> bytes:
        """An item as the API takes it, whichever version of the program wrote it."""
        whole = {name: value for name, value in fields.items() if name not in _INTERNAL}
        for name in ("timestamp", "created_at", "model", "function"):
            whole.pop(name, None)
        match kind:
            case "message":
                if "content" not in whole and "message" in whole:
                    whole["content"] = whole.pop("message")
                return json_text.object_of({"type": b'"message"'} | whole)
            case "function_call" | "tool_call" | "function":
                return json_text.object_of(whole | self._call(record, fields))
            case "tool_result" | "function_result":
                name = self._unnamed.pop(0) if self._unnamed else f"line-{record.line}"
                output = {"type": "function_call_output", "call_id": name, "output": _words(fields.get("result"))}
                self.about.hurt(record.line, "a result without the id of its call")
                return msgspec.json.encode(output)
            case "function_call_output" | "custom_tool_call_output":
                whole["output"] = msgspec.Raw(_output(fields.get("output")))
        return json_text.object_of(whole)

    def _call(self, record: Record[_Line], fields: Mapping[str, msgspec.Raw]) -> dict[str, bytes]:
        function = _value(fields.get("function"))
        name = _value(fields.get("name")) or (function.get("name") if isinstance(function, dict) else "") or ""
        arguments = _value(fields.get("arguments"))
        text = arguments if isinstance(arguments, str) else bytes(fields.get("arguments", b"{}")).decode()
        call = _value(fields.get("call_id")) or _value(fields.get("id"))
        if not isinstance(call, str):
            call = f"line-{record.line}"
            self._unnamed.append(call)
            self.about.hurt(record.line, "a call without an id")
        said = {"type": "function_call", "call_id": call, "name": str(name)}
        said["arguments"] = "{}" if text in ("", "null") else text
        return {key: msgspec.json.encode(value) for key, value in said.items()}

    def _event(self, record: Record[_Line], load: _Payload) -> Iterator[Entry]:
        kind = load.type if isinstance(load.type, str) else ""
        told = _told(load)
        if told is not None and (told[0] == "user" and not self.outline.users):
            message = spoken.message(WIRE, {"type": "message", "role": "user", "content": told[1]})
            yield self._entry(record, message, {})
        elif told is not None and told[0] == "assistant" and not self.outline.answers:
            message = spoken.message(WIRE, {"type": "message", "role": "assistant", "content": told[1]})
            yield self._entry(record, message, {}, model=self._model)
        elif (usage := self._usage(load)) is not None:
            yield self._entry(record, spoken.note(""), {}, kind="note", usage=usage, model=self._model)
        elif kind in ("error", "stream_error") and (words := _error(load)):
            yield self._entry(record, spoken.note(f"error: {words}"), {}, kind="note")
        else:
            if kind == "thread_name_updated" and isinstance(load.thread_name, str):
                self.about.title = load.thread_name
            self.about.skipped[kind or "event_msg"] += 1

    def _usage(self, load: _Payload) -> Usage | None:
        """What the newest call of the model took; the same totals told again are no new call."""
        given, total = load.usage, None
        if isinstance(load.info, dict):
            given, total = load.info.get("last_token_usage"), load.info.get("total_token_usage")
        if not isinstance(given, dict) or (total is not None and total == self._total):
            return None
        self._total = total
        counts = [given.get(name) for name in ("input_tokens", "cached_input_tokens", "output_tokens")]
        whole, cached, output = (count if isinstance(count, int) and count > 0 else 0 for count in counts)
        return Usage(input=max(whole - cached, 0), output=output, cache_read=min(cached, whole)) if whole else None

    def _compaction(self, record: Record[_Line], load: _Payload) -> Entry:
        words = load.message if isinstance(load.message, str) else ""
        stands: list[Message] = []
        if json_text.present(load.replacement_history):
            for item in json_text.decode(_list, load.replacement_history)[0]:
                try:
                    fields = json_text.fields(item)
                    kind = str(_value(fields.get("type")) or "message")
                    stands.append(wire_named(WIRE).read_message(self._settled(record, kind, fields)))
                except InvalidMessage as error:
                    self.about.hurt(record.line, f"no message in what stands for the rest: {error}")
            return self._entry(record, spoken.note(words), {}, kind="compaction", stands=tuple(stands))
        summary = spoken.message(WIRE, {"type": "message", "role": "user", "content": words})
        kept = tuple(self._users)
        return self._entry(record, spoken.note(words), {}, kind="compaction", stands=(summary,), kept=kept)

    def _entry(self, record: Record[_Line], message: Message, fields: Mapping[str, msgspec.Raw], **more: Any) -> Entry:
        line, name = record.value, _value(fields.get("id"))
        more.setdefault("model", self._model if message.role == "assistant" else "")
        return Entry(
            message=message,
            at=moment(line.timestamp) or moment(line.created_at),
            line=record.line,
            key=name if isinstance(name, str) else f"line-{record.line}",
            **more,
        )


def _value(raw: msgspec.Raw | bytes | None) -> Any:
    return json_text.decode(_any, raw)[0] if raw is not None and json_text.present(raw) else None


def _words(raw: msgspec.Raw | None) -> str:
    given = _value(raw)
    return given if isinstance(given, str) else msgspec.json.encode(given).decode()


def _output(raw: msgspec.Raw | None) -> bytes:
    """A call's output as the API takes it: words or a list of parts."""
    given = bytes(raw) if raw is not None else b'""'
    if given[:1] == b"{":
        inside = json_text.fields(given)
        content = bytes(inside.get("content", b""))
        return content if content[:1] in (b'"', b"[") else json_text.list_of([given])
    return given if given[:1] in (b'"', b"[") else b'""'


def _injected(message: Message) -> bool:
    """Whether the program said it in the user's name: each of its texts is an aside."""
    texts = [block.text for block in message.blocks if type(block) is Text]
    return bool(texts) and all(map(is_aside, texts))


def _retold(message: Message) -> Message:
    """The same item, said by the developer."""
    fields = json_text.fields(message.source)
    return wire_named(WIRE).read_message(json_text.object_of(fields | {"role": msgspec.Raw(b'"developer"')}))


def _told(load: _Payload) -> tuple[str, str] | None:
    """Who said what, in an event that repeats an item."""
    if load.type == "user_message" and isinstance(load.message, str):
        return "user", load.message
    if load.type == "agent_message" and isinstance(load.message, str):
        return "assistant", load.message
    if load.type == "item_completed" and isinstance(load.item, dict):
        role = {"UserMessage": "user", "AgentMessage": "assistant"}.get(str(load.item.get("type")))
        parts = load.item.get("content")
        if role and isinstance(parts, list):
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            return role, "\n".join(text for text in texts if isinstance(text, str))
    return None


def _error(load: _Payload) -> str:
    given = load.error if load.error is not None else load.message
    words = given.get("message") if isinstance(given, dict) else given
    return words if isinstance(words, str) else ""
