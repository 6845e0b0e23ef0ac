"""Whether an upstream's error says that a request was too large for the model."""

from __future__ import annotations

from sash.providers.overflow import Overflow, is_about_rates, overflow_of, sizes_in

_STATUSES = frozenset((400, 413, 422, 500))
"""500: some servers of open models know no better."""


def overflow_in(status: int, body: bytes) -> Overflow | None:
    """The overflow that an error tells of; None where it tells of something else. A stream's error has status 400."""
    if status not in _STATUSES:
        return None
    text = body.decode("utf-8", "replace")
    if status == 413 and "tokens" in text and not is_about_rates(text):
        return sizes_in(text)
    return overflow_of(text)
