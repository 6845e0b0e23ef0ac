"""How values stand in the columns of a database, and whether they still are what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import msgspec

from sash.core.event import Event
from sash.errors import DamagedDatabase
from sash.store.names import said_at
from sash.store.rows import FrameRow, Posting, ThreadRow
from sash.store.words import storable

Row = Sequence[Any]

LAST = 2**63 - 1
"""Larger than any number of an event."""


def checksum(event: Event) -> int:
    """
    Tells a flipped bit in an event.

    Databases notice when their own structure is broken, but not all of them notice a
    changed byte inside of what they hold.
    """
    of = event
    head = f"{of.seq} {of.kind} {of.wire} {of.role} {of.turn} {of.tokens} {of.exact} {of.counter} {of.at} {of.text}"
    said = crc32(event.body, crc32(head.encode("utf-8", "replace")))
    return said - (1 << 32) if said >= 1 << 31 else said


def event_of(row: Row, place: str) -> Event:
    """An event as it was stored, or `DamagedDatabase`."""
    (event,) = events_of([row], place)
    return event


def events_of(rows: Sequence[Row], place: str) -> Iterator[Event]:
    """Events as they were stored, or `DamagedDatabase`."""
    for seq, kind, body, wire, role, turn, tokens, exact, counter, text, at, written in rows:
        # As `checksum` does, in one go: this is most of what opening a thread costs.
        head = f"{seq} {kind} {wire} {role} {turn} {tokens} {exact == 1} {counter} {at} {text}"
        if crc32(body, crc32(head.encode("utf-8", "replace"))) != written & 0xFFFFFFFF:
            raise DamagedDatabase(place, f"event {seq} is not what was written")
        yield Event(
            seq=seq,
            kind=kind,
            body=body,
            wire=wire,
            role=role,
            turn=turn,
            tokens=tokens,
            exact=exact == 1,
            counter=counter,
            text=text,
            at=at,
        )


def values_of(event: Event, at: dict[str, Any], *, seq: int, made_us: int) -> dict[str, Any]:
    """An event as values to bind."""
    event = msgspec.structs.replace(event, seq=seq, text=storable(event.text), at=said_at(event.at))
    return {
        **at,
        "seq": seq,
        "made_us": made_us,
        "kind": event.kind,
        "body": event.body,
        "wire": event.wire,
        "role": event.role,
        "turn": event.turn,
        "tokens": event.tokens,
        "exact": int(event.exact),
        "counter": event.counter,
        "text": event.text,
        "at": event.at,
        "checksum": checksum(event),
    }


def thread_of(row: Row) -> ThreadRow:
    """A thread as it stands."""
    number, tenant, name, at, last_seq, boundary, covered, ahead, title, made_us, last_us = row
    return ThreadRow(
        id=number,
        tenant=tenant,
        name=name,
        at=at,
        last_seq=last_seq,
        boundary=boundary,
        covered=covered,
        ahead=ahead,
        title=title,
        created=made_us / 1e6,
        updated=max(made_us, last_us) / 1e6,
    )


def frame_of(row: Row) -> FrameRow:
    """A frame as it was stored."""
    number, after_seq, body = row
    return FrameRow(number=number, after_seq=after_seq, body=body)


def values_of_posting(posting: Posting) -> dict[str, Any]:
    """A posting as values to bind."""
    return {"term": stored_term(posting.term), "seq": posting.seq, "count": posting.count}


def stored_term(term: str) -> bytes:
    """A term as bytes: half a character and a NUL are terms like any other."""
    return term.encode("utf-8", "surrogatepass")
