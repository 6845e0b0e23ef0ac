"""Names in a text: paths, identifiers, numbers. What later work would have to know again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

SHORTEST = 4
LONGEST = 120
"""Longer ones are keys, hashes and data: nobody types them again."""

_word = re.compile(r"[A-Za-z0-9_~$@][\w./~@-]{2,}\w")
_inside = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[_/]|\w\.\w")

# A text is cut into pieces in which words stand whole, most often one; only pieces that were not seen lately are
# looked into. What is not ASCII may stand in a word, so it never parts two pieces.
_PARTED = bytes(
    code if code >= 128 or chr(code).isalnum() or chr(code) in "_./~@-$" else ord(" ") for code in range(256)
)
_UTF8 = ("utf-8", "surrogatepass")


def names_in(text: str) -> list[str]:
    """The names that stand in a text, each once, in the order in which they come."""
    return list(dict.fromkeys(chain.from_iterable(map(_NAMES.__getitem__, dict.fromkeys(_pieces(text))))))


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """All words of some texts that could be names: to look whether a name stands there, that is enough."""
    pieces: set[bytes] = set()
    for text in texts:
        pieces.update(_pieces(text))
    return frozenset(chain.from_iterable(map(_WORDS.__getitem__, pieces)))


def is_name(word: str) -> bool:
    """Whether a word is more than a word of the language: a path, an identifier, a number of some length."""
    if not SHORTEST <= len(word) <= LONGEST:
        return False
    return word.isdigit() or _inside.search(word) is not None


def _pieces(text: str) -> list[bytes]:
    # `$` only begins a word.
    return text.encode(*_UTF8).replace(b"$", b" $").translate(_PARTED).split()


class _Words(dict[bytes, tuple[str, ...]]):
    """The words of pieces seen lately: bounded, and only pure results, so it may be emptied at any time."""

    def __missing__(self, piece: bytes) -> tuple[str, ...]:
        found = self.look(piece)
        if len(piece) <= LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[piece] = found
        return found

    def look(self, piece: bytes) -> tuple[str, ...]:
        return tuple(_word.findall(piece.decode(*_UTF8)))


class _Names(_Words):
    """The names among them."""

    def look(self, piece: bytes) -> tuple[str, ...]:
        return tuple(filter(is_name, super().look(piece)))


_MOST = 1 << 15
_WORDS, _NAMES = _Words(), _Names()
