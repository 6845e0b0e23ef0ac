"""What the model itself may ask of a thread: the whole of what was shortened, and what was said before."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sash.arguments import TEXT, takes
from sash.core.message import ToolCall
from sash.core.shorter import EXPANDED
from sash.errors import InvalidArgument, InvalidMessage, UnknownHandle
from sash.wire import Tool, wire_named
from sash.wire.json_text import as_json

EXPAND = Tool(
    name="sash_expand",
    description=(
        "Gives back a text that was shortened in this conversation. Handles stand where something was left out, "
        "for example 17.0. Ask for some lines, or for those that hold certain words, where the whole would be long."
    ),
    schema=msgspec.json.encode(
        {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "The handle of the shortened text."},
                "first_line": {"type": "integer", "minimum": 1},
                "last_line": {"type": "integer", "minimum": 1},
                "grep": {
                    "type": "string",
                    "description": "Only lines with this text in them; a|b for either. No pattern.",
                },
            },
            "required": ["handle"],
        }
    ),
)
SEARCH = Tool(
    name="sash_search",
    description="Finds earlier messages of this conversation that hold all of these words, also those that have left.",
    schema=msgspec.json.encode(
        {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "Words to look for, taken literally."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            },
            "required": ["text"],
        }
    ),
)

LONGEST = 2_000
"""Characters of a found message that are shown."""


@takes(wire=TEXT)
def tools(wire: str = "openai-chat") -> list[dict[str, Any]]:
    """The tools with which a model asks a thread for more, as a wire takes them."""
    write = wire_named(wire).write_tool
    return [msgspec.json.decode(write(tool)) for tool in (EXPAND, SEARCH)]


class Expand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a call of `sash_expand` asks for."""

    handle: str
    first_line: int | None = None
    last_line: int | None = None
    grep: str | None = None

    @property
    def lines(self) -> tuple[int, int] | None:
        """The lines that are asked for; None: all."""
        if self.first_line is None and self.last_line is None:
            return None
        return self.first_line or 1, self.last_line or 1 << 40

    @property
    def pattern(self) -> str | None:
        """The lines to look for; only plain text and alternatives, since a model's pattern could take for ever."""
        return None if self.grep is None else "|".join(map(re.escape, self.grep.split("|")))


_expand = msgspec.json.Decoder(Expand)


def read_expand(arguments: str) -> Expand:
    """The arguments of a call, or `msgspec.DecodeError`."""
    return _expand.decode(arguments)


class _Search(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    limit: int = 10


_search = msgspec.json.Decoder(_Search)


def call_of(call: object, wire: str) -> ToolCall:
    """A call as the provider's response holds it: `tool_use`, an item of `tool_calls`, or a `function_call`."""
    try:
        said: Any = msgspec.json.decode(as_json(call))
    except msgspec.DecodeError:
        said = None
    if not isinstance(said, dict):
        raise InvalidMessage(f"{call!r} is no call; give what the response of {wire!r} has")
    within = said.get("function", said)
    name = within.get("name")
    arguments = within.get("arguments", within.get("input"))
    if not isinstance(name, str) or arguments is None:
        raise InvalidMessage("a call has a name and arguments; give what the provider's response has", field="name")
    written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return ToolCall(str(said.get("call_id") or said.get("id") or ""), name, written)


class Answering:
    """Answers the calls of a model. What it asked wrongly it is told, for it can ask again."""

    def __init__(self, thread: Any) -> None:
        self._thread = thread

    def answer(self, call: ToolCall) -> str | None:
        """The answer to a call; None where the tool is somebody else's."""
        if call.name not in (EXPAND.name, SEARCH.name):
            return None
        try:
            if call.name == EXPAND.name:
                return self._expand(read_expand(call.arguments))
            return self._search(_search.decode(call.arguments))
        except (msgspec.DecodeError, UnknownHandle, InvalidArgument) as error:
            return f"Error: {error}"

    def _expand(self, asked: Expand) -> str:
        text: str = self._thread.expand(asked.handle, lines=asked.lines, grep=asked.pattern)
        shown = self._fitting(text)
        cut = f", {shown.count(chr(10)) + 1:,} of {text.count(chr(10)) + 1:,} lines" if shown != text else ""
        return f"{EXPANDED}{asked.handle!r}{cut}]\n{shown}"

    def _fitting(self, text: str) -> str:
        """As many of its first lines as a single result may take without being shortened as it comes in."""
        window = self._thread.window
        most = window.fold.limits.record_over * 4 // 5 or window.fold.limits.high // 4
        if window.counter.text(text).value <= most:
            return text
        lines = text.split("\n")
        low, high = 0, len(lines)
        while low < high:
            middle = (low + high + 1) // 2
            fits = window.counter.text("\n".join(lines[:middle])).value <= most
            low, high = (middle, high) if fits else (low, middle - 1)
        # A single line that is larger than all there may be is cut: a part of it is more than nothing.
        return "\n".join(lines[:low]) or text[: most * 2]

    def _search(self, asked: _Search) -> str:
        most = limit = max(1, min(50, asked.limit))
        while True:
            # What was rewound is said no more, and its author did not want the model to go by it.
            found = self._thread.search(asked.text, limit=most)
            standing = [one for one in found if not one.rewound][:limit]
            if len(standing) == limit or len(found) < most:
                break
            most *= 4
        told = [f"[turn {one.turn}, {one.role}] {one.text[:LONGEST]}" for one in standing]
        return "\n\n".join(told) or "nothing found"
