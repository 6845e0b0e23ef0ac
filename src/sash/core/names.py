"""Names in a text: paths, identifiers, numbers. What later work would have to know again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

SHORTEST = 4
LONGEST = 120
"""Longer ones are keys, hashes and data: nobody types them again."""
REMEMBERED = 12_000
"""Characters of a text whose names are remembered for a while: so that the memory of them is bounded."""

_word = re.compile(r"[A-Za-z0-9_~$@][\w./~@-]{2,}\w")
_inside = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|\w\.\w")

# A text is cut into pieces in which words stand whole, at the speed of the machine. A piece in ASCII holds one word at
# the most: what is left of it without the signs that no word begins or ends with. What is not ASCII may stand in a
# word, so it never parts two pieces, and such a piece is looked into by the pattern.
_PARTED = bytes(
    code if code >= 128 or chr(code).isalnum() or chr(code) in "_./~@-$" else ord(" ") for code in range(256)
)
_NO_BEGINNING, _NO_END = b"./-", b"./~@-$"
_UTF8 = ("utf-8", "surrogatepass")


def names_in(text: str) -> Sequence[str]:
    """
    The names that stand in a text, each once, in the order in which they come.

    Asked twice of most texts: what the window shows at one slide leaves it at a later one.
    """
    return _lately(text) if len(text) <= REMEMBERED else _found(text)


def _found(text: str) -> tuple[str, ...]:
    found = dict.fromkeys(filter(None, map(_NAMES.__getitem__, _pieces(text))))
    # Only what is not ASCII may hold several names in a piece.
    return tuple(found if text.isascii() else dict.fromkeys(" ".join(found).split()))


_lately = lru_cache(maxsize=1_024)(_found)


def is_name(word: str) -> bool:
    """Whether a word is more than a word of the language: a path, an identifier, a number of some length."""
    if not SHORTEST <= len(word) <= LONGEST:
        return False
    # What most names, and most words, are like is seen without the pattern.
    if "_" in word or "/" in word or word.isdigit():
        return True
    if word.isalpha() and word[1:].islower():
        return False
    return _inside.search(word) is not None


def _pieces(text: str) -> list[bytes]:
    # `$` only begins a word.
    return text.encode(*_UTF8).replace(b"$", b" $").translate(_PARTED).split()


class _Names(dict[bytes, str]):
    """
    The names in pieces seen lately, parted by spaces.

    Bounded, and only pure results, so it may be emptied at any time.
    """

    def __missing__(self, piece: bytes) -> str:
        if piece.isascii():
            word = piece.lstrip(_NO_BEGINNING).rstrip(_NO_END).decode()
            found = word if is_name(word) else ""
        else:
            found = " ".join(filter(is_name, _word.findall(piece.decode(*_UTF8))))
        if len(piece) <= LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[piece] = found
        return found


_MOST = 1 << 15
_NAMES = _Names()
