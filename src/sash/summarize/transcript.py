"""Turns as a model is given them to summarize: quoted data, with tool results capped."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sash.core.message import Document, Image, Message, Text, ToolCall, ToolResult
from sash.summarize.prompt import quoted

_TAIL = 0.3
"""Of what is kept of a long text, the share that is taken from its end."""
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system", "tool": "tool"}


class SaidTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn with all that was said in it."""

    number: int
    messages: tuple[Message, ...]
    tokens: int = 0
    """What it took in the window."""


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """Characters that are shown of each kind of words."""

    user: int = 6_000
    assistant: int = 3_000
    call: int = 600
    result: int = 2_000

    def scaled(self, share: float) -> Caps:
        """Less of everything, but never nothing."""
        return Caps(**{name: max(80, int(getattr(self, name) * share)) for name in self.__struct_fields__})


def turn_text(turn: SaidTurn, caps: Caps) -> str:
    """One turn as text."""
    lines = [f"[t{turn.number}]"]
    names = {block.id: block.name for message in turn.messages for block in message.blocks if type(block) is ToolCall}
    for message in turn.messages:
        for who, words in _parts(message, names, caps):
            lines += [f"{who}:", quoted(words)]
    return "\n".join(lines)


def _parts(message: Message, names: dict[str, str], caps: Caps) -> Iterator[tuple[str, str]]:
    if message.written_by_sash or message.role == "meta":
        return
    role = _ROLES[message.role]
    for block in message.blocks:
        match block:
            case Text(text) if text.strip():
                yield role, cut(text, caps.assistant if role == "assistant" else caps.user)
            case ToolCall(name=name, arguments=arguments):
                yield f"assistant called {_plain(name)}", cut(arguments, caps.call)
            case ToolResult(call_id=call, content=content, error=error):
                texts = [part.text for part in content if type(part) is Text]
                pictures = len(content) - len(texts)
                words = "\n".join(texts) + (f"\n({pictures} pictures or files)" if pictures else "")
                failed = ", which failed" if error else ""
                yield f"result of {_plain(names.get(call, 'a tool'))}{failed}", cut(words, caps.result)
            case Image():
                yield role, "(a picture)"
            case Document(title=title):
                yield role, f"(a file {title!r})"
            case _:
                continue


def _plain(name: str) -> str:
    """A tool's name on one line: it may have been chosen by somebody else."""
    return " ".join(name.split())[:80]


def cut(text: str, length: int) -> str:
    """Head and tail of a long text, and how much is left out between them."""
    if len(text) <= length:
        return text
    tail = int(length * _TAIL)
    head = length - tail
    return f"{text[:head]}\n(... {len(text) - length:,} characters left out ...)\n{text[len(text) - tail :]}"
