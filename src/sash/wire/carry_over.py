"""Messages of one wire in the shape of another, and otherwise as they are: for files, where nothing is sent yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
    lost: list[Repair] = []
    carried = list(carry_each(messages, wire, lost))
    return Carried(
        messages=tuple(message for _, message in carried),
        origins=tuple(origin for origin, _ in carried),
        lost=tuple(lost),
    )


def carry_each(messages: Iterable[Message], wire: str, lost: list[Repair]) -> Iterator[tuple[int, Message]]:
    """The same one by one, each with the position of the message that it came from; none of them is kept."""
    shaping = _Shaping(wire)
    for message in messages:
        shaping.take((message,))
        yield from shaping.kept.drained()
        lost += shaping.lost
        shaping.lost.clear()
    shaping.finish()
    yield from shaping.kept.drained()


class _Kept(Mending):
    """Takes everything and mends nothing."""

    def __init__(self, wire: str) -> None:
        super().__init__(Preparing(wire).wire.RULES)
        self._said: list[tuple[int, Message]] = []

    def pass_on(self, position: int, messages: Sequence[Message], wire: str) -> int:  # noqa: ARG002  (all are taken)
        """None pass by."""
        return 0

    def take(self, position: int, message: Message) -> None:
        self._said.append((position, message))

    def drained(self) -> list[tuple[int, Message]]:
        """What was taken since it was last asked for."""
        said, self._said = self._said, []
        return said

    def finish(self) -> None:
        """Nothing is added for what is missing."""


class _Shaping(Preparing):
    """The first half of preparing a request."""

    def __init__(self, wire: str) -> None:
        super().__init__(wire)
        self.mending = self.kept = _Kept(wire)

    def _is_answered(self, run: Message) -> bool:  # noqa: ARG002  (whatever it says)
        """Nobody is asked in between: what may stand in one message does."""
        return False

    def _settle(self) -> None:
        """Nothing is checked."""
