"""Marks: places of a thread that can be gone back to."""

from __future__ import annotations

import msgspec

from sash.core.turn import Placing
from sash.thread.acts import Marked, act_of
from sash.thread.edits import DECIDING, edits_of
from sash.thread.log import Log, message_of


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A place to come back to."""

    seq: int
    label: str
    turn: int
    """The turn that was the newest then; -1 before the first."""
    at: float | None = None


def marks_of(log: Log, *, until: int | None = None) -> tuple[Mark, ...]:
    """The marks that no rewind has taken out, oldest first."""
    events = list(log.events(until=until, kinds={"mark", *DECIDING}))
    edits = edits_of(events)
    return tuple(
        Mark(seq=event.seq, label=act_of(event, Marked).label, turn=event.turn, at=event.at)
        for event in events
        if event.kind == "mark" and edits.stands(event)
    )


def cut_before(log: Log, mark: int) -> int:
    """
    The last event that stays when a thread goes back to a mark.

    The mark itself; or, where calls were open there, the event before the step that made them.
    """
    turns = [event.turn for event in log.events(since=max(0, mark - 1), until=mark)]
    placing, step = Placing(), mark
    edits = edits_of(log.events(until=mark, kinds=DECIDING))
    for event in log.turn(turns[0]) if turns and turns[0] >= 0 else ():
        stands = event.seq < mark and not edits.out(event.seq)
        if stands and placing.add(message_of(event)).new_step:
            step = event.seq - 1
    return step if placing.calls_open else mark
