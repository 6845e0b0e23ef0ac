"""How fast a thread grows: what each request brings, and what turns have taken lately."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

RECENT = 5
"""Closed turns whose mean size tells how large the next one may be."""


class Growth:
    """A thread's growth, in tokens as they entered its window."""

    __slots__ = ("added", "closed", "requests")

    def __init__(self, closed: Iterable[int] = (), requests: int = 0, added: int = 0) -> None:
        self.closed = deque(closed, maxlen=RECENT)
        """What the newest closed turns took."""
        self.requests = requests
        """Request points so far."""
        self.added = added
        """What came with them."""

    @property
    def usual_turn(self) -> float:
        """What a turn has taken lately; 0 where none has closed yet."""
        return sum(self.closed) / len(self.closed) if self.closed else 0.0

    @property
    def per_request(self) -> float:
        """What a request brings."""
        return self.added / max(1, self.requests)

    def copy(self) -> Growth:
        """The growth of a thread that goes on by itself."""
        return Growth(self.closed, self.requests, self.added)
