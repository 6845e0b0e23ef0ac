"""Taking back the newest slide, or the newest command that can be."""

from __future__ import annotations

from sash.core.frame import Reason
from sash.errors import NothingToUndo
from sash.thread.acts import Undone, event_of
from sash.thread.edits import COMMANDS, DECIDING, edits_of
from sash.thread.replay import Replay
from sash.thread.tail import Draft, Tail


def undone(replay: Replay, seq: int, tail: Tail, name: str) -> Draft:
    """
    What led to the newest frame that is still in force is in force no more, or a newer command that led to none.

    A slide that the window itself forces cannot be undone: it would come again at once, and what was
    not meant to leave might leave with it. The high mark is suspended where a slide was undone, which
    would come again too; where something else was, it holds as it did.
    """
    window = replay.window
    after, reason = _newest(tail, seq, name)
    slid = reason not in _OF_THE_USER
    act = Undone(
        undoes=after,
        frame=window.frame.number + 1,
        before=window.fold.tokens,
        suspended=slid or window.fold.suspended,
    )
    live = set(window.fold.turns)
    draft = tail.refolded(event_of("undo", act, seq=seq + 1))
    if slid and not live <= draft.replay.window.fold.turns.keys():
        raise NothingToUndo(name, window=window.fold.limits.window)
    return draft


_OF_THE_USER: frozenset[Reason] = frozenset({"pin", "unpin", "rewind", "summary", "forget"})
"""What leaves when one of these is undone was brought by it."""


def _newest(tail: Tail, seq: int, name: str) -> tuple[int, Reason]:
    """The event that is to be taken back, and what it did."""
    edits = edits_of(tail.log.events(until=seq, kinds=DECIDING))
    commands = [event for event in tail.log.events(until=seq, kinds=COMMANDS.keys()) if edits.stands(event)]
    found = max((event.seq for event in commands if event.seq not in edits.undone), default=0)
    for after, frame in tail.log.frames_back(until=seq):
        if after < found:
            break
        taken_back = after in edits.undone or (edits.out(after) and frame.reason != "configure")
        # Settings are not taken back, only what left because of them.
        nothing_left = frame.reason == "configure" and not frame.freed
        if frame.number and frame.reason not in ("undo", "redact") and not taken_back and not nothing_left:
            return after, frame.reason
    if not found:
        raise NothingToUndo(name)
    return found, next(COMMANDS[event.kind] for event in commands if event.seq == found)
