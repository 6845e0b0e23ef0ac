"""Names in a text: paths, identifiers, numbers. What later work would have to know again."""

from __future__ import annotations

import re
from functools import lru_cache

SHORTEST = 4
LONGEST = 120
"""Longer ones are keys, hashes and data: nobody types them again."""

_word = re.compile(r"[A-Za-z0-9_~$@][\w./~@-]{2,}\w")
_inside = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[_/]|\w\.\w")


def names_in(text: str) -> list[str]:
    """The names that stand in a text, each once, in the order in which they come."""
    return [word for word in dict.fromkeys(_word.findall(text)) if is_name(word)]


def words_in(text: str) -> list[str]:
    """All words that could be names: to look whether a name stands in a text, that is enough, and half the work."""
    return _word.findall(text)


@lru_cache(maxsize=1 << 16)
def is_name(word: str) -> bool:
    """Whether a word is more than a word of the language: a path, an identifier, a number of some length."""
    if not SHORTEST <= len(word) <= LONGEST:
        return False
    return word.isdigit() or _inside.search(word) is not None
