"""
A request that its provider refused as too long, and what that teaches.

Either the model takes less than was thought, or the provider counts more than we do. Some
tell both numbers, some one, some none. What is learned is an event of the log, so it
survives a restart, and every later window knows it.
"""

from __future__ import annotations

import msgspec

from sash.core.calibration import RATIO_BOUNDS

LEAST_WINDOW = 256
"""No model takes less: a smaller number in a complaint is about something else."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a provider told, in its own numbers; None where it did not say."""

    tokens: int | None = None
    """What it read of the request."""
    limit: int | None = None
    """What the model takes."""
    answer: int | None = None
    """What it added for the answer, where the two together were too much."""


class Lesson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a refusal taught."""

    window: int = 0
    """The model takes no more than this; 0: that is no news."""
    answer: int = 0
    """Room that the answer needs; 0: that is no news."""
    context: int | None = None
    """What the provider counted at least; None where that cannot be told."""


def lesson_of(refusal: Refusal, *, sent: int, window: int, known: bool) -> Lesson:
    """
    What a refused request teaches, of so many tokens by our own count, about a window of that size.

    `known` says whether somebody stated the window, or it was only taken for one.
    """
    answer = refusal.answer or 0
    read, limit = refusal.tokens, refusal.limit
    if limit is not None and limit >= LEAST_WINDOW:
        # Nothing that fits is refused, so it counted at least this much.
        least = max(limit - answer, read or 0)
        return Lesson(window=limit if limit < window else 0, answer=answer, context=least if least > 0 else None)
    if read is not None and read >= LEAST_WINDOW:
        return Lesson(window=read + answer if read + answer < window else 0, answer=answer, context=read)
    if known and sent < window <= sent * RATIO_BOUNDS[1]:
        # The window is what it is said to be: then we count too little.
        return Lesson(answer=answer, context=window - answer if window > answer else None)
    return Lesson(window=sent if LEAST_WINDOW <= sent < window else 0, answer=answer)
