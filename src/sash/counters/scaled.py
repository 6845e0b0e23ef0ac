"""A counter corrected by what a provider has reported: the same counts, times a factor."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from sash.core.message import Block, Image, Message
from sash.core.tokens import Counter, TokenCount
from sash.counters.registry import Choice
from sash.errors import InvalidPolicy

LEAST, MOST = 0.1, 10.0


def calibrated(choice: Choice, factor: float) -> Choice:
    """The choice with every count times a factor; the same choice where it is 1."""
    if not LEAST <= factor <= MOST:
        raise InvalidPolicy("calibration", factor, f"a factor from {LEAST} to {MOST}")
    if factor == 1:
        return choice
    why = f"{choice.why}; times {factor:g}, as its provider reports"
    return Choice(counter=Scaled(choice.counter, factor), model=choice.model, why=why)


class Scaled(msgspec.Struct, frozen=True):
    """Counts of another counter, times a factor: estimates, whatever they were before."""

    inner: Counter
    factor: float

    @property
    def id(self) -> str:
        """What counts, and times what: counts of two factors are never added up."""
        return f"{self.inner.id}*{self.factor:g}"

    @property
    def version(self) -> str:
        """The other counter's."""
        return self.inner.version

    @property
    def exact(self) -> bool:
        """Never: a factor is what was seen so far."""
        return False

    @property
    def priming(self) -> int:
        """Rounded up, as all of them."""
        return math.ceil(self.inner.priming * self.factor)

    def text(self, text: str) -> TokenCount:
        """Bare words."""
        return self.inner.text(text).scaled(self.factor)

    def block(self, block: Block) -> TokenCount:
        """One block by itself."""
        return self.inner.block(block).scaled(self.factor)

    def around(self, message: Message) -> TokenCount:
        """What stands around the blocks of a message."""
        return self.inner.around(message).scaled(self.factor)

    def message(self, message: Message) -> TokenCount:
        """A message as it is sent."""
        return self.inner.message(message).scaled(self.factor)

    def tools(self, schemas: Sequence[bytes]) -> TokenCount:
        """Tool schemas."""
        return self.inner.tools(schemas).scaled(self.factor)

    def image(self, image: Image) -> TokenCount:
        """A picture."""
        return self.inner.image(image).scaled(self.factor)
