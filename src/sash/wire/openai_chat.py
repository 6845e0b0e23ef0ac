"""`openai-chat`: OpenAI's chat completions, and everybody else who speaks it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from sash.core.message import Block, Document, Image, Message, Opaque, Role, Text, ToolCall, ToolResult
from sash.errors import InvalidMessage
from sash.wire import json_text
from sash.wire.carry import by_id, carried, data_url, inline, inline_document, told, words_of
from sash.wire.check import Problem, check
from sash.wire.conversation import ANY_ARGUMENTS, Shaped, Tool
from sash.wire.json_text import present
from sash.wire.overlay import lay_over, written
from sash.wire.rules import Rules, Stray

NAME = "openai-chat"
MESSAGES = "messages"
TAKES_TEXT = False
SYSTEM = ""
"""The system prompt is a message among the others."""

_LISTS = ("content", "tool_calls")
_EMPTY = re.compile(rb"\[\s*\]")


def _stray(message: Message) -> Stray | None:
    """The list of a message that is empty, or null as an SDK dumps it: refused, and nothing laid over has one."""
    # By far the most have none: of what says something only the list of an answer's calls could be empty.
    if message.role != "assistant" and _says(message.blocks):
        return None
    source, blocks = message.source, message.blocks
    no_calls = b'"tool_calls"' in source and not (blocks and type(blocks[-1]) is ToolCall)
    if not (no_calls or _EMPTY.search(source)) or message.edited or message.wire != NAME:
        return None
    kept = json_text.fields(source)
    for field in _LISTS:
        if _is_empty(kept.get(field)):
            return Stray("empty-list", f"{field} is an empty list")
    return Stray("null-list", "tool_calls is null") if _is_null(kept.get("tool_calls")) else None


def _says(blocks: Sequence[Block]) -> bool:
    return bool(blocks) and not (type(blocks[0]) is ToolResult and not blocks[0].content)


def _is_empty(value: msgspec.Raw | None) -> bool:
    return value is not None and bytes(value)[:1] == b"[" and not json_text.items(value)


def _is_null(value: msgspec.Raw | None) -> bool:
    return value is not None and bytes(value) == b"null"


RULES = Rules(stray=_stray, id_longest=40)


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str = ""


class _Custom(msgspec.Struct, gc=False):
    name: str
    input: str = ""


class _Call(msgspec.Struct, gc=False):
    id: str
    function: _Function | None = None
    custom: _Custom | None = None


class _ImageUrl(msgspec.Struct, gc=False):
    url: str
    detail: str = ""


class _File(msgspec.Struct, gc=False):
    file_data: str = ""
    file_id: str = ""
    filename: str = ""


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    image_url: _ImageUrl | None = None
    file: _File | None = None


class _Said(msgspec.Struct, gc=False):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_Part] | msgspec.UnsetType | None = msgspec.UNSET
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    audio: msgspec.Raw = json_text.ABSENT
    name: str | None = None
    function_call: _Function | None = None


class _ToolFunction(msgspec.Struct, gc=False):
    name: str
    description: str | None = None
    parameters: msgspec.Raw = json_text.ABSENT


class _Tool(msgspec.Struct, gc=False):
    type: str
    function: _ToolFunction | None = None


_said = msgspec.json.Decoder(_Said)
_all_said = msgspec.json.Decoder(list[_Said])
_tool = msgspec.json.Decoder(_Tool)


as_json = json_text.as_json


def read_messages(listed: bytes, items: Sequence[bytes]) -> list[Message]:
    """All messages of a list in one go: faster than one by one."""
    return [_message(said, source) for said, source in zip(_all_said.decode(listed), items, strict=True)]


def read_message(source: bytes) -> Message:
    """One message from its JSON."""
    said, mended = json_text.decode(_said, source)
    return _message(said, source, mended=mended)


def _message(said: _Said, source: bytes, *, mended: bool = False) -> Message:
    content, role = said.content, said.role
    words: tuple[Text | Image | Document | Opaque, ...] = ()
    if type(content) is str:
        if content:
            words = (Text(content),)
    elif type(content) is list:
        words = tuple([_block(part, source, place) for place, part in enumerate(content)])
    elif role != "assistant":
        raise InvalidMessage("content is null" if content is None else "content is missing", field="content")

    blocks: tuple[Block, ...] = words
    if role == "tool":
        if said.tool_call_id is None:
            raise InvalidMessage("a tool's message names the call it answers", field="tool_call_id")
        blocks = (ToolResult(said.tool_call_id, words),)
    elif role == "assistant":
        if said.refusal and not words:
            blocks = (Text(said.refusal),)
        if said.tool_calls:
            blocks += tuple([_call(call, source, place) for place, call in enumerate(said.tool_calls)])
        if said.function_call is not None:
            body = bytes(json_text.fields(source)["function_call"])
            blocks += (Opaque("function_call", body, opens=f"function:{said.function_call.name}"),)
        if present(said.audio):
            blocks += (Opaque("audio", bytes(said.audio)),)
    elif role == "function":
        role, blocks = "tool", (Opaque("function", source, closes=f"function:{said.name}"),)
    return Message(role=role, blocks=blocks, wire=NAME, source=source, edited=mended)


def _block(part: _Part, source: bytes, place: int) -> Text | Image | Document | Opaque:
    if part.type == "text" and part.text is not None:
        return Text(part.text)
    if part.type == "image_url" and part.image_url is not None:
        media_type, data = inline(part.image_url.url)
        return Image(media_type, data, "" if data else part.image_url.url, part.image_url.detail)
    if part.type == "file" and part.file is not None:
        file = part.file
        if file.file_id:
            return Document("", "", file.file_id, file.filename)
        document = inline_document(file.file_data, file.filename)
        if document is not None:
            return document
    return Opaque(part.type, json_text.items(json_text.fields(source)["content"])[place])


def _call(call: _Call, source: bytes, place: int) -> ToolCall | Opaque:
    if call.function is not None:
        return ToolCall(call.id, call.function.name, call.function.arguments)
    if call.custom is not None:
        return ToolCall(call.id, call.custom.name, call.custom.input, custom=True)
    return Opaque("tool_call", json_text.items(json_text.fields(source)["tool_calls"])[place], opens=call.id)


def write_messages(messages: Sequence[Message]) -> bytes:
    """The JSON of all messages."""
    return json_text.list_of(map(write_message, messages))


def write_message(message: Message) -> bytes:
    """The JSON of a message in this wire's shape."""
    if message.wire == NAME and message.source:
        return _laid_over(message) if message.edited else message.source
    if message.role == "tool":
        result = _result(message)
        content = _content_of(result.content)
        return msgspec.json.encode({"role": "tool", "tool_call_id": result.call_id, "content": content})
    words, calls = _words(message), _calls(message)
    fields: dict[str, Any] = {"role": message.role, "content": _content_of(words) if words or not calls else None}
    if calls:
        fields["tool_calls"] = lay_over((), (), calls, _render_call)
    return msgspec.json.encode(fields)


