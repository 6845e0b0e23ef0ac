"""
Names that left the window, each with the line it stood in: what later work is most likely to need.

A name that the model called a tool with, or that somebody spoke of, comes back far more
often than one that merely stood in a tool's output; and the newer it is, the more often.
So each voice has a table of its own, of a fixed size, and remembers as long as it is worth it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.names import names_in
from sash.core.work import works_of

Voice = Literal["given", "said", "called", "asked"]
"""Who names something: a tool, the model in its words or in a call, the user."""

A_TOOL = "a tool gave"
"""Where nothing is known of the call."""
OF_A_RESULT = 100
"""New names of one text of a tool at the most, from both its ends: a listing must not push out all else."""
LINE = 160
"""Characters of a line."""
SOURCE = 80
HEAD, TAIL = 8_000, 4_000
"""Of a long text only its ends are looked at."""
FADING = 40
"""Messages after which a name is worth about 0.7 of what it was."""


class Hearing(msgspec.Struct, frozen=True):
    """How a voice is listened to."""

    worth: float
    """What it is worth to be named by it once."""
    most: int
    """How often that adds up."""
    names: int
    """Names of it that are kept; up to three times as many between two clearings."""
    generation: int
    """
    Messages: its names are kept for one to two such generations.

    They fade so that older ones would hardly be told, and so nobody who comes to a long log has
    to look through all of it.
    """


HEARING: dict[Voice, Hearing] = {
    "given": Hearing(0.3, 4, 300, 128),
    "said": Hearing(2, 3, 200, 256),
    "called": Hearing(3, 3, 300, 256),
    "asked": Hearing(3, 2, 100, 1 << 62),
}


class Noted(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A name as one voice named it."""

    line: str
    """The words around it, on one line."""
    source: str
    """Who said it, or what was called that gave it."""
    turn: int
    last: int
    """How many messages had left when it was last named."""
    times: int = 1


class Table(msgspec.Struct, array_like=True):
    """What one voice named."""

    names: dict[str, Noted] = {}
    before: dict[str, Noted] = {}
    """In the generation before this one."""
    generation: int = 0

    def copy(self) -> Table:
        """A table that grows by itself."""
        return Table(self.names.copy(), self.before.copy(), self.generation)


class Known(msgspec.Struct, gc=False):
    """All that is known of a name."""

    noted: Noted
    """Where somebody last spoke of it, else where a tool first gave it."""
    last: int
    worth: float
    from_tool: bool

    @property
    def quotable(self) -> str:
        """The line, unless a tool speaks in it as if it wanted to be obeyed."""
        line = self.noted.line
        return "" if self.from_tool and _talks_to_the_model.search(line) else line


class Names(msgspec.Struct):
    """The names that left, by who named them."""

    given: Table = msgspec.field(default_factory=Table)
    said: Table = msgspec.field(default_factory=Table)
    called: Table = msgspec.field(default_factory=Table)
    asked: Table = msgspec.field(default_factory=Table)

    def table(self, voice: Voice) -> Table:
        """What this voice named."""
        table: Table = getattr(self, voice)
        return table

    def copy(self) -> Names:
        """Names that grow by themselves."""
        return Names(**{voice: self.table(voice).copy() for voice in _VOICES})

    def __bool__(self) -> bool:
        return any(self.table(voice).names or self.table(voice).before for voice in _VOICES)

    def known(self, now: int) -> dict[str, Known]:
        """Each name, and how likely it is to be needed again, when so many messages have left."""
        every: dict[str, Known] = {}
        fading = _Fading(now)
        for voice in _VOICES:
            hearing, table = HEARING[voice], self.table(voice)
            worth_once, most, before = hearing.worth, hearing.most, table.before
            for name, last in table.names.items() if not before else (before | table.names).items():
                times, first = last.times, last
                if name in before and before[name] is not last:
                    first = before[name]
                    times += first.times
                worth = worth_once * min(most, times)
                known = every.get(name)
                if voice == "given":
                    every[name] = Known(first, last.last, worth, from_tool=True)
                elif known is None:
                    every[name] = Known(last, last.last, worth, from_tool=False)
                else:
                    known.worth += worth
                    if known.from_tool or last.last >= known.noted.last:
                        known.noted, known.from_tool = last, False
                    known.last = max(known.last, last.last)
        for known in every.values():
            known.worth *= fading[known.last]
        return every


