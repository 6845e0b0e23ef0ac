"""Messages as a provider's JSON: what was not changed is written from its own bytes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.message import Message
from sash.wire import json_text
from sash.wire.conversation import Conversation, Repair, Tool
from sash.wire.marks import marks_in, without_marks
from sash.wire.registry import Wire, wire_named


def write(conversation: Conversation) -> bytes:
    """The JSON of a conversation: equal to what was read, byte for byte, when nothing was changed."""
    if conversation.source:
        return conversation.source
    wire = wire_named(conversation.wire)
    changed = write_fields(conversation.messages, conversation.tools, conversation.wire)
    if not conversation.fields:
        return changed[wire.MESSAGES]
    emptied = {wire.SYSTEM, "tools"} - changed.keys()
    kept = {name: v for name, v in conversation.fields.items() if name not in emptied or not v.strip(b"[] \t\r\nnul")}
    return json_text.object_of(kept | changed)


def write_fields(
    messages: Sequence[Message], tools: Sequence[Tool], wire: str, *, written: Sequence[bytes] = ()
) -> dict[str, bytes]:
    """
    The fields of a body that messages and tools make: absent where empty.

    `written` holds each message as `write_message` gives it, where that is known already; then only the
    messages at the head have to be given.
    """
    spoken = wire_named(wire)
    fields: dict[str, bytes] = {}
    apart = next((place for place, said in enumerate(messages) if not stands_apart(said, spoken)), len(messages))
    if apart:
        fields[spoken.SYSTEM] = spoken.write_system(_joined(messages[:apart]))
    if len(written) - apart > 1:
        fields[spoken.MESSAGES] = json_text.list_of(written[apart:])
    else:
        fields[spoken.MESSAGES] = spoken.write_messages(messages[apart:])
    if tools:
        fields["tools"] = json_text.list_of(map(spoken.write_tool, tools))
    return fields


def replaced(conversation: Conversation, *, messages: Sequence[Message]) -> Conversation:
    """The conversation with other messages; its other fields stay."""
    return msgspec.structs.replace(conversation, messages=tuple(messages), source=b"")


def carry_tools(tools: Sequence[Tool], wire: str) -> tuple[tuple[Tool, ...], tuple[Repair, ...]]:
    """The tools that this wire can carry, and a note for each that it cannot."""
    offers = wire_named(wire).RULES.tools
    fit = tuple(tool for tool in tools if offers and (tool.function or tool.wire == wire))
    lost = [tool for tool in tools if not (offers and (tool.function or tool.wire == wire))]
    repairs = tuple(
        Repair(what="left-out-tool", message=-1, why=f"{tool.name!r} of {tool.wire!r} has no place on {wire!r}")
        for tool in lost
    )
    fit, unmarked = _spared(fit, wire_named(wire).RULES.most_breakpoints)
    return fit, repairs + unmarked


def _spared(tools: tuple[Tool, ...], most: int) -> tuple[tuple[Tool, ...], tuple[Repair, ...]]:
    """Tools with no more breakpoints than a request takes: the last are kept."""
    marked = [place for place, tool in enumerate(tools) if marks_in(tool.source)] if most else []
    spare = list(tools)
    for place in marked[: max(0, len(marked) - most)]:
        spare[place] = msgspec.structs.replace(tools[place], source=without_marks(tools[place].source, 1))
    why = f"a request takes {most} breakpoints; the last of the tools' are kept"
    return tuple(spare), tuple(
        Repair(what="left-out-breakpoint", message=-1, why=why) for _ in marked[: max(0, len(marked) - most)]
    )


def stands_apart(message: Message, wire: Wire) -> bool:
    """Whether it is a system prompt for the field of its own: not one that came as a message of this wire."""
    return (
        bool(wire.SYSTEM)
        and message.role == "system"
        and not (message.wire == wire.NAME and message.source[:1] == b"{")
    )


def _joined(system: Sequence[Message]) -> Message:
    """Several system messages as the one that this wire has."""
    if len(system) == 1:
        return system[0]
    return Message(role="system", blocks=tuple(block for message in system for block in message.blocks))
