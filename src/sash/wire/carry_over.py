"""Messages of one wire in the shape of another, and otherwise as they are: for files, where nothing is sent yet."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sash.core.message import Message
from sash.wire.conversation import Repair
from sash.wire.prepare import Preparing
from sash.wire.repair import Mending


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """Messages in the shape of another wire."""

    messages: tuple[Message, ...]
    origins: tuple[int, ...]
    """Of each, the position of the message that it came from."""
    lost: tuple[Repair, ...] = ()
    """What the wire has no place for."""


def carry_over(messages: Iterable[Message], wire: str) -> Carried:
    """The messages in this wire's shape, unrepaired: what is missing in them stays missing."""
    shaping = _Shaping(wire)
    shaping.take(messages)
    shaping.finish()
    kept = shaping.kept
    return Carried(messages=tuple(kept.said), origins=tuple(kept.origins), lost=tuple(shaping.lost))


class _Kept(Mending):
    """Takes everything and mends nothing."""

    def __init__(self, wire: str) -> None:
        super().__init__(Preparing(wire).wire.RULES)
        self.said: list[Message] = []
        self.origins: list[int] = []

    def take(self, position: int, message: Message) -> None:
        self.said.append(message)
        self.origins.append(position)

    def finish(self) -> None:
        """Nothing is added for what is missing."""


class _Shaping(Preparing):
    """The first half of preparing a request."""

    def __init__(self, wire: str) -> None:
        super().__init__(wire)
        self.mending = self.kept = _Kept(wire)

    def _settle(self) -> None:
        """Nothing is checked."""