class Noting:
    """
    Looks for names in what leaves, and writes them into their tables.

    `until` is how many messages will have left in the end: what will have been forgotten by then is not looked at.
    """

    def __init__(self, names: Names, *, until: int) -> None:
        self._names, self._until = names, until
        # Lines are taken in the end, of those names that stay: most of a long text's do not.
        self._texts: dict[Voice, dict[str, str]] = {voice: {} for voice in _VOICES}

    def message(self, message: Message, *, turn: int, now: int, calls: Mapping[str, ToolCall]) -> None:
        """A message leaves, as the last of so many; `calls` are those that results may belong to."""
        for block in message.blocks:
            match block:
                case Text(text):
                    if message.role == "assistant":
                        self._speaks("said", text, Noted("", "the model said", turn, now))
                    elif message.role == "user":
                        self._speaks("asked", text, Noted("", "the user said", turn, now))
                case ToolCall():
                    self._speaks("called", block.arguments, Noted("", f"the model called {block.name}", turn, now))
                case ToolResult():
                    self.result(block, calls.get(block.call_id), turn=turn, now=now)

    def result(self, result: ToolResult, call: ToolCall | None, *, turn: int, now: int) -> None:
        """A result leaves, or is shown in part only, when so many messages have left."""
        table = self._table("given", now)
        if table is None:
            return
        entry = Noted("", called(call) if call is not None else A_TOOL, turn, now)
        for part in result.content:
            if type(part) is Text:
                self._gives(table.names, _ends(part.text), entry)

    def finish(self) -> None:
        """Nothing more leaves."""
        for voice in _VOICES:
            self._table(voice, self._until)
            _take_lines(self._names.table(voice).names, self._texts[voice])

    def _table(self, voice: Voice, now: int) -> Table | None:
        """The table of the generation that this is in; None where it will have been forgotten in the end."""
        hearing, table = HEARING[voice], self._names.table(voice)
        generation = now // hearing.generation
        if generation < self._until // hearing.generation - 1:
            return None
        if generation != table.generation:
            _take_lines(table.names, self._texts[voice])
            if generation == table.generation + 1:
                _clear(table.names, hearing, generation * hearing.generation)
                table.before = table.names
            else:
                table.before = {}
            table.names, table.generation = {}, generation
        return table

    def _speaks(self, voice: Voice, text: str, entry: Noted) -> None:
        """Somebody speaks of names: the line is where they last did."""
        table = self._table(voice, entry.last)
        if table is None:
            return
        if voice == "called":
            # What is written to a file has lines, tabs and quotes of its own, which JSON spells otherwise.
            text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        names, text = table.names, _ends(text)
        named = names_in(text)
        for name in named:
            known = names.get(name)
            if known is not None:
                names[name] = Noted("", entry.source, entry.turn, entry.last, known.times + 1)
            else:
                names[name] = entry
        self._texts[voice].update(dict.fromkeys(named, text))
        _clear_many(names, HEARING[voice], entry.last)

    def _gives(self, names: dict[str, Noted], text: str, entry: Noted) -> None:
        """A tool gives names: the line is where it first did."""
        named = names_in(text)
        new = [name for name in named if name not in names]
        if len(new) < len(named):
            for name in named:
                known = names.get(name)
                if known is not None:
                    names[name] = Noted(known.line, known.source, known.turn, entry.last, known.times + 1)
        if len(new) > OF_A_RESULT:
            new[OF_A_RESULT // 2 : -OF_A_RESULT // 2] = []
        names.update(dict.fromkeys(new, entry))
        self._texts["given"].update(dict.fromkeys(new, text))
        _clear_many(names, HEARING["given"], entry.last)


_VOICES: tuple[Voice, ...] = get_args(Voice)
_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./~@-")
"""Before one of these no name begins."""


def _ends(text: str) -> str:
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def _take_lines(names: dict[str, Noted], texts: dict[str, str]) -> None:
    """Each name that stayed gets the line that it first stands in."""
    before, start, end, whole = "", 0, 0, ""
    for name, text in texts.items():
        entry = names.get(name)
        if entry is None:
            continue
        at = _place_of(name, text)
        if text is not before or not start <= at < end:
            before, start, end = text, text.rfind("\n", 0, at) + 1, text.find("\n", at)
            end = end if end >= 0 else len(text)
            whole = " ".join(text[start:end].split()) if end - start <= LINE else ""
        # Names that stand in one line share it.
        line = whole or _line_around(name, text[start:end], at - start)
        names[name] = Noted(line, entry.source, entry.turn, entry.last, entry.times)
    texts.clear()


def _place_of(name: str, text: str) -> int:
    """Where a name first stands in a text by itself, and not in a longer one."""
    first = at = text.find(name)
    while at >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        if text[at - 1 : at] not in _IN_NAMES and not after.isalnum() and after != "_":
            return at
        at = text.find(name, at + 1)
    return first


def _clear_many(names: dict[str, Noted], hearing: Hearing, now: int) -> None:
    if len(names) > 3 * hearing.names:
        _clear(names, hearing, now)


def _clear(names: dict[str, Noted], hearing: Hearing, now: int) -> None:
    """Only what is worth the most stays; of what is worth the same, what comes first in the alphabet."""
    if len(names) <= hearing.names:
        return
    fading, most = _Fading(now), hearing.most
    worths: list[float] = []
    before, worth = None, 0.0
    for entry in names.values():
        # Nearly all names of one text share their entry.
        if entry is not before:
            before, worth = entry, fading[entry.last] * min(most, entry.times)
        worths.append(worth)
    # Numbers are quickly put in order; of names only those that are worth as much as the last that stays.
    ranked = sorted(worths, reverse=True)
    least = ranked[hearing.names - 1]
    level = sorted(name for name, worth in zip(names, worths, strict=True) if worth == least)
    leaving = set(level[hearing.names - ranked.index(least) :])
    for name, worth in zip([*names], worths, strict=True):
        if worth < least or name in leaving:
            del names[name]


class _Fading(dict[int, float]):
    """What is left of a name's worth, by when it was last named."""

    def __init__(self, now: int) -> None:
        self._now = now

    def __missing__(self, last: int) -> float:
        faded = self[last] = math.sqrt(FADING / (FADING + self._now - last))
        return faded


def called(call: ToolCall) -> str:
    """What a call does, in few words."""
    works = works_of(call)
    target = ", ".join(work.target for work in works) if works else call.arguments
    verb = works[0].deed if works else call.name
    return f"{verb} {clip(target, SOURCE)}"


_talks_to_the_model = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|instruction|rule|prompt)
    | \b(?:you|assistant|agent|model|ai)\s+(?:must|should|shall|are\s+now|will\s+now|need\s+to|have\s+to)\b
    | \b(?:always|never|from\s+now\s+on|do\s+not\s+tell|important\s*:|instructions?\s*:)
    | \bnote\s+to\s+(?:the\s+)?(?:ai|model|assistant)\b
    | \b(?:summary|summaries|memory|remember|digest|system\s*prompt|new\s+rule|new\s+task)\b
    | ^\W*(?:system|assistant|user|human|developer)\b\s*[:>\]] | </?(?:system|user|assistant|instruction|human)
    | \[sash | <\|
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""How text of a tool speaks when it wants to be obeyed. Such a line is not quoted: its names are, bare."""


def _line_around(name: str, line: str, at: int) -> str:
    """As much of a long line around a name as may be shown."""
    first = max(0, min(at - (LINE - len(name)) // 2, len(line) - LINE))
    return " ".join(line[first : first + LINE].split())


def clip(text: str, length: int) -> str:
    """The beginning of a text on one line, marked where it goes on."""
    line = " ".join(text[: 2 * length].split())
    return line if len(line) <= length and len(text) <= 2 * length else line[: length - 1] + "…"
