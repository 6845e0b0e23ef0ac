"""Names in a text: paths, identifiers, numbers. What later work would have to know again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import repeat

SHORTEST = 4
LONGEST = 120
"""Longer ones are keys, hashes and data: nobody types them again."""

_word = re.compile(r"[A-Za-z0-9_~$@][\w./~@-]{2,}\w")
_inside = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[_/]|\w\.\w")

# A text is cut into pieces in which words stand whole, at the speed of the machine. A piece in ASCII holds one word at
# the most: what is left of it without the signs that no word begins or ends with. What is not ASCII may stand in a
# word, so it never parts two pieces, and such a piece is looked into by the pattern.
_PARTED = bytes(
    code if code >= 128 or chr(code).isalnum() or chr(code) in "_./~@-$" else ord(" ") for code in range(256)
)
_NO_BEGINNING, _NO_END = b"./-", b"./~@-$"
_UTF8 = ("utf-8", "surrogatepass")


def names_in(text: str) -> list[str]:
    """The names that stand in a text, each once, in the order in which they come."""
    return [*filter(_NAMES.__getitem__, dict.fromkeys(_words(dict.fromkeys(_pieces(text)))))]


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """
    All words of some texts that could be names: to look whether a name stands there, that is enough.

    Shorter ones than any name are among them, since nobody asks for those.
    """
    pieces: set[bytes] = set()
    for text in texts:
        pieces.update(_pieces(text))
    return frozenset(_words(pieces))


def is_name(word: str) -> bool:
    """Whether a word is more than a word of the language: a path, an identifier, a number of some length."""
    if not SHORTEST <= len(word) <= LONGEST:
        return False
    return word.isdigit() or _inside.search(word) is not None


def _pieces(text: str) -> list[bytes]:
    # `$` only begins a word.
    return text.encode(*_UTF8).replace(b"$", b" $").translate(_PARTED).split()


def _words(pieces: Iterable[bytes]) -> list[str]:
    """The words of pieces in their order; with them, what is too short to be one."""
    joined = b" ".join(map(bytes.rstrip, map(bytes.lstrip, pieces, repeat(_NO_BEGINNING)), repeat(_NO_END)))
    if joined.isascii():
        return joined.decode().split()
    found: list[str] = []
    for piece in joined.decode(*_UTF8).split(" "):
        found += [piece] if piece.isascii() else _word.findall(piece)
    return found


class _Names(dict[str, bool]):
    """Which of the words seen lately are names: bounded, and only pure results, so it may be emptied at any time."""

    def __missing__(self, word: str) -> bool:
        found = is_name(word)
        if len(self) >= _MOST:
            self.clear()
        if len(word) <= LONGEST:
            self[word] = found
        return found


_MOST = 1 << 15
_NAMES = _Names()
