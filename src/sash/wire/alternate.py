"""Messages for chat templates that insist on taking turns: no role speaks twice in a row."""

from __future__ import annotations

from collections.abc import Iterable

from sash.core.message import Image, Message, Text


def alternated(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with each run of the user's, or of the assistant's words, joined into one."""
    whole: list[Message] = []
    for message in messages:
        if whole and whole[-1].role == message.role and _words(whole[-1]) and _words(message):
            whole[-1] = _joined(whole[-1], message)
        else:
            whole.append(message)
    return tuple(whole)


def _words(message: Message) -> bool:
    """Whether it is all words and images, of nobody in particular: a name would be lost."""
    if message.role not in ("user", "assistant") or b'"name"' in message.source:
        return False
    return all(isinstance(block, Text | Image) for block in message.blocks)


def _joined(first: Message, second: Message) -> Message:
    blocks = (*first.blocks, *second.blocks)
    if all(type(block) is Text for block in blocks):
        blocks = (Text("\n\n".join(block.text for block in blocks if type(block) is Text)),)
    return Message(role=first.role, blocks=blocks)
