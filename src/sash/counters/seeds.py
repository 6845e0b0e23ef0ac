"""
The plain estimators that others use, by their own arithmetic.

They are wrong by a third and more on code, logs and Chinese; they exist so that sash can
do exactly what a tool that counts this way does.
"""

from __future__ import annotations

import math
import re

from sash.core.tokens import TokenCount
from sash.counters.estimate import Framing


class Chars4:
    """A token for each four characters (code points), rounded down."""

    id, version, exact = "chars4", "1", False

    def count(self, text: str) -> TokenCount:
        """A quarter of the characters."""
        return TokenCount(len(text) // 4, exact=not text)


class Bytes4:
    """A token for each four bytes of UTF-8, rounded down."""

    id, version, exact = "bytes4", "1", False

    def count(self, text: str) -> TokenCount:
        """A quarter of the bytes."""
        return TokenCount(len(text.encode("utf-8", "surrogatepass")) // 4, exact=not text)


class Gitclaw:
    """
    A token for each 3.5 UTF-16 units inside code fences and for each 4 outside, both rounded up.

    As JavaScript does it: each fenced block is cut out by replacing the first place where
    its words stand, so of two equal blocks each is cut once.
    """

    id, version, exact = "gitclaw", "1", False

    def count(self, text: str) -> TokenCount:
        """Code and words by their own divisors."""
        code, outside = 0, _units(text)
        for block in _FENCED.findall(text):
            units = _units(block)
            code += math.ceil(units / 3.5)
            outside -= units
        return TokenCount(math.ceil(outside / 4) + code, exact=not text)


_FENCED = re.compile(r"```[\s\S]*?```")


def _units(text: str) -> int:
    """Length as JavaScript counts it: a character beyond the basic plane is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


WORDS_ONLY = Framing(
    user=0,
    assistant=0,
    first_call=0,
    call=0,
    parameter=0,
    first_result=0,
    further_result=0,
    thinking_per_character=0,
    thinking=0,
)
"""No overhead at all: `chars4` and `gitclaw` add up words."""

TEN_A_MESSAGE = Framing(
    user=10,
    assistant=10,
    first_call=0,
    call=0,
    parameter=0,
    first_result=10,
    further_result=0,
    thinking_per_character=0,
    thinking=0,
)
"""`bytes4` adds ten tokens to each message."""
