"""
Words as recall compares them: without regard to case and endings, the same on every store.

Stemming is light: it takes off what English puts at the end of words, and leaves other
languages alone. Scripts that put no spaces between words are cut into pairs of characters.
A path or an identifier counts as a whole and by its parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.redacted import TOMBSTONES

REACH = 8_000
"""Characters of one text that are looked at, from its beginning: a result can be megabytes."""
LONGEST = 64
"""Characters of a term."""

_PAIRED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_word = re.compile(rf"[{_PAIRED}]+|[^\W_{_PAIRED}]+")
_compound = re.compile(r"[a-z0-9_]+(?:[./_-][a-z0-9_]+)+")
_run = re.compile(rf"[{_PAIRED}]+")
_speaker = re.compile(r"\A(?:\([^)\n]{0,60}\) )?([A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30})?): ")

STOP = frozenset(
    "a an the and or but if of to in on at by for with about as is are was were be been being do does did done have "
    "has had i you he she it we they me him her us them my your his its our their this that these those there here "
    "what which who whom when where why how not no so than then too very can could would should will just from "
    "into over after before during between out up down again more most some any all each few other "
    "such only own same s t don now re ve ll d m".split()
)
"""Words that tell nothing apart."""


def terms_of(text: str) -> list[str]:
    """The terms of a text, as often as they stand in it."""
    low = text[:REACH].lower().replace("'s ", " ").replace("\u2019s ", " ")
    return " ".join(map(_TERMS.__getitem__, low.encode("utf-8", "surrogatepass").translate(_PARTED).split())).split()


# A text is cut into pieces in which words and compounds stand whole, at the speed of the machine.
_PARTED = bytes(code if code >= 128 or chr(code).isalnum() or chr(code) in "_./-" else ord(" ") for code in range(256))


class _Terms(dict[bytes, str]):
    """
    The terms of pieces seen lately, parted by spaces.

    Bounded, and only pure results, so it may be emptied at any time.
    """

    def __missing__(self, piece: bytes) -> str:
        terms = " ".join(_terms_in(piece.decode("utf-8", "surrogatepass")))
        if len(piece) <= LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[piece] = terms
        return terms


_MOST = 1 << 15
_TERMS = _Terms()


def _terms_in(piece: str) -> Iterator[str]:
    for word in _word.findall(piece):
        if word in STOP:
            continue
        if word.isascii():
            yield stem(word)
        elif _run.fullmatch(word):
            yield from (word[place : place + 2] for place in range(max(1, len(word) - 1)))
        else:
            yield word[:LONGEST]
    yield from (whole[:LONGEST] for whole in _compound.findall(piece))


def message_terms(message: Message) -> dict[str, int]:
    """
    How often each term stands in a message: said, called with, given back; and who speaks, where it says so.

    A tombstone has none: its message is not found by what stands in the place of its words.
    """
    counts: Counter[str] = Counter()
    for block in message.blocks:
        match block:
            case Text(text) if text not in TOMBSTONES:
                counts.update(terms_of(text))
                if name := speaker_of(text):
                    counts[speaker_term(name)] += 1
            case ToolCall():
                counts.update(terms_of(block.arguments.replace("\\n", "\n")))
            case ToolResult():
                for part in block.content:
                    if type(part) is Text and part.text not in TOMBSTONES:
                        counts.update(terms_of(part.text))
    return dict(counts)


def speaker_of(text: str) -> str:
    """Who speaks, where a text begins with a name and a colon; empty where it does not."""
    found = _speaker.match(text)
    return found[1] if found is not None else ""


def speaker_term(name: str) -> str:
    """Stands for all that somebody of this name said."""
    return f"@{name.lower()}"


_PLURALS = (("ies", "y"), ("sses", "ss"), ("es", "e"), ("s", ""))
_ENDINGS = (("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""), ("ation", "ate"), ("ment", ""))
_DOUBLING = ("ing", "ed")
_SHORTEST_STEM = 3


def stem(word: str) -> str:
    """A word without its endings."""
    if len(word) > LONGEST:
        return word[:LONGEST]
    if not word.endswith("ss"):
        word, _ = _without(word, _PLURALS)
    word, ending = _without(word, _ENDINGS)
    if ending in _DOUBLING and len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    if word.endswith("e") and len(word) > _SHORTEST_STEM:
        word = word[:-1]
    return f"{word[:-1]}y" if word.endswith("i") and len(word) > _SHORTEST_STEM else word


def _without(word: str, endings: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """A word without the first of these endings that it has, and that ending."""
    for ending, instead in endings:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)] + instead, ending
    return word, ""
