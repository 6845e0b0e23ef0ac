"""Which format a file is in, told by what stands in it and never by its name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from sash.errors import UnreadableTranscript
from sash.transcripts.about import About
from sash.transcripts.batch import wire_in
from sash.transcripts.document import LARGEST, document
from sash.transcripts.lines import lines, readable
from sash.transcripts.source import HEAD, Source

_whole = json.JSONDecoder(parse_int=str, parse_float=str)
SQLITE = b"SQLite format 3\0"
_LINES = 50
"""So many lines are looked at; what comes first tells nearly always."""
_BEGINNING = 200
"""Bytes of the first line of a document that is written over many lines."""

_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_CLAUDE = frozenset({"summary", "file-history-snapshot", "queue-operation", "attachment", "progress", "system"})
_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning", "item_reference", "compaction"})
_ANTHROPIC = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"})
_OLD_CODEX = frozenset({"tool_call", "tool_result", "function_call", "function_result"})


def format_of(source: Source) -> str:
    """The format of a file; empty when it is none that we know."""
    head = source.head()
    if head.startswith(SQLITE):
        return "opencode"
    if _goes_on(head):
        # One document over many lines, of which some may look like records.
        return _of_document(source)
    if name := _of_lines(_first_lines(head, whole=len(head) >= source.size and not source.packed)):
        return name
    # The first message alone may be longer than what was looked at.
    return _of_lines(_decoded(text) for _, text in islice(_long_lines(source, head), _LINES)) or _of_document(source)


def _of_lines(values: Iterable[Any]) -> str:
    for value in values:
        if isinstance(value, list):
            break
        if isinstance(value, dict) and (name := _of_record(value) or _of_body(value)):
            return name
    return ""


def _long_lines(source: Source, head: bytes) -> Iterator[tuple[int, bytes]]:
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0")[:1]
    return lines(source, About()) if len(head) >= HEAD and first == b"{" else iter(())


def trouble_with(source: Source) -> str:
    """Why a file of no known format may be none; empty where there is nothing to say."""
    if not source.size:
        return "it is empty"
    return "it is JSON that ends in the middle" if ends_in_the_middle(source.whole(LARGEST)) else ""


def ends_in_the_middle(content: bytes) -> bool:
    """Whether a text was to be JSON, and was cut off."""
    text = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except RecursionError:
        return False
    except (msgspec.DecodeError, ValueError) as error:
        return "truncated" in str(error)
    return False


def _goes_on(head: bytes) -> bool:
    """Whether the first line only begins a document."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0").partition(b"\n")[0].strip()
    return first[:1] in (b"{", b"[") and len(first) < _BEGINNING and _decoded(first) is None


def _first_lines(head: bytes, *, whole: bool) -> Iterator[Any]:
    """The values on the first lines; of those that are torn or longer than the head, none."""
    texts = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not whole and len(texts) > 1:
        texts.pop()
    for text in texts[:_LINES]:
        value = _decoded(text.strip(b" \t\r\0"))
        if value is not None:
            yield value


def _of_record(record: dict[str, Any]) -> str:
    """The format of a file with such a record on a line."""
    kind = _kind(record)
    if kind == "session" and ("id" in record or "cwd" in record):
        return "pi"
    if kind == "session_start" and "id" in record:
        return "droid"
    if record.keys() >= {"id", "timestamp", "instructions"} and not kind:
        return "codex"
    if kind in _CODEX and isinstance(record.get("payload"), dict):
        return "codex"
    if "projectHash" in record and "messages" not in record:
        return "gemini"
    if kind in ("user", "gemini", "info", "error", "warning") and "content" in record and "id" in record:
        return "gemini"
    if record.keys() & {"parentUuid", "leafUuid"} or (kind in _CLAUDE and "content" not in record):
        return "claude-code"
    message = record.get("message")
    if kind in ("user", "assistant") and isinstance(message, dict):
        return "claude-code"
    if kind == "message" and isinstance(message, dict):
        return "pi" if "parentId" in record or "id" in record else ""
    if record.keys() & {"timestamp", "created_at"} and (kind in _OLD_CODEX or "role" in record):
        return "codex"
    return ""


def _of_body(body: dict[str, Any]) -> str:
    """The format of a document, or of a line that is one."""
    if asked := wire_in(body):
        return asked
    if "sessionId" in body and isinstance(body.get("messages"), list):
        return "gemini"
    if isinstance(body.get("conversations"), list):
        return "sharegpt"
    if isinstance(talk := body.get("conversation"), dict) and "speaker_a" in talk:
        return "locomo"
    if isinstance(body.get("history"), list):
        return "swe-agent"
    if isinstance(body.get("traj"), list):
        return "openai-chat"
    if isinstance(body.get("messages"), list):
        return "anthropic" if body.get("system") is not None else wire_of(body["messages"])
    if "input" in body or (isinstance(body.get("output"), list) and body.get("object") == "response"):
        return "openai-responses"
    return wire_of([body])


def _of_document(source: Source) -> str:
    line, _, rest = source.head().removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0").partition(b"\n")
    if rest.strip() and isinstance(_decoded(line), dict):
        # Lines of something else, in which a list may be called as one of ours is: no document that was torn.
        return ""
    try:
        found = document(source, About())
    except UnreadableTranscript:
        return ""
    if found.listed:
        first = [value for item in found.items[:_LINES] if isinstance(value := _decoded(item), dict)]
        if not first:
            return ""
        return wire_of(first) or ("sharegpt" if "from" in first[0] else _of_body(first[0]))
    return _of_body({name: _decoded(value) for name, value in found.fields.items()})


def _decoded(text: bytes) -> Any:
    try:
        # Python's own parser takes numbers of any size.
        return _whole.decode(readable(text).decode())
    except (ValueError, RecursionError):
        return None


def wire_of(messages: list[Any]) -> str:
    """The wire that messages are most likely written in; empty where they are none."""
    said = [message for message in messages if isinstance(message, dict)]
    if any(_kind(message) in _ITEMS for message in said):
        return "openai-responses"
    if not any(isinstance(message.get("role"), str) for message in said):
        return ""
    contents = (message.get("content") for message in said)
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    kinds = {_kind(block) for block in blocks if isinstance(block, dict)}
    return "anthropic" if kinds & _ANTHROPIC else "openai-chat"


def _kind(record: dict[str, Any]) -> str:
    kind = record.get("type")
    return kind if isinstance(kind, str) else ""
