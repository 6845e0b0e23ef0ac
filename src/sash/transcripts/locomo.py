"""LoCoMo's conversations: two people, talking in sessions over months; the first of them stands for the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from sash.errors import InvalidMessage
from sash.transcripts import spoken
from sash.transcripts.about import About
from sash.transcripts.asked import Asked
from sash.transcripts.bodies import chosen
from sash.transcripts.document import document, items
from sash.transcripts.entry import Entry
from sash.transcripts.source import Source
from sash.wire import json_text

NAME = "locomo"
WIRE = "openai-chat"

_DIGITS = 10
"""Of a session's number: nobody held more."""
_any = msgspec.json.Decoder(Any)


def read(source: Source, about: About, asked: Asked) -> Iterator[Entry]:
    """What was said in one conversation: the first, unless another is named by its place."""
    found = document(source, about)
    if found.listed:
        found = chosen(found.items, asked.part, about)
    elif asked.part:
        raise about.lacks(asked.part)
    about.id = _text(found.fields.get("sample_id"))
    try:
        talk = json_text.fields(found.fields.get("conversation", b"{}"))
    except InvalidMessage as error:
        about.hurt(0, f"no conversation: {error}")
        return
    first = _text(talk.get("speaker_a"))
    about.title = " and ".join(filter(None, (first, _text(talk.get("speaker_b")))))
    place = 0
    for session in _sessions(talk):
        at = _moment(_text(talk.get(f"{session}_date_time")))
        for item in items(bytes(talk[session]), about):
            place += 1
            try:
                yield _entry(json_text.decode(_any, item)[0], first, at, place)
            except InvalidMessage as error:
                about.hurt(place, f"no message: {error}")


def _sessions(talk: Mapping[str, msgspec.Raw]) -> list[str]:
    """The names of the sessions, in the order they were held."""
    numbers = [name.removeprefix("session_") for name in talk if name.startswith("session_")]
    counted = (number for number in numbers if number.isdecimal() and len(number) < _DIGITS)
    return [f"session_{number}" for number in sorted(counted, key=int)]


def _entry(said: Any, first: str, at: float | None, place: int) -> Entry:
    if not isinstance(said, dict) or not isinstance(said.get("text"), str):
        raise InvalidMessage("nothing is said in it")
    role = "user" if said.get("speaker") == first else "assistant"
    picture = said.get("blip_caption")
    words = f"{said['text']} [shares {picture}]" if isinstance(picture, str) else said["text"]
    key = said.get("dia_id")
    message = spoken.message(WIRE, {"role": role, "content": words})
    return Entry(message=message, at=at, line=place, key=key if isinstance(key, str) else "")


def _moment(written: str) -> float | None:
    """`1:56 pm on 8 May, 2023`, as seconds since 1970."""
    try:
        return datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _text(raw: bytes | msgspec.Raw | None) -> str:
    try:
        given = json_text.decode(_any, raw)[0] if raw is not None and json_text.present(raw) else ""
    except InvalidMessage:
        return ""
    return given if isinstance(given, str) else ""
