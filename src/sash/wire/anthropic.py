"""`anthropic`: the Messages API. The system prompt stands apart, results of tools in the user's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from sash.core.message import Block, Document, Image, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult
from sash.errors import InvalidMessage
from sash.wire import json_text
from sash.wire.carry import by_id, carried
from sash.wire.check import Problem, check
from sash.wire.conversation import Shaped, Tool
from sash.wire.json_text import present
from sash.wire.overlay import lay_over, written
from sash.wire.rules import Rules, Stray

NAME = "anthropic"
MESSAGES = "messages"
TAKES_TEXT = False
SYSTEM = "system"

_text = msgspec.json.Decoder(str)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def arguments_object(call: ToolCall) -> msgspec.Raw:
    """The arguments as the object this wire demands, whatever the model wrote."""
    if not call.custom:
        try:
            _object.decode(call.arguments)
            return msgspec.Raw(call.arguments.encode())
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeEncodeError):
            if not call.arguments.strip():
                return msgspec.Raw(b"{}")
    return written({"input" if call.custom else "INVALID_JSON": call.arguments})


def _as_object(call: ToolCall) -> str:
    """What a call came with in the place of an object, as one: text that tells an object is that object."""
    told = call.arguments
    if told[:1] == '"':
        told = json_text.decode(_text, told.encode())[0]
    return str(arguments_object(ToolCall(call.id, call.name, told)), "utf-8")


_ANSWER = frozenset(
    {"id", "type", "model", "stop_reason", "stop_sequence", "stop_details", "usage", "container", "context_management"}
)
"""Fields of an answer as it comes. A message that is sent has none of them: `extra inputs are not permitted`."""


def _stray(message: Message) -> Stray | None:
    """What an answer that was kept whole has beside its role and content."""
    source = message.source
    if message.role != "assistant" or message.edited or message.wire != NAME:
        return None
    if b'"stop_reason"' not in source and b'"usage"' not in source and b'"model"' not in source:
        return None
    found = sorted(_ANSWER & json_text.fields(source).keys())
    return Stray("answer-fields", f"{', '.join(found)}: fields of an answer, not of a message") if found else None


RULES = Rules(
    stray=_stray,
    results_in_user_messages=True,
    joins_runs=True,
    system_leads=True,
    system_apart=True,
    starts_with_user=True,
    refuses_blank_text=True,
    refuses_empty_user=True,
    id_forbidden=r"[^a-zA-Z0-9_-]",
    signed_thinking=True,
    errors_are_text=True,
    serves=True,
    trims_end=True,
    most_breakpoints=4,
    as_object=_as_object,
)


class _Source(msgspec.Struct, gc=False):
    type: str
    media_type: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = json_text.ABSENT
    tool_use_id: str | None = None
    content: str | list[_Block] | None = None
    is_error: bool | None = None
    source: _Source | None = None
    title: str | None = None


class _Said(msgspec.Struct, gc=False):
    role: Literal["user", "assistant", "system"]
    content: str | list[_Block] | msgspec.UnsetType = msgspec.UNSET


class _Loosely(msgspec.Struct, gc=False):
    """A message with blocks of a shape that we do not know."""

    role: Literal["user", "assistant", "system"]
    content: str | list[msgspec.Raw]


class _Named(msgspec.Struct, gc=False):
    type: str


class _Tool(msgspec.Struct, gc=False):
    name: str
    type: str | None = None
    description: str | None = None
    input_schema: msgspec.Raw = json_text.ABSENT


_said = msgspec.json.Decoder(_Said)
_all_said = msgspec.json.Decoder(list[_Said])
_loosely = msgspec.json.Decoder(_Loosely)
_block = msgspec.json.Decoder(_Block)
_named = msgspec.json.Decoder(_Named)
_tool = msgspec.json.Decoder(_Tool)
_content = msgspec.json.Decoder(str | list[msgspec.Raw])


as_json = json_text.as_json


def read_messages(listed: bytes, items: Sequence[bytes]) -> list[Message]:
    """All messages of a list in one go: faster than one by one."""
    return [_message(said, source) for said, source in zip(_all_said.decode(listed), items, strict=True)]


def read_message(source: bytes) -> Message:
    """One message from its JSON."""
    try:
        return _message(_said.decode(source), source)
    except (msgspec.DecodeError, RecursionError):
        # Lone surrogates, or a block of a shape that we do not know.
        said, mended = json_text.decode(_loosely, source)
        blocks = _read_blocks(said.content)
        return Message(role=said.role, blocks=blocks, wire=NAME, source=source, edited=mended)


def read_system(source: bytes) -> Message:
    """The system prompt, which this wire keeps apart from the messages."""
    said, mended = json_text.decode(_content, source)
    return Message(role="system", blocks=_read_blocks(said), wire=NAME, source=source, edited=mended)


def _message(said: _Said, source: bytes) -> Message:
    content = said.content
    if type(content) is str:
        blocks: tuple[Block, ...] = (Text(content),) if content else ()
    elif content is msgspec.UNSET:
        raise InvalidMessage("is missing", field="content")
    else:
        whole = [_read_block(block) for block in content]  # type: ignore[arg-type]  # a list: mypy does not narrow by `type(...) is`
        # What is not modeled is looked at once more, as it stands.
        blocks = _read_blocks(_loosely.decode(source).content) if None in whole else tuple(whole)  # type: ignore[arg-type]  # no None is left
    return Message(role=said.role, blocks=blocks, wire=NAME, source=source)


def _read_block(block: _Block) -> Block | None:
    """The block, unless it is or holds one that we do not model, or lacks what it needs."""
    kind = block.type
    if kind == "text":
        return Text(block.text) if block.text is not None else None
    if kind == "tool_use":
        if block.id is not None and block.name is not None and present(block.input):
            return ToolCall(block.id, block.name, json_text.unescaped(str(block.input, "utf-8")))
    elif kind == "tool_result":
        return _read_result(block)
    elif kind == "thinking":
        return Thinking(block.thinking, block.signature or "") if block.thinking is not None else None
    elif kind == "redacted_thinking":
        return Thinking("", block.data, redacted=True) if block.data is not None else None
    elif block.source is not None and block.source.type in ("base64", "url", "file", "text"):
        given = block.source
        if kind == "image":
            return Image(given.media_type, given.data, given.url or given.file_id)
        if kind == "document":
            return Document(given.media_type, given.data, given.url or given.file_id, block.title or "")
    return None


def _read_result(block: _Block) -> ToolResult | None:
    given = block.content
    if block.tool_use_id is None:
        return None
    if type(given) is str:
        return ToolResult(block.tool_use_id, (Text(given),) if given else (), bool(block.is_error))
    content = []
    for part in given or ():
        known = _read_block(part)  # type: ignore[arg-type]  # as above
        if not isinstance(known, Text | Image | Document):
            return None
        content.append(known)
    return ToolResult(block.tool_use_id, tuple(content), bool(block.is_error))


def _read_blocks(content: str | list[msgspec.Raw]) -> tuple[Block, ...]:
    """Blocks of which some are unusual, one by one, so that an error can name the place."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple([_read_raw(raw, f"content[{place}]") for place, raw in enumerate(content)])


