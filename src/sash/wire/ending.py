"""How what the assistant says last ends, where its provider does not take every end (Anthropic)."""

from __future__ import annotations

from sash.core.message import Message, Text, Thinking


def ends_open(message: Message | None) -> bool:
    """Whether the assistant's words end in white space, or in thinking."""
    if message is None or message.role != "assistant" or not message.blocks:
        return False
    last = message.blocks[-1]
    return type(last) is Thinking or (type(last) is Text and last.text != last.text.rstrip())


def trimmed(message: Message) -> Message | None:
    """The message as it may stand last; None where nothing is left of it."""
    blocks = [*message.blocks]
    while blocks:
        last = blocks[-1]
        if type(last) is Text and last.text.strip():
            blocks[-1] = Text(last.text.rstrip())
            break
        if type(last) not in (Text, Thinking):
            break
        blocks.pop()
    return message.edit(tuple(blocks)) if blocks else None
