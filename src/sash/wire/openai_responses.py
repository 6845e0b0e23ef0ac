"""`openai-responses`: items. A call, its output and the reasoning before it are items of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from sash.core.message import Block, Document, Image, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult
from sash.errors import InvalidMessage
from sash.wire import json_text
from sash.wire.carry import by_id, carried, data_url, inline, inline_document, told, words_of
from sash.wire.check import Problem, check
from sash.wire.conversation import ANY_ARGUMENTS, Shaped, Tool
from sash.wire.json_text import present
from sash.wire.overlay import lay_over, written
from sash.wire.rules import Rules

NAME = "openai-responses"
MESSAGES = "input"
TAKES_TEXT = True
SYSTEM = "instructions"


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    image_url: str | None = None
    file_id: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None
    detail: str | None = None


class _Item(msgspec.Struct, gc=False):
    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[_Part] | None = None
    call_id: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: str = "{}"
    input: str | None = None
    output: str | list[_Part] | None = None
    summary: list[_Part] = []
    encrypted_content: str | None = None
    approval_request_id: str | None = None


class _Loosely(msgspec.Struct, gc=False):
    """An item of a shape that we do not know."""

    type: str = "message"
    call_id: str | None = None
    id: str | None = None
    approval_request_id: str | None = None


class _Tool(msgspec.Struct, gc=False):
    type: str
    name: str = ""
    description: str | None = None
    parameters: msgspec.Raw = json_text.ABSENT


_item = msgspec.json.Decoder(_Item)
_all_items = msgspec.json.Decoder(list[_Item])
_loosely = msgspec.json.Decoder(_Loosely)
_tool = msgspec.json.Decoder(_Tool)
_text = msgspec.json.Decoder(str)


def _item_id(message: Message) -> str:
    if message.wire != NAME or message.source[:1] != b"{" or b'"id"' not in message.source:
        return ""
    return json_text.decode(_loosely, message.source)[0].id or ""


def _without_id(message: Message) -> Message:
    """Reasoning, and what we do not know, cannot go without its id: nothing of it is sent again."""
    if message.blocks and type(message.blocks[0]) in (Thinking, Opaque):
        return Message(role="meta")
    kept = json_text.fields(message.source)
    del kept["id"]
    return msgspec.structs.replace(message, source=json_text.object_of(kept))


_COVER = ("compaction", "compaction_summary")
"""Items that stand for all that was said before them; Codex writes the second name too."""

RULES = Rules(
    joins_runs=True,
    results_anywhere=True,
    system_apart=True,
    custom_results=True,
    refuses_empty_user=True,
    id_longest=64,
    thinking_leads=True,
    unseen=frozenset({"item_reference", *_COVER}),
    item_id=_item_id,
    without_id=_without_id,
)


as_json = json_text.as_json


def continues(*, previous_response_id: object, conversation: object, prompt: object, listed: bytes) -> bool:
    """Whether a body goes on from what the provider keeps, a history or a prompt: what it says is not all there is."""
    stored = prompt and listed.strip() in (b"", b"null", b"[]")
    return bool(previous_response_id or conversation or stored)


def read_messages(listed: bytes, items: Sequence[bytes]) -> list[Message]:
    """All items of an input in one go: faster than one by one."""
    return [_message(item, source) for item, source in zip(_all_items.decode(listed), items, strict=True)]


def read_message(source: bytes) -> Message:
    """One item of the input; the input as a whole may be a string, which the user said."""
    if source[:1] == b'"':
        return _said("user", source)
    loosely, mended = json_text.decode(_loosely, source)
    if loosely.type in _MODELED:
        return _message(json_text.decode(_item, source)[0], source, mended=mended)
    return _opaque(loosely, source, mended=mended)


def read_system(source: bytes) -> Message:
    """The instructions, which this wire keeps apart from the input."""
    return _said("system", source)


def _said(role: Role, source: bytes) -> Message:
    words, mended = json_text.decode(_text, source)
    return Message(role=role, blocks=(Text(words),) if words else (), wire=NAME, source=source, edited=mended)


_MODELED = frozenset(
    {"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"}
)
_WAIT_FOR_RESULT = frozenset({"computer_call", "local_shell_call", "shell_call", "apply_patch_call"})


def _message(item: _Item, source: bytes, *, mended: bool = False) -> Message:
    role: Role = "assistant"
    kind = item.type
    block: Block
    if kind == "message":
        if item.role is None:
            raise InvalidMessage("a message has a role", field="role")
        blocks = _read_content(item.content, source, "content")
        return Message(role=item.role, blocks=blocks, wire=NAME, source=source, edited=mended)
    if kind == "function_call":
        block = ToolCall(_needed(item.call_id, "call_id"), _needed(item.name, "name"), item.arguments)
    elif kind in ("function_call_output", "custom_tool_call_output") and item.call_id is not None:
        content = _read_content(item.output, source, "output")
        role, block = "tool", ToolResult(item.call_id, content, custom=kind[0] == "c")
    elif kind == "custom_tool_call":
        call_id, name = _needed(item.call_id, "call_id"), _needed(item.name, "name")
        block = ToolCall(call_id, name, _needed(item.input, "input"), custom=True)
    elif kind == "reasoning":
        words = "\n".join([part.text or "" for part in item.summary])
        block = Thinking(words, item.encrypted_content or item.id or "")
    else:
        loosely = _Loosely(kind, item.call_id, item.id, item.approval_request_id)
        return _opaque(loosely, source, mended=mended)
    return Message(role=role, blocks=(block,), wire=NAME, source=source, edited=mended)


def _opaque(item: _Loosely, source: bytes, *, mended: bool) -> Message:
    """An item that we do not model: its result, where it waits for one, is found by its id."""
    role: Role = "assistant"
    opens = closes = ""
    if item.type == "mcp_approval_request":
        opens = item.id or ""
    elif item.type == "mcp_approval_response":
        role, closes = "tool", item.approval_request_id or ""
    elif item.type.endswith("_call_output"):
        role, closes = "tool", item.call_id or item.id or ""
    elif item.type in _WAIT_FOR_RESULT:
        opens = item.call_id or ""
    body = json_text.mend_surrogates(source) if mended else source
    block = Opaque(item.type, body, opens, closes, covers=item.type in _COVER)
    return Message(role=role, blocks=(block,), wire=NAME, source=source, edited=mended)


def _read_content(
    content: str | list[_Part] | None, source: bytes, field: str
) -> tuple[Text | Image | Document | Opaque, ...]:
    if content is None:
        raise InvalidMessage("is missing", field=field)
    if type(content) is str:
        return (Text(content),) if content else ()
    return tuple([_read_part(part, source, field, place) for place, part in enumerate(content)])  # type: ignore[arg-type]  # a list: mypy does not narrow by `type(...) is`


def _read_part(part: _Part, source: bytes, field: str, place: int) -> Text | Image | Document | Opaque:
    if part.text is not None and part.type in ("input_text", "output_text", "text"):
        return Text(part.text)
    if part.type == "input_image":
        media_type, encoded = inline(part.image_url or "")
        return Image(media_type, encoded, "" if encoded else part.image_url or part.file_id or "", part.detail or "")
    if part.type == "input_file":
        if where := part.file_url or part.file_id:
            return Document("", "", where, part.filename or "")
        document = inline_document(part.file_data or "", part.filename or "")
        if document is not None:
            return document
    return Opaque(part.type, json_text.items(json_text.fields(source)[field])[place])


def _needed(value: str | None, field: str) -> str:
    if value is None:
        raise InvalidMessage("is missing", field=field)
    return value


def write_system(message: Message) -> bytes:
    """The JSON of the instructions."""
    if message.wire == NAME and not message.edited:
        return message.source
    return msgspec.json.encode("\n\n".join(block.text for block in message.blocks if type(block) is Text))


def write_messages(messages: Sequence[Message]) -> bytes:
    """The JSON of all items; an input that came as a string goes as one."""
    if len(messages) == 1 and messages[0].wire == NAME and messages[0].source[:1] == b'"' and not messages[0].edited:
        return messages[0].source
    return json_text.list_of(map(write_message, messages))


def write_message(message: Message) -> bytes:
    """The JSON of an item in this wire's shape."""
    if message.wire == NAME and message.source[:1] == b"{":
        return _laid_over(message) if message.edited else message.source
    block = message.blocks[0] if message.blocks else None
    if type(block) is ToolCall or type(block) is ToolResult:
        return msgspec.json.encode(_render_item(block))
    assistant = message.role == "assistant"
    return msgspec.json.encode({"role": message.role, "content": _content_of(message.blocks, assistant=assistant)})


