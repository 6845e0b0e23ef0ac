"""
`flat`: one prompt of three text blocks, for providers that take a string (seed 004).

Its unit is the character (a code point), and so are its limits.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.message import Block, Message, Text, by_sash
from sash.core.turn import group
from sash.errors import InvalidMessage, InvalidRequest
from sash.wire import json_text
from sash.wire.check import Problem
from sash.wire.conversation import Shaped, Tool
from sash.wire.rules import Rules

NAME = "flat"
MESSAGES = "prompt"
TAKES_TEXT = True
SYSTEM = ""
RULES = Rules(joins_runs=True, tools=False, takes_anything=True)

RECENT_TURNS = 10
MAX_CHARS = 20_000

_CUT = by_sash("shortened")


class Exchange(msgspec.Struct, frozen=True):
    """A turn as two texts."""

    user: str
    assistant: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent, and how much of what was given it holds."""

    text: str
    turns: int
    """How many of the newest turns are in it."""
    summary_cut: bool = False
    input_cut: bool = False


def compose(
    said: str,
    *,
    summary: str = "",
    turns: Sequence[Exchange] = (),
    recent_turns: int = RECENT_TURNS,
    max_chars: int = MAX_CHARS,
) -> Prompt:
    """
    The prompt for the current input: summary, recent turns, input.

    Over `max_chars` the oldest recent turns leave first, then the summary shrinks,
    and only as the last resort the input. With nothing to inject the input passes raw.
    """
    recent = list(turns[-recent_turns:]) if recent_turns > 0 else []
    if not summary and not recent:
        return _raw(said, max_chars)
    while recent and len(_laid_out(summary, recent, said)) > max_chars:
        recent.pop(0)
    if not summary and not recent:
        return _raw(said, max_chars)
    over = len(_laid_out(summary, recent, said)) - max_chars
    if over <= 0:
        return Prompt(text=_laid_out(summary, recent, said), turns=len(recent))
    kept = _cut(summary, max(0, len(summary) - over))
    if len(_laid_out(kept, recent, said)) <= max_chars and kept:
        return Prompt(text=_laid_out(kept, recent, said), turns=0, summary_cut=True)
    # Nothing of the summary fits: without it there is nothing to inject.
    return msgspec.structs.replace(_raw(said, max_chars), summary_cut=True)


def _raw(said: str, max_chars: int) -> Prompt:
    cut = _cut(said, max_chars)
    return Prompt(text=cut, turns=0, input_cut=cut != said)


def _laid_out(summary: str, turns: Sequence[Exchange], said: str) -> str:
    exchanges = "".join(f"User: {turn.user}\nAssistant: {turn.assistant}\n----\n" for turn in turns)
    return (
        f"[Conversation Summary]\n{summary or '(empty)'}\n\n[Recent Turns]\n{exchanges or '(none)'}"
        f"\n\n[Current User Input]\n{said}"
    )


def _cut(text: str, length: int) -> str:
    """The first `length` characters, marked where there is room for the mark."""
    if len(text) <= length:
        return text
    mark = f"\n{_CUT}"
    return text[:length] if length <= len(mark) else text[: length - len(mark)] + mark


_text = msgspec.json.Decoder(str)


def as_json(given: object) -> bytes:
    """What a caller gave: text is the prompt itself here, all else is JSON as everywhere."""
    return json_text.as_json([given])[1:-1] if isinstance(given, str) else json_text.as_json(given)


def read_messages(_: bytes, items: Sequence[bytes]) -> list[Message]:
    """The prompt: all of it is what the user said."""
    return [read_message(source) for source in items]


def read_message(source: bytes) -> Message:
    """The prompt from its JSON, a string."""
    words, mended = json_text.decode(_text, source)
    return Message(role="user", blocks=(Text(words),) if words else (), wire=NAME, source=source, edited=mended)


def write_messages(messages: Sequence[Message]) -> bytes:
    """The prompt that holds them all: the last thing that the user said, after the turns before it."""
    if len(messages) == 1:
        return write_message(messages[0])
    turns = [[messages[place] for place in turn.messages] for turn in group(messages)]
    exchanges = [Exchange(_said(turn, "user"), _said(turn, "assistant")) for turn in turns]
    said = exchanges.pop().user if exchanges else ""
    length = sum(len(message.text) for message in messages)
    everything = length + (len(exchanges) + 1) * _FURNITURE
    prompt = compose(said, turns=exchanges, recent_turns=len(exchanges), max_chars=everything)
    return msgspec.json.encode(prompt.text)


_FURNITURE = 200
"""More than the headings of a prompt, or the names in an exchange, take."""


def _said(turn: Sequence[Message], role: str) -> str:
    return "\n".join(message.text for message in turn if message.role == role and message.text)


def write_message(message: Message) -> bytes:
    """The JSON of a prompt: its words."""
    return message.source if message.wire == NAME and not message.edited else msgspec.json.encode(message.text)


# No system prompt stands apart here.
read_system, write_system = read_message, write_message


def read_tool(_: bytes) -> Tool:
    """There are no tools here."""
    raise InvalidMessage("a prompt that is flat has no tools; leave them out")


def write_tool(tool: Tool) -> bytes:
    """There are no tools here: `carry_tools` leaves them out."""
    raise InvalidRequest(NAME, (f"tool {tool.name!r} in a prompt that has no tools",))


def shape(message: Message) -> Shaped:
    """The words of a message; all else is named as lost."""
    words = tuple(block for block in message.blocks if type(block) is Text)
    lost = [_name(block) for block in message.blocks if type(block) is not Text]
    if message.role not in ("user", "assistant"):
        return Shaped((), (*lost, *([message.role] if words else [])))
    return Shaped((Message(role=message.role, blocks=words),) if words else (), tuple(lost))


def _name(block: Block) -> str:
    return str(block.__struct_config__.tag)


def problems(_: Sequence[Message]) -> tuple[Problem, ...]:
    """Words are always taken."""
    return ()
