"""The messages of a turn, as people read them: who said what, which tool was called, what came back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from sash.cli.characters import clean, clean_lines
from sash.cli.screen import Screen, Style
from sash.core.aside import as_typed, is_aside, without_tags
from sash.core.explanation import ExplainedTurn
from sash.core.frame import handle_of
from sash.core.message import Document, Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from sash.core.tokens import Counter, TokenCount

Kind = Literal["text", "thinking", "call", "result", "image", "document", "other"]

NOTHING_SAID = "Nothing was said in it: there is no message."
"""In the place of tables that would be empty."""


def says_anything(turns: Iterable[ExplainedTurn]) -> bool:
    """Whether anything was said; what stands before the first turn may be nothing but a tool's notes."""
    return any(turn.number or turn.whole.value for turn in turns)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One block of a message."""

    handle: str
    """Names it for `sash expand`."""
    kind: Kind
    tool: str = ""
    """The tool that was called, or whose result it is."""
    text: str


class TurnMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a turn."""

    position: int
    """In the log, from 0."""
    role: str
    tokens: TokenCount
    blocks: tuple[Said, ...]


class OpenedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash show --turn N --json` prints."""

    turn: ExplainedTurn
    messages: tuple[TurnMessage, ...]


def messages_of(said: Iterable[tuple[int, Message]], counter: Counter) -> Iterator[TurnMessage]:
    """Messages of a turn, each with its position, as they are shown."""
    tools: dict[str, str] = {}
    for position, message in said:
        blocks = tuple(said_in(position, message, tools))
        yield TurnMessage(position=position, role=message.role, tokens=counter.message(message), blocks=blocks)


def said_in(position: int, message: Message, tools: dict[str, str]) -> Iterator[Said]:
    """The blocks of a message; `tools` remembers which call was whose."""
    for place, block in enumerate(message.blocks):
        handle = handle_of(position, place)
        match block:
            case Text():
                yield Said(handle=handle, kind="text", text=block.text)
            case Thinking():
                yield Said(handle=handle, kind="thinking", text=block.text)
            case ToolCall():
                tools[block.id] = block.name
                yield Said(handle=handle, kind="call", tool=block.name, text=block.arguments)
            case ToolResult():
                words = "\n".join(part.text if type(part) is Text else f"[{_name(part)}]" for part in block.content)
                yield Said(handle=handle, kind="result", tool=tools.get(block.call_id, ""), text=words)
            case Image():
                yield Said(handle=handle, kind="image", text=_told_of(block))
            case Document():
                yield Said(handle=handle, kind="document", text=_told_of(block))
            case Opaque():
                yield Said(handle=handle, kind="other", text=block.body.decode(errors="replace"))


def _told_of(block: Image | Document) -> str:
    """What there is to say of something that a line cannot show."""
    size = f"{len(block.data) * 3 // 4:,} bytes" if block.data else ""
    named = block.title if type(block) is Document else ""
    return ", ".join(filter(None, (named, block.url, block.media_type, size))) or "nothing is known of it"


def _name(block: object) -> str:
    return type(block).__name__.lower()


_ROLES = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "System", "tool": "Tool"}
_STYLES: dict[Kind, Style] = {"text": "", "thinking": "dim", "call": "cyan", "result": "dim"}


REACH = 400
"""Characters of which a line may show some."""


def print_messages(out: Screen, messages: Sequence[TurnMessage], *, whole: bool = False, indent: int = 0) -> None:
    """Each on a line, as in a tree; `whole`, with all that was said."""
    lines = [(message, said) for message in messages for said in message.blocks]
    for place, (message, said) in enumerate(lines):
        if whole:
            _print_whole(out, message, said)
            continue
        branch = out.drawn("└─ " if place == len(lines) - 1 else "├─ ")
        text = clean(_first_words(message, said))
        out.say(" " * indent + branch + out.cut(text, out.width - indent - len(branch)), _STYLES.get(said.kind, ""))


def _first_words(message: TurnMessage, said: Said) -> str:
    words = " ".join(said.text[:REACH].split())
    if said.kind == "text" and message.role == "user":
        if is_aside(said.text):
            return f"(aside) {' '.join(without_tags(said.text[:REACH]).split())}"
        words = " ".join(as_typed(said.text)[:REACH].split())
    match said.kind:
        case "call":
            return f"{said.tool} {about_call(said.text) or words}"
        case "result":
            return f"  -> {len(said.text):,} characters: {words}"
        case "thinking":
            return f"(thinking) {words}"
        case "text":
            return f"{_ROLES.get(message.role, message.role)}: {words}"
    return f"({said.kind}) {words}"


_TELLING = ("path", "file_path", "filename", "command", "cmd", "pattern", "query", "url", "description", "prompt")


def about_call(arguments: str) -> str:
    """What a call is about: the argument that names a file, a command or a question; else its first words."""
    try:
        given = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return ""
    if not isinstance(given, dict):
        return ""
    told = [given[name] for name in _TELLING if isinstance(given.get(name), str)]
    told += [value for value in given.values() if isinstance(value, str)]
    return " ".join(told[0][:400].split()) if told else ""


def _print_whole(out: Screen, message: TurnMessage, said: Said) -> None:
    title = "" if said.kind == "text" else f"{said.kind} {said.tool}".rstrip()
    who = _ROLES.get(message.role, message.role)
    heading = f"{who}{', ' if title else ''}{clean(title)}  [{said.handle}]"
    out.say(out.cut(heading, out.width), "bold")
    for line in clean_lines(said.text.rstrip("\n")):
        out.say(line, _STYLES.get(said.kind, ""))
    out.say()
