"""Counting again what is in the window, because the model, and so the counter, is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sash.core.growth import Growth
from sash.core.live import LiveMessage, LiveTurn
from sash.core.size import Size, size_of
from sash.core.slide import situation_of, sizes_shown
from sash.core.tokens import Counter

if TYPE_CHECKING:
    from sash.core.fold import Fold


def recount(fold: Fold) -> None:
    """Counts all that is in a fold's window with its counter; what was learned with another one is forgotten."""
    turns = list(fold.turns.values())
    fold.system = [_recounted(live, fold.counter) for live in fold.system]
    for turn in turns:
        _recount_turn(turn, fold.counter)
    for number, (tokens, _) in sizes_shown(fold.frame, turns, situation_of(fold, fold.limits)).items():
        fold.turns[number].tokens = tokens
    fold.tokens = sum(turn.tokens for turn in turns)
    fold.whole_tokens = sum(turn.whole_tokens for turn in turns)
    fold.exact = all(live.size.exact for live in fold.window())
    fold.growth = Growth(turn.entered_tokens for turn in turns[:-1])
    fold.factor, fold.beyond = 1.0, 0.0


def _recounted(live: LiveMessage, counter: Counter) -> LiveMessage:
    """The same message, counted anew; its bytes are what they were."""
    size = msgspec.structs.replace(size_of(live.message, counter), body=live.size.body)
    return msgspec.structs.replace(live, size=Size(0) if live.message.role == "meta" else size)


def _recount_turn(turn: LiveTurn, counter: Counter) -> None:
    """Counts a turn anew, as it came and as it entered; what a frame shows of it is added up elsewhere."""
    turn.opening = [_recounted(live, counter) for live in turn.opening]
    turn.steps = [[_recounted(live, counter) for live in step] for step in turn.steps]
    every = list(turn.all_messages())
    turn.whole_tokens = sum(counter.message(live.came or live.message).value for live in every)
    turn.entered_tokens = sum(live.size.tokens for live in every)
