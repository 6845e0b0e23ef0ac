"""
What is in the window as it is kept: by reference, for the log has what was said.

Of a window that was resumed the turns are read when somebody needs them. A request that a restart finds finished
needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from threading import RLock

import msgspec

from sash.core.frame import handle_of
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message
from sash.core.shorten import shorten
from sash.core.size import Size

Lookup = Callable[[Sequence[int]], Sequence[Message]]
"""The messages at some positions of the log."""


class KeptMessage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message of the window, by reference."""

    position: int
    size: Size
    cut: tuple[int, ...] = ()
    """Its blocks that were shortened as it came in."""
    keep: int = 0
    """Characters that were kept of each."""

    @classmethod
    def of(cls, live: LiveMessage) -> KeptMessage:
        """How a message of the window is kept."""
        cut: tuple[int, ...] = ()
        if live.came is not None:
            pairs = zip(live.came.blocks, live.message.blocks, strict=True)
            cut = tuple(place for place, (came, shown) in enumerate(pairs) if came != shown)
        return cls(live.position, live.size, cut, live.keep)

    def live(self, came: Message) -> LiveMessage:
        """The message as it stood in the window."""
        if not self.cut:
            return LiveMessage(self.position, came, self.size)
        blocks = list(came.blocks)
        for place in self.cut:
            blocks[place] = shorten(blocks[place], handle_of(self.position, place), self.keep)
        return LiveMessage(self.position, came.edit(tuple(blocks)), self.size, came, self.keep)


class KeptTurn(msgspec.Struct, frozen=True, array_like=True):
    """A turn of the window, its messages by reference."""

    number: int
    title: str
    opening: tuple[KeptMessage, ...]
    steps: tuple[tuple[KeptMessage, ...], ...]
    digested: int
    tokens: int
    whole_tokens: int
    entered_tokens: int
    body: int
    after_assistant: bool

    @classmethod
    def of(cls, turn: LiveTurn) -> KeptTurn:
        """How a turn of the window is kept."""
        return cls(
            number=turn.number,
            title=turn.title,
            opening=tuple(map(KeptMessage.of, turn.opening)),
            steps=tuple(tuple(map(KeptMessage.of, step)) for step in turn.steps),
            digested=turn.digested,
            tokens=turn.tokens,
            whole_tokens=turn.whole_tokens,
            entered_tokens=turn.entered_tokens,
            body=turn.body,
            after_assistant=turn.after_assistant,
        )

    def positions(self) -> Iterable[int]:
        """Where its messages stand in the log, in the order they are sent."""
        return (kept.position for kept in chain(self.opening, *self.steps))

    def live(self, said: Iterable[Message]) -> LiveTurn:
        """The turn as it stood in the window, of its messages in their order."""
        came = iter(said)
        return LiveTurn(
            number=self.number,
            named=self.title,
            opening=[kept.live(next(came)) for kept in self.opening],
            steps=[[kept.live(next(came)) for kept in step] for step in self.steps],
            digested=self.digested,
            tokens=self.tokens,
            whole_tokens=self.whole_tokens,
            entered_tokens=self.entered_tokens,
            body=self.body,
            after_assistant=self.after_assistant,
        )


_turns = msgspec.msgpack.Decoder(tuple[KeptTurn, ...])


class Resting(msgspec.Struct, frozen=True):
    """The turns of a window as they are kept."""

    written: bytes
    """As msgpack."""
    numbers: tuple[int, ...] = ()
    whole_tokens: int = 0
    """Of all of them, as they came."""

    @classmethod
    def of(cls, turns: Iterable[LiveTurn]) -> Resting:
        """How the turns of a window are kept."""
        kept = tuple(map(KeptTurn.of, turns))
        return cls(
            msgspec.msgpack.encode(kept),
            tuple(turn.number for turn in kept),
            sum(turn.whole_tokens for turn in kept),
        )

    def kept(self) -> tuple[KeptTurn, ...]:
        """The turns, their messages by reference."""
        return _turns.decode(self.written)

    def turns(self, lookup: Lookup) -> dict[int, LiveTurn]:
        """The turns as they stood in the window, by their numbers."""
        kept = self.kept()
        said = iter(lookup([position for turn in kept for position in turn.positions()]))
        return {turn.number: turn.live(said) for turn in kept}


class InWindow:
    """The turns that are in a window."""

    def __init__(self) -> None:
        self.turns = {}
        self.resting: Resting | None = None
        """The turns as they are kept, as long as nobody has needed them."""
        self._lookup: Lookup | None = None
        self._reading = RLock()

    @cached_property
    def turns(self) -> dict[int, LiveTurn]:
        """Carried and live turns, in log order."""
        # From Python 3.12 on a cached property has no lock of its own; turns that were read twice would part.
        with self._reading:
            read: dict[int, LiveTurn] | None = self.__dict__.get("turns")
            if read is not None:
                return read
            resting = self.resting
            assert resting is not None
            assert self._lookup is not None
            # Known before it rests no more: somebody else may ask in between.
            turns = self.__dict__["turns"] = resting.turns(self._lookup)
            self.resting = None
            return turns

    def rest(self, resting: Resting, lookup: Lookup) -> None:
        """Has these turns, and reads them when they are needed."""
        self.resting, self._lookup = resting, lookup
        del self.turns

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the turns."""
        resting = self.resting
        return tuple(self.turns) if resting is None else resting.numbers

    @property
    def newest(self) -> int | None:
        """The number of the newest turn."""
        resting = self.resting
        return next(reversed(self.turns if resting is None else resting.numbers), None)
