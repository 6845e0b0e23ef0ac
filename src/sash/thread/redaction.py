"""What stays of a message whose words are removed for good."""

from __future__ import annotations

from sash.core.message import Block, Message, Opaque, Text, ToolCall, ToolResult, by_sash
from sash.wire import wire_named

GONE = by_sash("redacted")


def tombstone(message: Message) -> bytes:
    """A message of the same role that makes and answers the same calls and says nothing else."""
    blocks: list[Block] = []
    for block in message.blocks:
        match block:
            case ToolCall():
                blocks.append(ToolCall(block.id, block.name, custom=block.custom))
            case ToolResult():
                blocks.append(ToolResult(block.call_id, (Text(GONE),), block.error, block.custom))
            case Opaque() if block.opens:
                blocks.append(ToolCall(block.opens, block.kind))
            case Opaque() if block.closes:
                blocks.append(ToolResult(block.closes, (Text(GONE),)))
    if not blocks or (message.role == "user" and not message.closed()):
        blocks.insert(0, Text(GONE))
    return wire_named(message.wire).write_message(Message(role=message.role, blocks=tuple(blocks)))
