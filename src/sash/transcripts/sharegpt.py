"""ShareGPT's conversations, in the spellings that people use: one, a list of them, or one a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.bodies import chosen, is_lines
from sash.transcripts.document import Document, document, items
from sash.transcripts.entry import Entry
from sash.transcripts.lines import lines
from sash.transcripts.source import Source
from sash.wire import json_text, read_tools

NAME = "sharegpt"
WIRE = "openai-chat"

_SPEAKERS: Mapping[str, str] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("human", "user", "prompter"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model", "bot"), "assistant"),
    **dict.fromkeys(("function_call", "tool_call"), "call"),
    **dict.fromkeys(("observation", "tool", "function_response", "tool_response", "function"), "result"),
}
_any = msgspec.json.Decoder(Any)


def read(source: Source, about: About, asked: Asked) -> Iterator[Entry]:
    """The messages of one conversation: the first, unless another is named by its place."""
    if is_lines(source):
        found = chosen([text for _, text in lines(source, about)], asked.part, about)
    else:
        found = document(source, about)
        if found.listed and not (
            found.items and b'"from"' in found.items[0] and b'"conversations"' not in found.items[0]
        ):
            found = chosen(found.items, asked.part, about)
        elif asked.part:
            raise about.lacks(asked.part)
    given = found.items if found.listed else items(found.fields.get("conversations"), about)
    yield from _Reading(about, found).entries(list(given))


class _Reading:
    def __init__(self, about: About, found: Document) -> None:
        self.about, self.fields = about, found.fields
        self._open: list[str] = []

    def entries(self, given: list[bytes]) -> Iterator[Entry]:
        self._tools()
        system = self._value("system")
        if isinstance(system, str) and system:
            yield Entry(message=spoken.message(WIRE, {"role": "system", "content": system}))
        for place, item in enumerate(given, 1):
            try:
                yield from self._said(place, json_text.decode(_any, item)[0])
            except InvalidMessage as error:
                self.about.hurt(place, f"no message: {error}")

    def _value(self, name: str) -> Any:
        given = self.fields.get(name)
        try:
            return json_text.decode(_any, given)[0] if given is not None else None
        except InvalidMessage:
            return None

    def _tools(self) -> None:
        given = self._value("tools")
        if isinstance(given, str):
            try:
                given = msgspec.json.decode(given)
            except (msgspec.MsgspecError, ValueError):
                given = None
        if not isinstance(given, list):
            return
        wrapped = [
            tool if isinstance(tool, dict) and "function" in tool else {"type": "function", "function": tool}
            for tool in given
        ]
        try:
            self.about.tools = read_tools(wrapped, WIRE)
        except InvalidMessage as error:
            self.about.hurt(0, f"tools: {error}")

    def _said(self, place: int, said: Any) -> Iterator[Entry]:
        if not isinstance(said, dict):
            raise InvalidMessage(f"{type(said).__name__!r} instead of a message")
        speaker = said.get("from", said.get("role"))
        role = _SPEAKERS.get(speaker, "") if isinstance(speaker, str) else ""
        words = said.get("value", said.get("content"))
        words = words if isinstance(words, str) else msgspec.json.encode(words).decode()
        if not role:
            raise InvalidMessage(f"nobody is called {speaker!r}")
        if role == "call":
            call = self._called(place, words)
            fields: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
        elif role == "result" and self._open:
            fields = {"role": "tool", "tool_call_id": self._open.pop(0), "content": words}
        else:
            # Where calls stand in the model's words, results are what it is told next.
            fields = {"role": "user" if role == "result" else role, "content": words}
        yield Entry(message=spoken.message(WIRE, fields), line=place)

    def _called(self, place: int, words: str) -> dict[str, Any]:
        """A call: its value is JSON with a name and arguments."""
        name, arguments = "function", words
        try:
            value = msgspec.json.decode(words)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            name = str(value.get("name") or name)
            given = value.get("arguments", {})
            arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        self._open.append(f"call-{place}")
        return {"id": self._open[-1], "type": "function", "function": {"name": name, "arguments": arguments}}
