"""What the turns really say: what a summary's lines are held against."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cached_property

from sash.core.message import Document, Message, Text, Thinking, ToolCall, ToolResult
from sash.core.turn import wrote
from sash.summarize.transcript import SaidTurn

_spelled = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " ", "‑": "-"})
_thousands = re.compile(r"(?<=\d)[,_'\u2009](?=\d{3}\b)")
_words = re.compile(r"[^\W\d_]{2,}")
STEM = 5
SHORTEST = 4


def plain(text: str) -> str:
    """A text without what may be spelled in several ways: white space, quotation marks, dashes, thousands."""
    return _thousands.sub("", " ".join(unicodedata.normalize("NFC", text).translate(_spelled).split()))


def stems(text: str) -> set[str]:
    """The beginnings of a text's longer words; of scripts that do not space their words, pairs of letters."""
    found: set[str] = set()
    for word in _words.findall(text.casefold()):
        if word.isascii():
            if len(word) >= SHORTEST:
                found.add(word[:STEM])
        else:
            found.update(word[place : place + 2] for place in range(len(word) - 1))
            if len(word) >= SHORTEST:
                found.add(word[:STEM])
    return found


class Words:
    """What was said in a turn, by whom."""

    def __init__(self, turn: SaidTurn) -> None:
        user: list[str] = []
        assistant: list[str] = []
        everything: list[str] = []
        for message in turn.messages:
            if message.written_by_sash:
                continue
            (user if wrote(message) else assistant if message.role == "assistant" else []).append(message.text)
            everything += _all_words(message)
        self._user, self._assistant, self._everything = "\n".join(user), "\n".join(assistant), "\n".join(everything)

    @cached_property
    def user(self) -> str:
        """The user's own words."""
        return plain(self._user)

    @cached_property
    def everything(self) -> str:
        """All words, those of tools too."""
        return plain(self._everything)

    @cached_property
    def user_stems(self) -> set[str]:
        """Of the user's own words."""
        return stems(self._user)

    @cached_property
    def spoken_stems(self) -> set[str]:
        """Of what user and assistant said, without tools."""
        return self.user_stems | stems(self._assistant)

    @cached_property
    def all_stems(self) -> set[str]:
        """Of everything."""
        return stems(self._everything)


Evidence = Callable[[int], Words | None]
"""What was said in a turn; None where there is no such turn."""


def _all_words(message: Message) -> list[str]:
    found = []
    for block in message.blocks:
        match block:
            case Text(text) | Thinking(text):
                found.append(text)
            case ToolCall(name=name, arguments=arguments):
                # Inside of JSON a line break is written as two signs.
                found += [name, arguments, arguments.replace("\\n", "\n").replace('\\"', '"')]
            case ToolResult(content=content):
                found += [part.text for part in content if type(part) is Text]
            case Document(title=title):
                found.append(title)
            case _:
                continue
    return found
