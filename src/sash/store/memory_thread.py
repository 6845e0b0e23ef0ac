"""A thread in memory, with all that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.event import Event
from sash.store.rows import Appended, FrameRow, Posting, Share, ThreadRow


class Work:
    """Who is at a summary and how it went."""

    def __init__(self) -> None:
        self.token = self.attempts = 0
        self.until = self.retry = 0.0
        self.parked = False
        self.error = ""


class MemoryThread:
    """All that belongs to one thread."""

    def __init__(self, row: ThreadRow, setup: bytes) -> None:
        self.row, self.setup, self.after = row, setup, row.last_seq
        self.log: list[Event] = []
        self.order: list[int] = []
        """Of each event, its place among all events of the store: what is newer is found first."""
        self.frames: list[FrameRow] = []
        self.checkpoints: dict[int, tuple[bytes, bytes | None]] = {}
        """By the event each was written after, oldest first; and the rest of each."""
        self.postings: list[Posting] = []
        self.once: dict[str, tuple[bytes, Appended]] = {}
        self.work: Work | None = None
        self.shares: Sequence[Share] = ()
        """What it has of others."""

    def cut(self, until: int) -> None:
        """Forget what was said after an event."""
        kept = max(0, until - self.after)
        del self.log[kept:], self.order[kept:]
        self.frames = [frame for frame in self.frames if frame.after_seq <= until]
        self.checkpoints = {seq: body for seq, body in self.checkpoints.items() if seq <= until}
        self.postings = [posting for posting in self.postings if posting.seq <= until]
        self.row = msgspec.structs.replace(self.row, last_seq=until)
