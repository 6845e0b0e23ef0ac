"""A session that was held elsewhere, taken into a thread: what is new of it, all of that or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from sash.core.fold import BeforeSlide
from sash.errors import ThreadExists
from sash.thread.log import Log
from sash.thread.replay import Replay
from sash.thread.saying import Spoken, read_messages, said
from sash.thread.tail import Draft, Make, Tail, Written


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a session's messages."""

    known: int
    """Were there already."""
    added: int


class _NothingNew(Exception):
    """Somebody else has taken all of it meanwhile."""


def take(
    tail: Tail, write: Callable[[Make], Written], name: str, session: Sequence[Spoken], *, veto: BeforeSlide | None
) -> Taken:
    """
    Adds what a session says beyond what the thread holds of it, in one transaction.

    Nothing, where the thread has gone on from all of it; `ThreadExists` where the two part.
    """
    new: Sequence[Spoken] = ()

    def make(replay: Replay, seq: int) -> Draft:
        nonlocal new
        # Looked for each time: somebody else may take the same session at the same time.
        new = _not_yet_said(tail.log, seq, name, session)
        if not new:
            raise _NothingNew
        # Read from their bytes, as a restart reads them.
        read = ((read_messages(one.message.source, one.message.wire), one.at) for one in new)
        return said(replay, seq, (Spoken(message, at) for messages, at in read for message in messages), veto=veto)

    try:
        write(make)
    except _NothingNew:
        tail.forget()
    return Taken(known=len(session) - len(new), added=len(new))


def _not_yet_said(log: Log, until: int, name: str, session: Sequence[Spoken]) -> Sequence[Spoken]:
    known = 0
    for event in log.events(until=until, kinds={"message"}):
        if known == len(session):
            break
        if session[known].message.source != event.body:
            raise ThreadExists(name, differs=known + 1)
        known += 1
    return session[known:]
