"""What left the window, as it is kept: read only when somebody asks, for a thread that is opened seldom does."""

from __future__ import annotations

import msgspec

from sash.core.digest import Digest


class Left:
    """A digest, or what was written of it."""

    def __init__(self, written: msgspec.Raw | None = None) -> None:
        self._written = written
        self._digest = Digest() if written is None else None

    @property
    def digest(self) -> Digest:
        """The digest itself, which may be added to."""
        if self._written is not None:
            self._digest, self._written = msgspec.json.decode(self._written, type=Digest), None
        assert self._digest is not None
        return self._digest

    def written(self) -> msgspec.Raw:
        """Its JSON."""
        return msgspec.Raw(msgspec.json.encode(self._digest)) if self._written is None else self._written

    def copy(self) -> Left:
        """What left, growing by itself from here."""
        twin = Left(self._written)
        twin._digest = self._digest.copy() if self._digest is not None else None  # its own kind
        return twin
