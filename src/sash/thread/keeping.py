"""Facts: statements kept apart from the history, and taken back."""

from __future__ import annotations

from sash.core.facts import check_fact
from sash.thread.acts import Remembered, event_of
from sash.thread.replay import Replay, fact_of
from sash.thread.tail import Draft, drafted


def remembered(replay: Replay, seq: int, act: Remembered, turn: int | None) -> Draft:
    """One more fact, if facts have room for it."""
    fold = replay.window.fold
    came_from = fold.placing.turn if turn is None else turn
    event = event_of("fact", act, seq=seq + 1, turn=-1 if came_from is None else came_from)
    check_fact(fact_of(event, act), fold.counter.text, limit=fold.limits.facts)
    return drafted(replay, event)