_NEEDS = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "thinking": ("thinking",),
    "redacted_thinking": ("data",),
}


def _read_raw(raw: msgspec.Raw, place: str) -> Block:
    try:
        kind = json_text.decode(_named, raw)[0].type
        known = None
        if kind in _NEEDS or kind in ("image", "document"):
            fields = json_text.fields(raw)
            _refuse_missing(fields, _NEEDS.get(kind, ()))
            if kind == "tool_result":
                return _read_loose_result(fields)
            known = _read_block(json_text.decode(_block, raw)[0])
    except InvalidMessage as error:
        raise InvalidMessage(error.problem, field=f"{place}.{error.field}".rstrip(".")) from None
    return known or Opaque(kind, json_text.mend_surrogates(bytes(raw)))


def _refuse_missing(fields: Mapping[str, msgspec.Raw], needed: Sequence[str]) -> None:
    for name in needed:
        if not present(fields.get(name)):
            raise InvalidMessage("is missing", field=name)


def _read_loose_result(fields: dict[str, msgspec.Raw]) -> ToolResult:
    """A result whose content may hold blocks that we do not model."""
    content = fields.pop("content", json_text.ABSENT)
    result = json_text.decode(_block, json_text.object_of(fields))[0]
    blocks: list[Text | Image | Document | Opaque] = []
    if present(content):
        for block in _read_blocks(json_text.decode(_content, content)[0]):
            if not isinstance(block, Text | Image | Document | Opaque):
                raise InvalidMessage("a result holds text, images and documents", field="content")
            blocks.append(block)
    return ToolResult(result.tool_use_id or "", tuple(blocks), bool(result.is_error))


