"""Counting again what is in the window, because the model, and so the counter, is another one."""

from __future__ import annotations

from itertools import chain

import msgspec

from sash.core.live import LiveMessage, LiveTurn
from sash.core.size import Size, size_of
from sash.core.tokens import Counter


def recounted(live: LiveMessage, counter: Counter) -> LiveMessage:
    """The same message, counted anew; its bytes are what they were."""
    size = msgspec.structs.replace(size_of(live.message, counter), body=live.size.body)
    return msgspec.structs.replace(live, size=Size(0) if live.message.role == "meta" else size)


def recount(turn: LiveTurn, counter: Counter) -> None:
    """Counts a turn anew, as it came and as it entered; what a frame shows of it is added up elsewhere."""
    turn.opening = [recounted(live, counter) for live in turn.opening]
    turn.steps = [[recounted(live, counter) for live in step] for step in turn.steps]
    every = [*turn.opening, *chain.from_iterable(turn.steps)]
    turn.whole_tokens = sum(counter.message(live.came or live.message).value for live in every)
    turn.entered_tokens = sum(live.size.tokens for live in every)
