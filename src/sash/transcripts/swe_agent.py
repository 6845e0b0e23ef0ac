"""SWE-agent's trajectories: OpenAI's chat messages with what the agent noted beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from sash.errors import InvalidMessage
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.bodies import entry
from sash.transcripts.document import document, items
from sash.transcripts.entry import Entry
from sash.transcripts.source import Source
from sash.wire import json_text

NAME = "swe-agent"
WIRE = "openai-chat"

_SENT = ("role", "content", "name", "tool_calls", "tool_call_id")
_names = msgspec.json.Decoder(list[str])
_any = msgspec.json.Decoder(Any)


def read(source: Source, about: About, _: Asked) -> Iterator[Entry]:
    """The messages of a trajectory's history."""
    found = document(source, about)
    about.title = _words(found.fields.get("environment"))
    for place, item in enumerate(items(found.fields.get("history"), about), 1):
        try:
            said = _plain(item)
        except InvalidMessage as error:
            about.hurt(place, f"no message: {error}")
            continue
        yield from entry(said, about, WIRE, place)


def _plain(item: bytes) -> bytes:
    """A message without the agent's own fields; the calls that a result answers stand in a list of their own."""
    fields = json_text.fields(item)
    kept = {name: fields[name] for name in _SENT if json_text.present(fields.get(name))}
    if fields.get("role") == msgspec.Raw(b'"tool"') and "tool_call_id" not in kept:
        answered = fields.get("tool_call_ids")
        names = json_text.decode(_names, answered)[0] if answered is not None and json_text.present(answered) else []
        if names:
            kept["tool_call_id"] = msgspec.Raw(msgspec.json.encode(names[0]))
        else:
            kept["role"] = msgspec.Raw(b'"user"')
    if "content" not in kept:
        kept["content"] = fields.get("content", msgspec.Raw(b"null"))
    return json_text.object_of(kept)


def _words(given: bytes | None) -> str:
    value = json_text.decode(_any, given)[0] if given is not None and json_text.present(given) else ""
    return value if isinstance(value, str) else ""
