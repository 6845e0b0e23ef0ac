"""
A request that a restart finds finished: its messages stand in the log as they were sent.

What was put together, repaired, checked and counted before stays so, as long as the bytes are the same. Whatever is
not sent just as it came (shortened, without its thinking, a step digest) is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol
from zlib import crc32

import msgspec

from sash.core.kept import KeptMessage
from sash.core.message import Message
from sash.core.request import OURS, Reached
from sash.wire import Passed, read_list
from sash.wire.json_text import list_of


class Remade(msgspec.Struct, frozen=True, array_like=True):
    """A message that is not sent as it came."""

    place: int
    """Among those after the head."""
    written: bytes = b""
    """What was shortened, as it is shown: it is small, and shortening it again is not cheap."""
    kept: KeptMessage | None = None
    """What is sent without its thinking, or as text, is made again; None: a step digest is."""
    turn: int = 0
    """The turn that this one is of."""
    unsigned: bool = False


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """A request after its head, on one wire, when nothing in it had to be repaired and no call was open."""

    wire: str
    positions: tuple[int, ...]
    """Where each message stands in the log; -1 for what sash wrote."""
    remade: tuple[Remade, ...] = ()
    reformed: tuple[int, ...] = ()
    """Places of those that this wire takes in another form: they are told apart from what the log has."""
    checksum: int
    """Of those that are sent as they came."""
    tokens: int
    """Of the whole request, its head included."""
    exact: bool
    size: int
    shortened: tuple[str, ...] = ()
    """Handles of what is shown in part."""
    mended: tuple[int, ...] = ()
    """Positions of messages that held a lone surrogate."""
    marks: int = 0
    """The caller's own breakpoints in it."""
    passed: Passed
    reached: Reached

    def whole(self) -> list[int]:
        """Positions of what is sent as it came."""
        if not self.remade:
            return list(self.positions)
        remade = {one.place for one in self.remade}
        return [position for place, position in enumerate(self.positions) if place not in remade]


class Unseal(Protocol):
    """Who has the messages of a window, as they came."""

    def bodies(self, seal: Seal) -> Sequence[bytes] | None:
        """The bytes of what a seal says is sent as it came; None where they are not those that were sealed."""

    def messages(self, positions: Sequence[int]) -> Sequence[Message]:
        """The messages at some positions of the log."""


class Finished:
    """The messages of a sealed request."""

    def __init__(self, seal: Seal, written: list[bytes]) -> None:
        self.seal, self.positions = seal, seal.positions
        self.written = written
        """The JSON of each."""

    @cached_property
    def sent(self) -> list[tuple[Message, int]]:
        """Each with its position in the log, -1 where it is not what stands there; read when somebody asks."""
        positions = list(self.positions)
        for place in self.seal.reformed:
            positions[place] = OURS
        return list(zip(read_list(list_of(self.written), self.seal.wire), positions, strict=True))


def checksum(bodies: Sequence[bytes], before: int = 0) -> int:
    """Tells whether these are the bytes that were sealed; `before` is that of those before them."""
    return crc32(b"".join(bodies), before)
