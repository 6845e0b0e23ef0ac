"""Characters: what may go to a terminal as it is, how wide it is there, and whether there is more than ASCII."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import TextIO

# C0 and C1 controls, DEL, separators of lines, and what turns the direction of writing: a transcript may hold anything,
# and a terminal obeys some of it.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def clean(text: str) -> str:
    """The text in one line, with everything that a terminal would obey shown as its escape."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_escaped, text)


def clean_lines(text: str) -> list[str]:
    """A text over several lines, each of them clean; tabs are eight columns."""
    return [clean(line.expandtabs()) for line in text.replace("\r\n", "\n").split("\n")]


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def columns_of(text: str) -> int:
    """How many columns it takes: most characters one, Chinese and emoji two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(width_of(character) for character in text)


@lru_cache(1 << 12)
def width_of(character: str) -> int:
    """Columns of one character."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def speaks_ascii(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """
    Whether only ASCII may be shown: the stream has nothing else, or the locale is C.

    Python makes UTF-8 of the C locale, silently: it sets `LC_CTYPE` itself, so that one
    alone says nothing.
    """
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
    if not encoding.startswith("utf"):
        return True
    whole = environment.get("LC_ALL", "")
    if whole:
        return whole in _BARE
    own = environment.get("LC_CTYPE", "")
    if own and own not in ("C.UTF-8", "C.utf8", "UTF-8"):
        return own in _BARE
    return environment.get("LANG", "") in _BARE


_BARE = frozenset({"C", "POSIX"})
