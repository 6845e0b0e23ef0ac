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
from sash.wire import json_text, wire_named


def tombstone(message: Message) -> bytes:
    """A message of the same role, in the same turn, that makes and answers the same calls and says nothing else."""
    if (answer := _unmodeled_answer(message)) is not None:
        return answer
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


_NAMES = ("type", "role", "id", "call_id", "name", "status")


def _unmodeled_answer(message: Message) -> bytes | None:
    """The tombstone of a result that answers a call as only its own kind can, where its words are known to be words."""
    if len(message.blocks) != 1 or type(message.blocks[0]) is not Opaque or not message.blocks[0].closes:
        return None
    fields = json_text.fields(message.source)
    said = next((name for name in ("output", "content") if bytes(fields.get(name, b""))[:1] == b'"'), None)
    if said is None:
        return None
    kept: dict[str, bytes | msgspec.Raw] = {name: fields[name] for name in _NAMES if name in fields}
    return json_text.object_of({**kept, said: msgspec.json.encode(REDACTED)})


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
