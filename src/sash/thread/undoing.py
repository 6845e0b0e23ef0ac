"""Taking back the newest thing that changed the head of the window."""

from __future__ import annotations

from sash.core.frame import Frame
from sash.errors import NothingToUndo
from sash.thread.acts import Undone, event_of
from sash.thread.edits import DECIDING, edits_of
from sash.thread.replay import Replay
from sash.thread.tail import Draft, Tail


def undone(replay: Replay, seq: int, tail: Tail, name: str) -> Draft:
    """
    What led to the newest frame that is still in force is in force no more.

    A slide that the window itself forces cannot be undone: it would come again at once, and what was
    not meant to leave might leave with it.
    """
    window = replay.window
    after, frame = _newest(tail, seq, name)
    act = Undone(undoes=after, frame=window.frame.number + 1, before=window.fold.tokens)
    live = set(window.fold.turns)
    draft = tail.refolded(event_of("undo", act, seq=seq + 1))
    if frame.reason not in _OF_THE_USER and not live <= draft.replay.window.fold.turns.keys():
        raise NothingToUndo(name, window=window.fold.limits.window)
    return draft


_OF_THE_USER = frozenset({"pin", "unpin", "rewind", "summary"})
"""What leaves when one of these is undone was brought by it."""


def _newest(tail: Tail, seq: int, name: str) -> tuple[int, Frame]:
    edits = edits_of(tail.log.events(until=seq, kinds=DECIDING))
    for after, frame in tail.log.frames_back(until=seq):
        taken_back = after in edits.undone or (edits.out(after) and frame.reason != "configure")
        if frame.number and frame.reason not in ("undo", "redact") and not taken_back:
            return after, frame
    raise NothingToUndo(name)