def write_messages(messages: Sequence[Message]) -> bytes:
    """The JSON of all messages."""
    return json_text.list_of(map(write_message, messages))


def write_message(message: Message) -> bytes:
    """The JSON of a message in this wire's shape."""
    if message.wire == NAME and message.source:
        return _laid_over(message) if message.edited else message.source
    return msgspec.json.encode({"role": message.role, "content": _content_of(message.blocks)})


def write_system(message: Message) -> bytes:
    """The JSON of the system prompt, for the field of its own."""
    if message.wire == NAME:
        if not message.edited:
            return message.source
        return bytes(_content_over(message.source, read_system(message.source).blocks, message.blocks))
    return bytes(written(_content_of(message.blocks)))


def _laid_over(message: Message) -> bytes:
    old, kept = read_message(message.source), json_text.fields(message.source)
    kept["content"] = _content_over(kept["content"], old.blocks, message.blocks)
    return json_text.object_of({name: value for name, value in kept.items() if name not in _ANSWER})


def _content_over(content: bytes | msgspec.Raw, old: Sequence[Block], new: Sequence[Block]) -> msgspec.Raw:
    """Content with its blocks changed: what was a list stays one."""
    if bytes(content)[:1] == b"[":
        return lay_over(json_text.items(json_text.mend_surrogates(bytes(content))), old, new, _render)
    return written(_content_of(new))


def _content_of(blocks: Sequence[Block]) -> str | msgspec.Raw:
    if not blocks:
        return ""
    if len(blocks) == 1 and type(blocks[0]) is Text:
        return blocks[0].text
    return lay_over((), (), blocks, _render)


def _render(block: Any) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments_object(block)}
        case ToolResult(call_id, content, error):
            whole: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id}
            if content:
                whole["content"] = _content_of(content)
            return whole | ({"is_error": True} if error else {})
        case Thinking(text, signature, redacted):
            if redacted:
                return {"type": "redacted_thinking", "data": signature}
            return {"type": "thinking", "thinking": text, "signature": signature}
    kind = "image" if type(block) is Image else "document"
    if block.media_type == "text/plain" and block.data:
        source = {"type": "text", "media_type": block.media_type, "data": block.data}
    elif block.data:
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    elif by_id(block):
        source = {"type": "file", "file_id": block.url}
    else:
        source = {"type": "url", "url": block.url}
    return {"type": kind, "source": source} | ({"title": block.title} if getattr(block, "title", "") else {})


def read_tool(source: bytes) -> Tool:
    """One tool from its JSON."""
    tool, _ = json_text.decode(_tool, source)
    if not present(tool.input_schema):
        return Tool(name=tool.name, wire=NAME, source=source, function=False)
    schema = bytes(tool.input_schema)
    return Tool(name=tool.name, description=tool.description or "", schema=schema, wire=NAME, source=source)


def write_tool(tool: Tool) -> bytes:
    """The JSON of a tool."""
    if tool.wire == NAME:
        return tool.source
    about = {"description": tool.description} if tool.description else {}
    return msgspec.json.encode({"name": tool.name, **about, "input_schema": msgspec.Raw(tool.schema)})


def shape(message: Message) -> Shaped:
    """A message of another wire as this one's; what cannot be carried over is named."""
    blocks, lost = carried(message, _take)
    if not blocks and (lost or message.role in ("system", "developer")):
        return Shaped((), tuple(lost))
    role: Role = {"tool": "user", "developer": "system"}.get(message.role, message.role)  # type: ignore[assignment]  # both are roles
    return Shaped((Message(role=role, blocks=tuple(blocks)),), tuple(lost))


def _take(block: Image | Document) -> Block | None:
    if by_id(block) or (type(block) is Document and block.data and block.media_type not in _DOCUMENTS):
        return None
    return block


_DOCUMENTS = frozenset({"application/pdf", "text/plain"})


def problems(messages: Sequence[Message]) -> tuple[Problem, ...]:
    """Everything this provider would refuse."""
    return check(messages, RULES)
