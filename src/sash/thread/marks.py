"""Marks: places of a thread that can be gone back to."""

from __future__ import annotations

import msgspec

from sash.core.fold import Fold
from sash.errors import NotFound
from sash.thread.acts import Marked, Rewound, act_of, event_of
from sash.thread.edits import DECIDING, edits_of
from sash.thread.log import Log
from sash.thread.replay import Replay
from sash.thread.tail import Draft, Tail, drafted


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A place to come back to."""

    seq: int
    label: str
    turn: int
    """The turn that was the newest then; -1 before the first."""
    cut: int
    """The last event that stays when the thread goes back to it, beside the mark itself."""
    at: float | None = None


def marks_of(log: Log, *, until: int | None = None) -> tuple[Mark, ...]:
    """The marks that no rewind has taken out, oldest first."""
    events = list(log.events(until=until, kinds={"mark", *DECIDING}))
    edits = edits_of(events)
    marked = [(event, act_of(event, Marked)) for event in events if event.kind == "mark" and edits.stands(event)]
    return tuple(
        Mark(
            seq=event.seq, label=act.label, turn=event.turn, cut=event.seq if act.cut is None else act.cut, at=event.at
        )
        for event, act in marked
    )


def rewound(replay: Replay, seq: int, tail: Tail, label: str | None) -> Draft:
    """Back to the newest mark, or to the newest with that label."""
    there = marks_of(tail.log, until=seq)
    marks = [mark for mark in there if label is None or mark.label == label]
    if not marks:
        known = ", ".join(dict.fromkeys(repr(mark.label) for mark in there if mark.label))
        remedy = f"it has {known}" if known else "set one with `mark`"
        raise NotFound("mark", "" if label is None else label, remedy)
    act = Rewound(
        to=marks[-1].cut,
        mark=marks[-1].seq,
        taken=replay.window.fold.placing.taken,
        frame=replay.window.frame.number + 1,
        before=replay.window.fold.tokens,
    )
    return tail.refolded(event_of("rewind", act, seq=seq + 1))


def marked(replay: Replay, seq: int, label: str) -> Draft:
    """This place, to be gone back to."""
    fold = replay.window.fold
    act, turn = Marked(label, cut_here(fold)), fold.placing.turn
    return drafted(replay, event_of("mark", act, seq=seq + 1, turn=-1 if turn is None else turn))


def cut_here(fold: Fold) -> int | None:
    """
    The last event that would stay if a thread came back to here; None: all of them.

    Where calls are open, the event before the step that made them: a step is never cut in two.
    """
    steps = [fold.turns[number].steps[-1][0].position for number in fold.placing.waiting]
    return min(steps, default=None)
