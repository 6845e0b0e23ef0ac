"""Spoken words in brief: what was told, without what goes without saying."""

from __future__ import annotations

import re

from sash.core.terms import STOP, speaker_of

MOST = 200
REACH = 8_000
"""Characters of a text that are looked at: its beginning says what it is about, and a paste may be megabytes long."""
_sentence = re.compile(r"(?<=[.!?])\s+|\n+")
_word = re.compile(r"[\w'’./:-]+|[\[\]()]")
_FILLER = frozenset(
    "really so just too also well wow hey hi hello thanks thank yeah yes yep no nope ok okay oh great awesome "
    "nice cool amazing good glad sure totally definitely absolutely super lot lots much thing things something "
    "anything everything that's it's i'm i've i'll you're we're they're he's she's there's let's don't can't "
    "didn't isn't wasn't gonna wanna always still even quite pretty bit kind sort like get got going go know "
    "think feel make made one way time love hope happy keep up been being".split()
)
_TELLING = 2


def in_brief(text: str) -> str:
    """The words of a text that tell something, sentence by sentence; empty where none does."""
    text = text[:REACH]
    name = speaker_of(text)
    body = text.partition(f"{name}: ")[2] if name else text
    date = text.partition(f"{name}: ")[0] if name else ""
    told: list[str] = []
    length = 0
    for sentence in _sentence.split(body):
        if length > MOST:
            break
        if sentence.endswith("?"):
            continue
        words = [word for word in _word.findall(sentence) if not _goes_without_saying(word)]
        if len(words) >= _TELLING:
            told.append(" ".join(words).rstrip(".,;:"))
            length += len(told[-1]) + len("; ")
    said = "; ".join(told)[:MOST]
    return f"{date}{name}: {said}" if name and said else said


def _goes_without_saying(word: str) -> bool:
    plain = word.lower().replace("\u2019", "'").strip(".,;:!?'")
    return plain in STOP or plain in _FILLER or len(plain) < 2
