"""What a turn tells while it runs: events with a number each, stored before anybody sees them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sash.server.camel import camel, camelled
from sash.server.moment import moment
from sash.server.route import Shape
from sash.store import RunEvent

Kind = Literal[
    "turn_started",
    "frame",
    "message_delta",
    "thinking_delta",
    "tool_call",
    "message_completed",
    "turn_completed",
    "error",
]
LAST: frozenset[str] = frozenset({"turn_completed", "error"})
"""With one of these a turn has ended, at least for now."""


class ToldEvent(Shape, frozen=True, kw_only=True):
    """One event of a turn."""

    event_id: str
    seq: int
    type: str
    data: dict[str, Any]
    created_at: str


def told(kind: Kind, **fields: object) -> RunEvent:
    """An event that is about to be stored."""
    return RunEvent(
        kind=kind, body=msgspec.json.encode({camel(name): camelled(value) for name, value in fields.items()})
    )


def text_of(event: RunEvent) -> str:
    """The words of a delta."""
    text: str = msgspec.json.decode(event.body)["text"]
    return text


def shown(turn: str, event: RunEvent) -> ToldEvent:
    """As history shows it."""
    return ToldEvent(
        event_id=f"{turn}:{event.seq}",
        seq=event.seq,
        type=event.kind,
        data=msgspec.json.decode(event.body),
        created_at=moment(event.at),
    )


def sent(turn: str, event: RunEvent) -> bytes:
    """As a stream sends it: the fields beside number, type and turn."""
    head = msgspec.json.encode({"seq": event.seq, "type": event.kind, "turnId": turn})
    rest = event.body[1:]
    joined = head[:-1] + (b"," if rest != b"}" else b"") + rest
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.kind.encode(), joined)


def merged(events: list[RunEvent]) -> list[RunEvent]:
    """Deltas of one kind that follow one another, as one: they came while the ones before were being stored."""
    made: list[RunEvent] = []
    texts: list[str] = []
    for event in events:
        if event.kind not in ("message_delta", "thinking_delta"):
            made.append(event)
        elif texts and made and made[-1].kind == event.kind:
            texts.append(text_of(event))
            made[-1] = told(event.kind, text="".join(texts))  # type: ignore[arg-type]  # a delta's kind, as just seen
            continue
        else:
            made.append(event)
            texts = [text_of(event)]
            continue
        texts = []
    return made
