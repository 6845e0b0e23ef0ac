"""Times as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
