"""What left the window, as it is kept: read, and written up, only when somebody asks."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sash.core.departed import Departed
from sash.core.digest import Digest

WAITING = 1 << 25
"""Bytes that may have left without having been written up: a long log that is read at once asks for one digest only."""

Read = Callable[[], msgspec.Raw]
"""Reads what was written of a digest from where it is kept."""

_digest = msgspec.json.Decoder(Digest)


class Left:
    """A digest, or what was written of it, and what has left since."""

    def __init__(self, written: msgspec.Raw | Read | None = None) -> None:
        self._written = written
        self._digest = Digest() if written is None else None
        self._departed: list[Departed] = []
        self._waiting = 0

    def add(self, departed: Departed) -> None:
        """More leaves."""
        self._departed.append(departed)
        self._waiting += sum(live.size.body for live in departed.messages())
        if self._waiting > WAITING:
            self._take()

    @property
    def digest(self) -> Digest:
        """The digest of all of it."""
        return self._take()

    def _take(self) -> Digest:
        if self._written is not None:
            self._digest, self._written = _digest.decode(self._read()), None
        assert self._digest is not None
        if self._departed:
            self._digest.take(self._departed)
            self._departed, self._waiting = [], 0
        return self._digest

    def written(self) -> msgspec.Raw:
        """Its JSON."""
        if self._written is not None and not self._departed:
            return self._read()
        digest = self._take()
        digest.noted.read()
        return msgspec.Raw(msgspec.json.encode(digest))

    def _read(self) -> msgspec.Raw:
        assert self._written is not None
        if not isinstance(self._written, msgspec.Raw):
            self._written = self._written()
        return self._written

    def copy(self) -> Left:
        """What left, growing by itself from here."""
        twin = Left(self._written)
        twin._digest = self._digest.copy() if self._digest is not None else None  # its own kind
        twin._departed, twin._waiting = self._departed[:], self._waiting
        return twin
