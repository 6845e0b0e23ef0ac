"""
Anthropic's cache breakpoints, where they pay: after the fixed part, after the frame's head, before what stands with the
current input and leaves with it, at the tail.

Never more than the four that the provider takes, and none at all in a request whose
caller placed some: theirs may live for an hour, and those must come first. Who marks each
newest message gathers them in the history; of those the newest are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.message import Message, Thinking, stands_beside
from sash.wire import anthropic, json_text
from sash.wire.conversation import Repair, Tool
from sash.wire.marks import FIELD, marks_in, spared, without_marks
from sash.wire.repair import is_blank
from sash.wire.write import stands_apart

_MARK = msgspec.Raw(b'{"type":"ephemeral"}')


def place_breakpoints(messages: Sequence[Message], tools: Sequence[Tool] = (), *, head: int) -> tuple[Message, ...]:
    """The messages with breakpoints; the first `head` of them stand before the first turn."""
    sources = [*(tool.source for tool in tools), *(message.source for message in messages)]
    if any(b'"cache_control"' in source for source in sources):
        return tuple(messages)
    system = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
    beside = max((n for n, message in enumerate(messages) if any(map(stands_beside, message.blocks))), default=0)
    places = {place - 1 for place in (system, head, beside, len(messages)) if place > 0}
    return tuple(_marked(message) if n in places else message for n, message in enumerate(messages))


class Spared(msgspec.Struct, frozen=True):
    """Messages with no more breakpoints than are taken, and which of them have lost some."""

    messages: tuple[Message, ...]
    lost: tuple[int, ...] = ()

    def repairs(self, positions: Sequence[int]) -> tuple[Repair, ...]:
        """What was done, told of the history, in which the messages stand at these positions."""
        why = f"a request takes {anthropic.RULES.most_breakpoints} breakpoints; the newest are kept"
        return tuple(Repair(what="left-out-breakpoint", message=positions[place], why=why) for place in self.lost)


def spare(messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Spared:
    """The messages with as many breakpoints as the provider takes beside those of the tools."""
    given = [*(tool.source for tool in tools), *(message.source for message in messages)]
    lost = spared(messages, sum(map(marks_in, given)) - anthropic.RULES.most_breakpoints)
    left = [_without(message, lost[n]) if n in lost else message for n, message in enumerate(messages)]
    return Spared(tuple(left), tuple(lost))


def _without(message: Message, first: int) -> Message:
    write = anthropic.write_system if stands_apart(message, anthropic) else anthropic.write_message
    source = without_marks(write(message), first)
    return Message(role=message.role, blocks=message.blocks, wire=anthropic.NAME, source=source)


def _marked(message: Message) -> Message:
    """The message with a breakpoint on its last block; itself, where none may stand there."""
    last = message.blocks[-1] if message.blocks else None
    if last is None or type(last) is Thinking or is_blank(last):
        return message
    if stands_apart(message, anthropic):
        source = _marked_content(anthropic.write_system(message))
    else:
        fields = json_text.fields(anthropic.write_message(message))
        fields["content"] = msgspec.Raw(_marked_content(bytes(fields["content"])))
        source = json_text.object_of(fields)
    return Message(role=message.role, blocks=message.blocks, wire=anthropic.NAME, source=source)


def _marked_content(content: bytes) -> bytes:
    if content[:1] == b'"':
        blocks = [json_text.object_of({"type": b'"text"', "text": content})]
    else:
        blocks = json_text.items(content)
    last = json_text.fields(blocks[-1])
    last[FIELD] = _MARK
    return json_text.list_of([*blocks[:-1], json_text.object_of(last)])
