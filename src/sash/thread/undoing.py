"""Taking back the newest thing that changed the head of the window."""

from __future__ import annotations

from sash.errors import NothingToUndo
from sash.thread.acts import Undone, event_of
from sash.thread.edits import DECIDING, edits_of
from sash.thread.replay import Replay
from sash.thread.tail import Draft, Tail


def undone(replay: Replay, seq: int, tail: Tail, name: str) -> Draft:
    """What led to the newest frame that is still in force is in force no more."""
    window = replay.window
    act = Undone(undoes=_newest(tail, seq, name), frame=window.frame.number + 1, before=window.fold.tokens)
    return tail.refolded(event_of("undo", act, seq=seq + 1))


def _newest(tail: Tail, seq: int, name: str) -> int:
    edits = edits_of(tail.log.events(until=seq, kinds=DECIDING))
    for after, frame in tail.log.frames_back(until=seq):
        taken_back = after in edits.undone or (edits.out(after) and frame.reason != "configure")
        if frame.number and frame.reason not in ("undo", "redact") and not taken_back:
            return after
    raise NothingToUndo(name)
