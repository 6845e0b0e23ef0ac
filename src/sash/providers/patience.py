"""How long and how often a provider that is busy or down is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Bounded: asked so often, with pauses that double, and never after the first word of an answer."""

    attempts: int = 3
    first_seconds: float = 0.5
    most_seconds: float = 30.0
    """Longer pauses are cut, also those a provider asks for: whoever waits may come back later."""
    connect_seconds: float = 10.0
    idle_seconds: float = 300.0
    """Without a single byte for so long the answer is given up."""

    def pause(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after an attempt, the first being 1; what the provider asked for counts."""
        wanted = asked if asked is not None else self.first_seconds * 2.0 ** (attempt - 1)
        return min(max(wanted, 0.0), self.most_seconds)


def asked_pause(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that a provider asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _number(asked)
    if seconds is not None or asked is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    # Neither a negative pause nor an endless one; not a number is neither.
    return number if 0 <= number < float("inf") else None
