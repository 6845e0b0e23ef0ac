"""Pins: turns that stay in the window whatever leaves."""

from __future__ import annotations

from sash.core.turn import no_turn
from sash.errors import NotFound, PinsFull
from sash.thread.acts import Pinned, event_of
from sash.thread.edits import DECIDING, edits_of
from sash.thread.log import Log
from sash.thread.replay import Replay
from sash.thread.tail import Draft, drafted


def pinned(replay: Replay, seq: int, turn: int, log: Log) -> Draft:
    """One more turn stays, if there is room for it among those that do."""
    fold = replay.window.fold
    if turn not in fold.turns:
        said = list(log.turn(turn)) if turn >= 0 else []
        if not said:
            raise no_turn(turn, fold.turns)
        edits = edits_of(log.events(kinds=DECIDING))
        if all(edits.out(event.seq) for event in said):
            raise NotFound("turn", turn, "it was rewound; `undo` takes a rewind back")
    staying = [replay.turn(number) for number in sorted({*fold.pinned, turn})]
    if sum(each.tokens for each in staying) > fold.limits.pins:
        sizes = {each.number: each.tokens for each in staying}
        raise PinsFull(turn=turn, sizes=sizes, limit=fold.limits.pins)
    return drafted(replay, event_of("pin", Pinned(turn), seq=seq + 1, turn=turn))


def unpinned(replay: Replay, seq: int, turn: int) -> Draft:
    """A turn may leave again."""
    if turn not in replay.window.fold.pinned:
        pins = ", ".join(map(str, sorted(replay.window.fold.pinned)))
        raise NotFound("pinned turn", turn, f"pinned are: {pins}" if pins else "no turn is pinned")
    return drafted(replay, event_of("unpin", Pinned(turn), seq=seq + 1, turn=turn))