def _laid_over(message: Message) -> bytes:
    old, kept = read_message(message.source), json_text.fields(message.source)
    block = message.blocks[0] if message.blocks else None
    if isinstance(block, ToolCall | ToolResult) or _is_message(old):
        # What was changed is no longer the item that the provider knows by that id, nor what its reasoning led to.
        kept.pop("id", None)
    if type(block) is ToolCall:
        kept.update((name, written(value)) for name, value in _render_item(block).items())
    elif type(block) is ToolResult:
        before = next(part for part in old.blocks if type(part) is ToolResult)
        kept["type"], kept["call_id"] = written(_output_type(block)), written(block.call_id)
        kept["output"] = _content_over(kept["output"], before.content, block.content, assistant=False)
    elif _is_message(old):
        assistant = message.role == "assistant"
        kept["content"] = _content_over(kept["content"], old.blocks, message.blocks, assistant=assistant)
    return json_text.object_of(kept)


def _is_message(message: Message) -> bool:
    return json_text.decode(_loosely, message.source)[0].type == "message"


def _content_over(content: msgspec.Raw, old: Sequence[Block], new: Sequence[Block], *, assistant: bool) -> msgspec.Raw:
    if bytes(content)[:1] == b"[":
        return lay_over(json_text.items(content), old, new, _render_said if assistant else _render_part)
    return written(_content_of(new, assistant=assistant))


