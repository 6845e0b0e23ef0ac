"""What counts bare words: the part of a counter in which tokenizers differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sash.core.tokens import TokenCount
from sash.counters.estimate import Family, estimate_text


class TextCounter(Protocol):
    """Counts bare words."""

    @property
    def id(self) -> str:
        """What counts, as a user would name it."""

    @property
    def version(self) -> str:
        """Changes whenever the same words could get another count."""

    @property
    def exact(self) -> bool:
        """Whether its counts are the provider's own."""

    def count(self, text: str) -> TokenCount:
        """Tokens of these words."""


class Estimate:
    """Words weighed by the fitted estimator of a family."""

    exact = False

    def __init__(self, family: Family) -> None:
        self.family = family
        self.id = f"estimate:{family.name}"
        self.version = family.version

    def count(self, text: str) -> TokenCount:
        """About how many tokens these words are."""
        return TokenCount(estimate_text(text, self.family), not text)


class Tokenized:
    """
    Words counted by a real tokenizer.

    Text longer than `longest` characters is estimated instead, and its count says so: it
    is far beyond any window, and merging one endless run of a letter takes a tokenizer
    seconds.
    """

    def __init__(
        self, name: str, encode: Callable[[str], int], *, version: str, longest: int, beyond: Family, near: bool = False
    ) -> None:
        self.id = name
        self.version = version
        self.exact = not near
        self._encode, self._longest, self._beyond = encode, longest, beyond

    def count(self, text: str) -> TokenCount:
        """How many tokens these words are."""
        if len(text) > self._longest:
            return TokenCount(estimate_text(text, self._beyond), exact=False)
        return TokenCount(self._encode(whole(text)), self.exact)


def whole(text: str) -> str:
    """The text as a provider would see it: pairs of surrogates joined, half of one replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
