"""Times as the formats write them, as seconds since 1970."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

_MILLISECONDS = 1e11
"""Later than this, seconds would be in the year 5138: it must be milliseconds."""
_FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_END = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def moment(given: Any) -> float | None:
    """Seconds since 1970 of an ISO date, of seconds or of milliseconds; None of anything else."""
    if isinstance(given, str):
        try:
            at = datetime.fromisoformat(given)
        except ValueError:
            return None
        return _in_reach((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        seconds = float(given)
    except OverflowError:
        return None
    if not math.isfinite(seconds) or seconds <= 0:
        return None
    return _in_reach(seconds / 1000 if seconds > _MILLISECONDS else seconds)


def _in_reach(seconds: float) -> float | None:
    """The time, if a calendar has it: nobody spoke before year 1 or after year 9999."""
    return seconds if _FIRST <= seconds < _END else None


def written(at: float) -> str:
    """A time as the formats write it, to the millisecond."""
    moment_of = datetime.fromtimestamp(at, UTC)
    return moment_of.isoformat(timespec="milliseconds").replace("+00:00", "Z")
