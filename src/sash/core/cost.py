"""What requests cost when a provider caches prompts: what is read from the cache, what is paid for again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from sash.core.stated import Stated
from sash.errors import InvalidPolicy


class Prices(msgspec.Struct, frozen=True, kw_only=True, metaclass=Stated):
    """What an input token costs, as multiples of the provider's list price."""

    read: float
    """Found in the cache."""
    write: float
    """Not found, and cached from here on."""
    fresh: float = 1.0
    """Neither: the prompt is too small to be cached."""
    smallest: int = 1_024
    """Shorter prefixes are not cached."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < 0:
                raise InvalidPolicy(name, value, "a number of at least 0")


ANTHROPIC = Prices(read=0.1, write=1.25)
OPENAI = Prices(read=0.1, write=1.0)
OPENAI_HALF = Prices(read=0.5, write=1.0)
"""Its models up to GPT-4o and the o-series, and others that give half off."""
NO_CACHE = Prices(read=1.0, write=1.0)


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A message of a request: what it is, and what it takes."""

    identity: bytes
    tokens: int


class Charge(msgspec.Struct, frozen=True):
    """Tokens by how they are paid for."""

    read: int = 0
    written: int = 0
    fresh: int = 0

    @property
    def tokens(self) -> int:
        """All that was sent."""
        return self.read + self.written + self.fresh

    @property
    def cached_share(self) -> float:
        """How much of what was sent came from the cache; of nothing, none."""
        return self.read / self.tokens if self.tokens else 0.0

    def cost(self, prices: Prices) -> float:
        """In tokens at list price."""
        return self.read * prices.read + self.written * prices.write + self.fresh * prices.fresh

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.read + other.read, self.written + other.written, self.fresh + other.fresh)


def shared_prefix(before: Sequence[Piece], after: Sequence[Piece]) -> int:
    """How many messages both requests begin with alike."""
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        if old.identity != new.identity:
            return place
    return min(len(before), len(after))


def charge(
    before: Sequence[Piece] | None, after: Sequence[Piece], *, fixed: int = 0, smallest: int = 0, cold: bool = False
) -> Charge:
    """
    What one request is charged for, when `before` was the one before it; None: it is the first.

    `fixed` tokens of system prompt and tools stand in front of both. With a `cold` cache
    nothing is found any more. A cache finds whole messages, from the first on: all that
    stands behind the first difference is written again.
    """
    tokens = fixed + sum(piece.tokens for piece in after)
    shared = 0
    if before is not None and not cold:
        shared = fixed + sum(piece.tokens for piece in after[: shared_prefix(before, after)])
    return charge_of(tokens, shared, smallest=smallest)


def charge_of(tokens: int, shared: int, *, smallest: int = 0) -> Charge:
    """What a request is charged for that shares its beginning with the one before; a cache holds nothing too small."""
    if tokens < smallest:
        return Charge(fresh=tokens)
    found = shared if shared >= smallest else 0
    return Charge(read=found, written=tokens - found)


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of requests is charged for, added up."""

    requests: int
    charge: Charge
    breaks: int
    """Requests that did not go on from all of the one before: each made the provider write again."""

    @property
    def average(self) -> float:
        """Tokens of a request, on average: costs compare only at equal ones."""
        return self.charge.tokens / self.requests if self.requests else 0.0

    @property
    def cached_share(self) -> float:
        """How much of all that was sent came from the cache."""
        return self.charge.cached_share

    def cost(self, prices: Prices) -> float:
        """In tokens at list price."""
        return self.charge.cost(prices)


def account(requests: Iterable[Sequence[Piece]], *, fixed: int = 0, smallest: int = 0) -> Account:
    """The charges of successive requests of one conversation."""
    total, count, breaks = Charge(), 0, 0
    before: Sequence[Piece] | None = None
    for request in requests:
        total += charge(before, request, fixed=fixed, smallest=smallest)
        count += 1
        breaks += before is not None and shared_prefix(before, request) < len(before)
        before = request
    return Account(requests=count, charge=total, breaks=breaks)


LOWEST_KEEP = 0.4
"""Below it little is saved and much is forgotten at each slide."""
HIGHEST_KEEP = 0.95
"""Above it a slide comes at nearly every request."""


def best_keep_share(prices: Prices, growth: float, high: int) -> float:
    """
    The low mark, as a share of the high one, at which a thread costs least.

    `growth` is what a request adds on average, `high` the mark in tokens. A lower mark
    breaks the cache less often, a higher one remembers more; what a break costs is what is
    kept times (write - read), what it saves is what left, times read, at each request until
    the next. A model, 3 to 9 % off the simulation. Where a cache saves nothing there is
    nothing to break: 1.0, just under the mark.
    """
    if prices.write <= prices.read:
        return 1.0
    if prices.read == 0 or high <= 0:
        return LOWEST_KEEP
    share = 1 - math.sqrt(2 * (prices.write - prices.read) / prices.read * max(0.0, growth) / high)
    return min(HIGHEST_KEEP, max(LOWEST_KEEP, share))
