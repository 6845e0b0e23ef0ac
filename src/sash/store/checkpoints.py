"""Which checkpoints of a thread stay: all of its past can be reached, the recent one in few steps."""

from __future__ import annotations

from collections.abc import Iterable

NEAR = 256
"""Events between two checkpoints of the recent past."""
FAR = 8192
"""Events between two of the distant past: what going back has to fold at the most."""


def superfluous(kept: Iterable[int], last: int) -> list[int]:
    """
    The checkpoints that may go, when the newest event has the number `last`.

    Between two that stay lie about half as many events as have come since, so that there are few of them
    however long the thread is. The newest of all stays always.
    """
    gone: list[int] = []
    taken: set[tuple[int, int]] = set()
    for seq in sorted(kept, reverse=True):
        step = _step(last - seq)
        place = (step, seq // step)
        if place in taken:
            gone.append(seq)
        taken.add(place)
    return gone


def _step(age: int) -> int:
    """A power of two, so that two stretches become exactly one when they are older."""
    return min(FAR, max(NEAR, 1 << max(0, (age // 2).bit_length() - 1)))