# The system prompt is a message among the others here.
read_system, write_system = read_message, write_message


def _laid_over(message: Message) -> bytes:
    old, kept = read_message(message.source), json_text.fields(message.source)
    if message.role == "tool":
        if "tool_call_id" in kept:
            result = _result(message)
            kept["tool_call_id"] = written(result.call_id)
            kept["content"] = _content_over(kept["content"], _result(old).content, result.content)
        return _written(kept)
    if _words(old) != _words(message):
        kept["content"] = _content_over(kept.get("content"), _words(old), _words(message))
        # Words that were a refusal stand in the content now.
        kept.pop("refusal", None)
    if _calls(old) != _calls(message):
        kept["tool_calls"] = lay_over(json_text.items(kept["tool_calls"]), _calls(old), _calls(message), _render_call)
    for field in _BESIDE:
        if not any(type(block) is Opaque and block.kind == field for block in message.blocks):
            kept.pop(field, None)
    return _written(kept)


def _written(kept: dict[str, msgspec.Raw]) -> bytes:
    """A message without lists that have nothing in them."""
    if _is_empty(kept.get("content")):
        kept["content"] = written("")
    if _is_empty(kept.get("tool_calls")) or _is_null(kept.get("tool_calls")):
        del kept["tool_calls"]
    return json_text.object_of(kept)


