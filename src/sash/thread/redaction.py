"""Words that are removed for good: what stays of their message, and what else told of them."""

from __future__ import annotations

import msgspec

from sash.core.message import Block, Message, Opaque, Text, ToolCall, ToolResult
from sash.core.redacted import REDACTED, REDACTED_ASIDE
from sash.core.turn import starts_turn
from sash.thread.acts import Redacted, Remembered, act_of, event_of
from sash.thread.log import Log
from sash.thread.replay import Replay
from sash.thread.revisions import emptied, revisions_of
from sash.thread.tail import Draft, Tail
from sash.wire import wire_named


def tombstone(message: Message) -> bytes:
    """A message of the same role, in the same turn, that makes and answers the same calls and says nothing else."""
    blocks: list[Block] = []
    for block in message.blocks:
        match block:
            case ToolCall():
                blocks.append(ToolCall(block.id, block.name, custom=block.custom))
            case ToolResult():
                blocks.append(ToolResult(block.call_id, (Text(REDACTED),), block.error, block.custom))
            case Opaque() if block.opens:
                blocks.append(ToolCall(block.opens, block.kind))
            case Opaque() if block.closes:
                blocks.append(ToolResult(block.closes, (Text(REDACTED),)))
    if message.role != "user":
        blocks = blocks or [Text(REDACTED)]
    elif starts_turn(message):
        # Behind what it answers: on some wires nothing may stand before a result.
        blocks.append(Text(REDACTED))
    elif not message.closed():
        blocks.append(Text(REDACTED_ASIDE))
    return wire_named(message.wire).write_message(Message(role=message.role, blocks=tuple(blocks)))


def retold(replay: Replay, last: int, seq: int, tail: Tail) -> Draft:
    """What derived from the words that are gone is made anew."""
    act = Redacted(seq=seq, frame=replay.window.frame.number + 1)
    return tail.refolded(event_of("redact", act, seq=last + 1))


def empty_facts(log: Log, turn: int) -> None:
    """Removes what a model took out of a turn; what the user gave stays."""
    for fact in list(log.events(kinds={"fact"})):
        if fact.turn == turn and act_of(fact, Remembered).by == "model":
            log.redact(fact, msgspec.json.encode(Remembered("", "model")))


def empty_summaries(log: Log, turn: int) -> None:
    """Removes what summaries told of a turn."""
    for summary in revisions_of(log):
        if summary.first <= turn < summary.end:
            log.redact(log.event(summary.seq), emptied(summary))
