"""The messages of a window, read from the log when somebody needs them."""

from __future__ import annotations

from collections.abc import Sequence

from sash.core.message import Message
from sash.thread.log import Log
from sash.window import Seal, checksum
from sash.wire import read_list
from sash.wire.json_text import list_of


class Said:
    """
    What a log says at the positions of one window.

    What is sealed is read without what stands beside it in the log, and is known by its checksum; everything else
    is read and tested event by event.
    """

    def __init__(self, log: Log, seal: Seal | None) -> None:
        self._log, self._seal = log, seal
        self._whole: Sequence[bytes] | None = None
        """What is sealed, once it was read."""

    def bodies(self, seal: Seal) -> Sequence[bytes] | None:
        """The bytes of what is sent as it came; None where they are not those that were sealed."""
        positions = seal.whole()
        found = self._log.bodies(positions)
        try:
            whole = [found[position + 1] for position in positions]
        except KeyError:
            return None
        if checksum(whole) != seal.checksum:
            return None
        self._whole = whole
        return whole

    def messages(self, positions: Sequence[int]) -> list[Message]:
        """The messages at some positions of the log."""
        known = self._known(positions)
        here = [position for position in positions if position in known]
        said: dict[int, Message] = {}
        if here and self._seal is not None:
            listed = list_of([known[position] for position in here])
            said = dict(zip(here, read_list(listed, self._seal.wire), strict=True))
        rest = [position for position in positions if position not in known]
        if rest:
            said |= self._log.messages(rest)
        return [said[position] for position in positions]

    def _known(self, positions: Sequence[int]) -> dict[int, bytes]:
        """What is sealed, by its position, where some of it is asked for and it is what was sealed."""
        if self._seal is None:
            return {}
        sealed = self._seal.whole()
        if set(positions).isdisjoint(sealed):
            return {}
        whole = self.bodies(self._seal) if self._whole is None else self._whole
        return {} if whole is None else dict(zip(sealed, whole, strict=True))
