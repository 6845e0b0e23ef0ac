"""A log replayed under a policy: what each request would have held, and what all of them cost."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.cost import Charge, Piece, Prices, charge
from sash.core.frame import Reason
from sash.core.kept import KeptMessage
from sash.core.message import Message, identity
from sash.core.request import assemble
from sash.core.tokens import Counter
from sash.core.turn import Placing
from sash.counters import counter_for
from sash.window.setup import Setup
from sash.window.window import Window


class Slid(msgspec.Struct, frozen=True, kw_only=True):
    """A slide on the way."""

    request: int
    """The first request that it changed, from 1."""
    reason: Reason
    freed: int
    boundary: int


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy does to a whole session."""

    policy: str
    requests: int
    average: float
    """Tokens of a request, on average."""
    peak: int
    """Tokens of the largest request."""
    slides: int
    cached: float
    """Share of all that was sent that the provider found in its cache."""
    cost: float
    """All requests together, in tokens at the provider's list price."""
    relative: float | None = None
    """The cost as a share of what the first policy of the list costs."""
    evicted: tuple[int, ...]
    """Numbers of the turns that are out of the window in the end."""
    shortened: int
    """Blocks that are shown in part in the end."""
    live: tuple[int, ...]
    """Tokens of each request, in order."""
    slid: tuple[Slid, ...]


class Replay:
    """A session going by, message by message, under one policy."""

    def __init__(self, name: str, setup: Setup, prices: Prices | None = None, counter: Counter | None = None) -> None:
        """
        A policy may have a counter of its own, by which it decides.

        What it sends is counted by `counter`, the model's where none is given, so that
        policies can be compared.
        """
        self.name = name
        self.window = Window(setup)
        self.counter: Counter = counter or counter_for(setup.model).counter
        """What counts all that is sent."""
        self.fixed = setup.fixed(self.counter).value
        """Of it, what stands in every request."""
        self.cached: list[float] = []
        """Of each request, the share that a provider would find in its cache."""
        self._prices = prices or setup.policy.prices
        self._placing = Placing()
        self._charge = Charge()
        self._before: Sequence[Piece] | None = None
        self._said_at: float | None = None
        self._live: list[int] = []
        self._slid: list[Slid] = []
        self._pieces: dict[int, tuple[Message, Piece]] = {}

    def add(self, message: Message, at: float | None = None, *, charged: bool = True) -> None:
        """One more message; where a request follows it, that is charged for, unless it is not to be."""
        placed = self._placing.add(message)
        frame = self.window.add(message, at)
        if frame is not None:
            self._slid.append(
                Slid(request=len(self._live) + 1, reason=frame.reason, freed=frame.freed, boundary=frame.boundary)
            )
        if placed.request_point and charged:
            self._ask(at)

    def _ask(self, at: float | None) -> None:
        messages = assemble(self.window.fold).messages
        pieces = [self._piece(message) for message in messages if message.role != "meta"]
        fixed = self.fixed
        cold = (
            at is not None and self._said_at is not None and at - self._said_at > self.window.setup.policy.cache_seconds
        )
        charged = charge(self._before, pieces, fixed=fixed, smallest=self._prices.smallest, cold=cold)
        self._charge += charged
        self.cached.append(charged.cached_share)
        self._live.append(fixed + sum(piece.tokens for piece in pieces))
        self._forget(pieces)
        self._before, self._said_at = pieces, at

    def _piece(self, message: Message) -> Piece:
        """Remembered: most of a request was in the one before it."""
        known = self._pieces.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        piece = Piece(identity(message), self.counter.message(message).value)
        self._pieces[id(message)] = message, piece
        return piece

    def _forget(self, pieces: Sequence[Piece]) -> None:
        if len(self._pieces) > 4 * len(pieces) + 1_000:
            kept = {piece.identity for piece in pieces}
            self._pieces = {key: known for key, known in self._pieces.items() if known[1].identity in kept}

    def outcome(self) -> Replayed:
        """What it came to."""
        fold = self.window.fold
        requests = len(self._live)
        # By the frame, and as they came in.
        shortened = {(one.message, one.block) for one in fold.frame.shortened}
        shortened.update((live.position, block) for live in fold.window() for block in KeptMessage.of(live).cut)
        return Replayed(
            policy=self.name,
            requests=requests,
            average=sum(self._live) / max(1, requests),
            peak=max(self._live, default=0),
            slides=len(self._slid),
            cached=self._charge.cached_share,
            cost=self._charge.cost(self._prices),
            evicted=tuple(turn.number for turn in fold.past.evicted),
            shortened=len(shortened),
            live=tuple(self._live),
            slid=tuple(self._slid),
        )


def compared(outcomes: Sequence[Replayed]) -> tuple[Replayed, ...]:
    """Each with its cost beside that of the first."""
    first = outcomes[0].cost if outcomes else 0.0
    return tuple(
        msgspec.structs.replace(outcome, relative=outcome.cost / first if first else None) for outcome in outcomes
    )
