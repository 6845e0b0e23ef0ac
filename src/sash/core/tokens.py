"""How many tokens something takes, and what can count them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from sash.core.message import Block, Image, Message

COUNTERS = ("exact", "exact:VOCABULARY", "hf:PATH", "estimate", "estimate:FAMILY", "chars4", "gitclaw", "bytes4")
"""The names by which a counter can be asked for; what is in capitals stands for a name of its own."""


class TokenCount(msgspec.Struct, frozen=True, gc=False):
    """A number of tokens that says whether it was counted or estimated."""

    value: int
    exact: bool = True
    """True when the provider's own tokenizer and rules gave it, False for an estimate."""

    def __add__(self, other: TokenCount) -> TokenCount:
        if not isinstance(other, TokenCount):
            return NotImplemented
        return TokenCount(self.value + other.value, self.exact and other.exact)

    def __sub__(self, other: TokenCount) -> TokenCount:
        if not isinstance(other, TokenCount):
            return NotImplemented
        return TokenCount(self.value - other.value, self.exact and other.exact)

    def __str__(self) -> str:
        return ("" if self.exact else "~") + short(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __int__(self) -> int:
        return self.value

    @property
    def full(self) -> str:
        """Every digit, for a table: `77,123`, or `~77,123` when estimated."""
        return f"{'' if self.exact else '~'}{self.value:,}"

    def scaled(self, factor: float) -> TokenCount:
        """
        This many tokens times a correction: an estimate from here on.

        Rounded up: an undercount overflows the model, an overcount only slides a little early.
        """
        return TokenCount(math.ceil(self.value * factor), exact=False)


NO_TOKENS = TokenCount(0)


def total(counts: Iterable[TokenCount]) -> TokenCount:
    """The sum, exact only if every part is; of nothing, exactly none."""
    value, exact = 0, True
    for count in counts:
        value += count.value
        exact = exact and count.exact
    return TokenCount(value, exact)


def short(value: int) -> str:
    """
    A number of tokens in at most four characters: `812`, `9.4k`, `77k`, `1.2M`.

    To the nearest, halves up, with one digit after the point below ten: what shows as
    `1.0M` lies between 999,500 and 1,049,999, and nothing ever shows as `1000k`.
    """
    if value < 0:
        return f"-{short(-value)}"
    if value < 1000:
        return str(value)
    unit, suffix = 1000, "k"
    # Each figure is rounded from the number itself, never from one that was rounded before.
    if _nearest(value, unit) >= 1000:
        unit, suffix = 1_000_000, "M"
    tenths = _nearest(value * 10, unit)
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}{suffix}"
    return f"{_nearest(value, unit):,}{suffix}"


def _nearest(value: int, unit: int) -> int:
    return (value + unit // 2) // unit


@runtime_checkable
class Counter(Protocol):
    """
    Counts what a model reads, as its provider would.

    A count is kept together with its counter's `id` and `version`: counts of two
    counters, or of two versions of one, are never added up.
    """

    @property
    def id(self) -> str:
        """What counts: `exact:o200k_base`, `estimate:claude`, `chars4`."""

    @property
    def version(self) -> str:
        """Changes whenever the same message could get another count."""

    @property
    def exact(self) -> bool:
        """Whether plain text gets an exact count."""

    @property
    def priming(self) -> int:
        """Tokens that every request costs beside its messages and tools."""

    def text(self, text: str) -> TokenCount:
        """Bare words, without any framing."""

    def block(self, block: Block) -> TokenCount:
        """One block by itself, with what each such block costs."""

    def around(self, message: Message) -> TokenCount:
        """What the provider adds around the blocks of a message."""

    def message(self, message: Message) -> TokenCount:
        """A message as it is sent: its blocks and what stands around them. Counted once, then remembered."""

    def tools(self, schemas: Sequence[bytes]) -> TokenCount:
        """Tool schemas as they are sent, each the JSON of one tool."""

    def image(self, image: Image) -> TokenCount:
        """A picture by the provider's rule, from the size its own header states."""


def names_a_counter(name: str) -> bool:
    """Whether a counter can be asked for so; whether there is such a vocabulary or file is seen when it is."""
    kind, colon, which = name.partition(":")
    if not colon:
        return name in COUNTERS
    # An endpoint counts for `sash count`, which is set up like the rest; a window refuses it as soon as it counts.
    return bool(which) and (kind == "remote" or any(known.startswith(f"{kind}:") for known in COUNTERS))
