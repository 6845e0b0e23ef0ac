"""How long ago something was, as people say it."""

from __future__ import annotations

from datetime import UTC, datetime


def age(at: float | None, now: float) -> str:
    """`3 min`, `2 h`, `5 d`; empty where nobody knows. What lies ahead of the clock is now."""
    if at is None:
        return ""
    seconds = max(0.0, now - at)
    if seconds < 60:
        return "now"
    for size, unit in ((60, "min"), (3_600, "h"), (86_400, "d")):
        if seconds < size * {"min": 60, "h": 48, "d": 60}[unit]:
            return f"{int(seconds // size)} {unit}"
    months = seconds / 86_400 / 30.44
    return f"{int(months)} mo" if months < 24 else f"{int(months // 12)} y"


def moment(at: float | None) -> str | None:
    """A time in ISO 8601, in UTC, to the second; None where nobody knows or no calendar has it."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None
