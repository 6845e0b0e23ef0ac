"""Words for building what is stored."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.event import Event, Kind
from sash.core.frame import Frame
from sash.store import Entry, FrameRow, Store, ThreadRow


def said(text: str, *, role: str = "user", turn: int = 1, body: bytes | None = None) -> Event:
    """A message; its body is as strange as JSON may be."""
    raw = msgspec.json.encode({"role": role, "content": text}) if body is None else body
    return Event(kind="message", body=raw, wire="openai-chat", role=role, turn=turn, tokens=len(text), text=text)


def noted(kind: Kind, body: bytes = b"{}", *, turn: int = 1, text: str = "") -> Event:
    """Something that happened beside the messages."""
    return Event(kind=kind, body=body, turn=turn, text=text)


def slid(number: int, boundary: int, *, after_seq: int, carried: Sequence[int] = ()) -> FrameRow:
    """A frame, as the core writes it."""
    frame = Frame(number=number, at=after_seq, reason="high mark", boundary=boundary, carried=tuple(carried))
    return FrameRow(number=number, after_seq=after_seq, body=msgspec.json.encode(frame))


def entry(*events: Event) -> Entry:
    """Events and nothing else."""
    return Entry(events=events)


def thread_of(store: Store, tenant: str, *texts: str, name: str = "thread") -> ThreadRow:
    """A thread in which these things were said, each in a turn of its own."""
    thread = store.create(tenant, name, b"{}")
    if texts:
        store.append(tenant, thread.id, entry(*(said(text, turn=turn) for turn, text in enumerate(texts, 1))))
    return store.thread(tenant, thread.id)


def texts_of(store: Store, tenant: str, thread: int) -> list[str]:
    """What was said in a thread."""
    return [event.text for event in store.events(tenant, thread)]
