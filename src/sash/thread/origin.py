"""What a thread was created with."""

from __future__ import annotations

import msgspec

from sash.store import Store, ThreadRow
from sash.thread.log import Log, Segment
from sash.window import Setup


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What a thread was created with."""

    setup: msgspec.Raw
    """Its JSON: it is needed only where the log is folded from its first event on."""
    segments: tuple[Segment, ...] = ()
    """The stretches of other threads that its log begins with."""
    redacted: int = 0
    """Of what it begins with, something up to this event was redacted after that event; 0: nothing was."""

    @classmethod
    def of(cls, setup: Setup) -> Origin:
        """The origin of a thread that begins by itself."""
        return cls(setup=msgspec.Raw(msgspec.json.encode(setup)))

    def first_setup(self) -> Setup:
        """The setup that its first event was folded with."""
        return _setup.decode(self.setup)


# Made here, and not where they are needed: msgspec must not learn a type in two threads at once.
_setup = msgspec.json.Decoder(Setup)
_origin = msgspec.json.Decoder(Origin)


def origin_of(store: Store, row: ThreadRow) -> Origin:
    """What a stored thread was created with."""
    return _origin.decode(store.setup(row.tenant, row.id))


def log_of(store: Store, row: ThreadRow, origin: Origin) -> Log:
    """A stored thread's log, the beginning that it shares with others included."""
    after = origin.segments[-1].until if origin.segments else 0
    return Log(store, row.tenant, (*origin.segments, Segment(row.id, after or 0)))