_BESIDE = frozenset({"function_call", "audio"})
"""Fields of a message that are opaque blocks of it."""


def _content_over(content: msgspec.Raw | None, old: Sequence[Block], new: Sequence[Block]) -> msgspec.Raw:
    """Content with its blocks changed: what was a list stays one."""
    if content is not None and bytes(content)[:1] == b"[":
        return lay_over(json_text.items(content), old, new, _render_part)
    return written(_content_of(new))


def _content_of(blocks: Sequence[Block]) -> str | msgspec.Raw:
    if not blocks:
        return ""
    if len(blocks) == 1 and type(blocks[0]) is Text:
        return blocks[0].text
    return lay_over((), (), blocks, _render_part)


def _result(message: Message) -> ToolResult:
    return next(block for block in message.blocks if type(block) is ToolResult)


def _words(message: Message) -> tuple[Block, ...]:
    calls = _calls(message)
    return tuple(b for b in message.blocks if b not in calls and not (type(b) is Opaque and b.kind in _BESIDE))


def _calls(message: Message) -> tuple[Block, ...]:
    return tuple(b for b in message.blocks if type(b) is ToolCall or (type(b) is Opaque and b.kind == "tool_call"))


def _render_part(block: Any) -> dict[str, Any]:
    if type(block) is Image:
        url = data_url(block) if block.data else block.url
        return {"type": "image_url", "image_url": {"url": url} | ({"detail": block.detail} if block.detail else {})}
    if type(block) is Document:
        whole = {"file_data": data_url(block), "filename": block.title or "document"}
        return {"type": "file", "file": whole if block.data else {"file_id": block.url}}
    return {"type": "text", "text": block.text}


def _render_call(call: Any) -> dict[str, Any]:
    if call.custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def read_tool(source: bytes) -> Tool:
    """One tool from its JSON."""
    tool, _ = json_text.decode(_tool, source)
    if tool.function is None:
        return Tool(name=tool.type, wire=NAME, source=source, function=False)
    schema = bytes(tool.function.parameters) if present(tool.function.parameters) else ANY_ARGUMENTS
    return Tool(
        name=tool.function.name, description=tool.function.description or "", schema=schema, wire=NAME, source=source
    )


def write_tool(tool: Tool) -> bytes:
    """The JSON of a tool."""
    if tool.wire == NAME:
        return tool.source
    function = {"name": tool.name, "description": tool.description, "parameters": msgspec.Raw(tool.schema)}
    return msgspec.json.encode({"type": "function", "function": function})


def shape(message: Message) -> Shaped:
    """A message of another wire as this one's messages; what cannot be carried over is named."""
    blocks, lost = carried(message, lambda block: _take(block, message.wire))
    whole: list[Message] = []
    pictures: list[Block] = []
    others: list[Block] = []
    for block in blocks:
        if type(block) is ToolResult:
            # A tool's message holds only words here, so its pictures stand in a message after it.
            result = told(block)
            text = "\n".join(part.text for part in result.content if type(part) is Text)
            pictures += [part for part in result.content if type(part) is not Text]
            whole.append(Message(role="tool", blocks=(ToolResult(block.call_id, (Text(text),) if text else ()),)))
        else:
            others.append(block)
    others = [*pictures, *others]
    if others or not (whole or lost):
        role: Role = "user" if message.role == "tool" else message.role
        whole.append(Message(role=role, blocks=tuple(others)))
    return Shaped(tuple(whole), tuple(lost))


def _take(block: Image | Document, wire: str) -> Block | None:
    if isinstance(block, Image):
        return None if by_id(block) else block
    if block.data:
        return words_of(block) if block.media_type == "text/plain" else block
    return block if by_id(block) and wire != "anthropic" else None


def problems(messages: Sequence[Message]) -> tuple[Problem, ...]:
    """Everything this provider would refuse."""
    return check(messages, RULES)
