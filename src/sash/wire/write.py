"""Messages as a provider's JSON: what was not changed is written from its own bytes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.message import Block, Message, Text, ToolResult, by_sash
from sash.errors import InvalidRequest
from sash.wire import json_text
from sash.wire.conversation import Conversation, Repair, Tool
from sash.wire.registry import Wire, wire_named
from sash.wire.repair import repair


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that their provider will take, and what had to be done for it."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()


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


def write_fields(messages: Sequence[Message], tools: Sequence[Tool], wire: str) -> dict[str, bytes]:
    """The fields of a body that messages and tools make: absent where empty."""
    spoken = wire_named(wire)
    fields: dict[str, bytes] = {}
    if spoken.SYSTEM and (apart := _system_apart(messages, wire)):
        fields[spoken.SYSTEM] = spoken.write_system(_joined(messages[:apart]))
        messages = messages[apart:]
    fields[spoken.MESSAGES] = spoken.write_messages(messages)
    if tools:
        fields["tools"] = json_text.list_of(map(spoken.write_tool, tools))
    return fields


def replaced(conversation: Conversation, *, messages: Sequence[Message]) -> Conversation:
    """The conversation with other messages; its other fields stay."""
    return msgspec.structs.replace(conversation, messages=tuple(messages), source=b"")


def prepare(messages: Sequence[Message], wire: str) -> Sent:
    """
    The messages as this wire's provider takes them: in its shape, repaired, checked.

    Raises `InvalidRequest` where no repair helps; nothing invalid leaves sash.
    """
    spoken = wire_named(wire)
    tidied = spoken.tidy(messages)
    shaped, origins, lost = _shaped(tidied.messages, spoken)
    repaired = repair(shaped, spoken.RULES)
    problems = spoken.problems(repaired.messages)
    if problems:
        raise InvalidRequest(wire, tuple(problem.what for problem in problems))
    # Told of the messages that were given, however many became of each.
    repairs = [msgspec.structs.replace(made, message=origins[made.message]) for made in repaired.repairs]
    return Sent(messages=repaired.messages, repairs=(*tidied.repairs, *lost, *repairs))


def carry_tools(tools: Sequence[Tool], wire: str) -> tuple[tuple[Tool, ...], tuple[Repair, ...]]:
    """The tools that this wire can carry, and a note for each that it cannot."""
    offers = wire_named(wire).RULES.tools
    fit = tuple(tool for tool in tools if offers and (tool.function or tool.wire == wire))
    lost = [tool for tool in tools if not (offers and (tool.function or tool.wire == wire))]
    return fit, tuple(
        Repair(what="left-out-tool", message=-1, why=f"{tool.name!r} of {tool.wire!r} has no place on {wire!r}")
        for tool in lost
    )


def _shaped(messages: Sequence[Message], wire: Wire) -> tuple[list[Message], list[int], list[Repair]]:
    """
    The messages in this wire's shape, where each came from, and what was lost.

    Runs that another wire wrote in pieces become one message.
    """
    whole: list[Message] = []
    origins: list[int] = []
    lost: list[Repair] = []
    for position, message in enumerate(messages):
        if message.wire == wire.NAME or message.role == "meta":
            whole.append(message)
            origins.append(position)
            continue
        shaped = wire.shape(message)
        lost += [
            Repair(what="left-out", message=position, why=f"{kind!r} of {message.wire!r} has no place on {wire.NAME!r}")
            for kind in shaped.lost
        ]
        for part in shaped.messages:
            if whole and _one_run(whole[-1], part, wire):
                whole[-1] = Message(role=part.role, blocks=whole[-1].blocks + part.blocks)
                continue
            if part.role == "system" and wire.RULES.system_leads and any(said.role != "system" for said in whole):
                words = (Text(by_sash("a message of the system's follows")), *part.blocks)
                part = Message(role="user", blocks=words)  # noqa: PLW2901  (the same part, told as what it is)
            whole.append(part)
            origins.append(position)
    return whole, origins, lost


def _one_run(before: Message, part: Message, wire: Wire) -> bool:
    """Whether both were made by shaping and are one message on this wire."""
    if before.wire or before.role != part.role:
        return False
    if part.role == "assistant":
        return not wire.RULES.joins_runs or not wire.RULES.results_anywhere
    return _only_results(before.blocks) and _only_results(part.blocks) and wire.RULES.results_in_user_messages


def _only_results(blocks: tuple[Block, ...]) -> bool:
    return bool(blocks) and all(type(block) is ToolResult for block in blocks)


def _system_apart(messages: Sequence[Message], wire: str) -> int:
    """How many messages are the system prompt that stands apart: not those that came as messages of this wire."""
    for place, message in enumerate(messages):
        if message.role != "system" or (message.wire == wire and message.source[:1] == b"{"):
            return place
    return len(messages)


def _joined(system: Sequence[Message]) -> Message:
    """Several system messages as the one that this wire has."""
    if len(system) == 1:
        return system[0]
    return Message(role="system", blocks=tuple(block for message in system for block in message.blocks))