def _content_of(blocks: Sequence[Block], *, assistant: bool) -> str | msgspec.Raw:
    if not blocks:
        return ""
    if len(blocks) == 1 and type(blocks[0]) is Text:
        return blocks[0].text
    return lay_over((), (), blocks, _render_said if assistant else _render_part)


def _render_item(block: ToolCall | ToolResult) -> dict[str, Any]:
    if type(block) is ToolCall:
        if block.custom:
            return {"type": "custom_tool_call", "call_id": block.id, "name": block.name, "input": block.arguments}
        return {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": block.arguments}
    assert type(block) is ToolResult
    output = _content_of(block.content, assistant=False)
    return {"type": _output_type(block), "call_id": block.call_id, "output": output}


def _output_type(result: ToolResult) -> str:
    return "custom_tool_call_output" if result.custom else "function_call_output"


def _render_said(block: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": block.text}


def _render_part(block: Any) -> dict[str, Any]:
    if type(block) is Text:
        return {"type": "input_text", "text": block.text}
    where = data_url(block) if block.data else block.url
    if type(block) is Image:
        field = "file_id" if by_id(block) else "image_url"
        return {"type": "input_image", field: where, "detail": block.detail or "auto"}
    if block.data:
        return {"type": "input_file", "file_data": where, "filename": block.title or "document"}
    return {"type": "input_file", "file_id" if by_id(block) else "file_url": where}


def read_tool(source: bytes) -> Tool:
    """One tool from its JSON."""
    tool, _ = json_text.decode(_tool, source)
    if tool.type != "function":
        return Tool(name=tool.name or tool.type, wire=NAME, source=source, function=False)
    schema = bytes(tool.parameters) if present(tool.parameters) else ANY_ARGUMENTS
    return Tool(name=tool.name, description=tool.description or "", schema=schema, wire=NAME, source=source)


def write_tool(tool: Tool) -> bytes:
    """The JSON of a tool."""
    if tool.wire == NAME:
        return tool.source
    parameters = msgspec.Raw(tool.schema)
    about = {"name": tool.name, "description": tool.description}
    return msgspec.json.encode({"type": "function", **about, "parameters": parameters, "strict": False})


def shape(message: Message) -> Shaped:
    """A message of another wire as this one's items; what cannot be carried over is named."""
    blocks, lost = carried(message, lambda block: _take(block, message.wire))
    role: Role = "user" if message.role == "tool" else message.role
    whole: list[Message] = []
    words: list[Block] = []
    for block in blocks:
        if type(block) is ToolResult:
            whole.append(Message(role="tool", blocks=(told(block),)))
        elif role == "assistant":
            # Each text an item of its own: a list of texts is for what the model itself sent.
            whole.append(Message(role=role, blocks=(block,)))
        else:
            words.append(block)
    if words or (role != "assistant" and not message.blocks):
        whole.append(Message(role=role, blocks=tuple(words)))
    return Shaped(tuple(whole), tuple(lost))


def _take(block: Image | Document, wire: str) -> Block | None:
    if by_id(block):
        return None if wire == "anthropic" else block
    return words_of(block) if type(block) is Document and block.media_type == "text/plain" else block


def problems(messages: Sequence[Message]) -> tuple[Problem, ...]:
    """Everything this provider would refuse."""
    return check(messages, RULES)
