"""
Names that left the window, each with the line it stood in: what later work is most likely to need.

A name that the model called a tool with, or that somebody spoke of, comes back far more
often than one that merely stood in a tool's output; and the newer it is, the more often.
So each voice has a table of its own, of a fixed size, and remembers as long as it is worth it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Literal, get_args

import msgspec

from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.names import names_in
from sash.core.shorter import unmarked
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

    def since(self, until: int) -> int:
        """The message from which on names are still known when so many have left."""
        return max(0, until // self.generation - 1) * self.generation


HEARING: dict[Voice, Hearing] = {
    "given": Hearing(0.3, 4, 300, 128),
    "said": Hearing(2, 3, 100, 256),
    "called": Hearing(3, 3, 200, 256),
    "asked": Hearing(3, 2, 60, 1_024),
}


class Noted(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where somebody named something: at first all names of one text share it."""

    line: str
    """The words around it, on one line."""
    source: str
    """Who said it, or what was called that gave it."""
    turn: int
    last: int
    """How many messages had left when it was said."""
    text: str = ""
    """What it stood in, until its line is taken: of most names nobody ever asks for it."""

    def read(self, name: str) -> Noted:
        """The same with the line that the name first stands in."""
        return Noted(_line_of(name, self.text), self.source, self.turn, self.last) if self.text else self


_last = attrgetter("last")


class Heard(msgspec.Struct, array_like=True):
    """What one voice named, for a while."""

    names: dict[str, Noted] = {}
    times: dict[str, int] = {}
    """Of those that were named more than once."""
    last: dict[str, int] = {}
    """How many messages had left when it was last named, where that is not what stands with its line."""

    def copy(self) -> Heard:
        """What was heard, growing by itself."""
        return Heard(self.names.copy(), self.times.copy(), self.last.copy())

    def add(self, named: Sequence[str], entry: Noted, *, first: bool) -> None:
        """Names that were heard once more; with `first` the line stays where each was first named."""
        names, times = self.names, self.times
        again = [name for name in named if name in names]
        if first and again:
            self.last.update(dict.fromkeys(again, entry.last))
            named = [name for name in named if name not in names]
        names.update(dict.fromkeys(named, entry))
        for name in again:
            times[name] = times.get(name, 1) + 1

    def clear(self, hearing: Hearing, now: int) -> None:
        """Only what is worth the most stays; of what is worth the same, what comes first in the alphabet."""
        names, most = self.names, hearing.most
        if len(names) <= hearing.names:
            return
        fading = _Fading(now)
        worths = dict(zip(names, map(fading.__getitem__, map(_last, names.values())), strict=True))
        for name, last in self.last.items():
            worths[name] = fading[last]
        for name, times in self.times.items():
            worths[name] *= min(most, times)
        # Numbers are quickly put in order; of names only those that are worth as much as the last that stays.
        ranked = sorted(worths.values(), reverse=True)
        least = ranked[hearing.names - 1]
        level = sorted(name for name, worth in worths.items() if worth == least)
        leaving = set(level[hearing.names - ranked.index(least) :])
        self.names = {
            name: entry
            for (name, entry), worth in zip(names.items(), worths.values(), strict=True)
            if worth >= least and name not in leaving
        }
        self.times = {name: count for name, count in self.times.items() if name in self.names}
        self.last = {name: count for name, count in self.last.items() if name in self.names}

    def read(self) -> None:
        """Each name gets its line, and what it stood in is let go."""
        self.names = {name: entry.read(name) for name, entry in self.names.items()}

    def lasts(self) -> dict[str, int]:
        """How many messages had left when each was last named, in the order of the names."""
        return dict(zip(self.names, map(_last, self.names.values()), strict=True)) | self.last


class Table(msgspec.Struct, array_like=True):
    """What one voice named in this generation and the one before."""

    now: Heard = msgspec.field(default_factory=Heard)
    before: Heard = msgspec.field(default_factory=Heard)
    generation: int = 0

    def copy(self) -> Table:
        """A table that grows by itself."""
        return Table(self.now.copy(), self.before.copy(), self.generation)

    def both(self) -> Heard:
        """Both generations in one; a name of both with the line that was heard last."""
        now, before = self.now, self.before
        if not before.names:
            return now
        heard = Heard(before.names | now.names, before.times | now.times, before.last | now.last)
        for name in before.names.keys() & now.names.keys():
            heard.times[name] = before.times.get(name, 1) + now.times.get(name, 1)
            heard.last[name] = now.last.get(name, now.names[name].last)
        return heard

    def last(self, name: str) -> int:
        """How many messages had left when a name of it was last named."""
        heard = self.now if name in self.now.names else self.before
        return heard.last.get(name, heard.names[name].last)


class Known(msgspec.Struct, gc=False):
    """All that is known of a name."""

    noted: Noted
    """Where somebody last spoke of it, else where a tool first gave it."""
    last: int
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

    def read(self) -> None:
        """Nothing is needed any more of the texts in which they stood."""
        for voice in _VOICES:
            self.table(voice).before.read()
            self.table(voice).now.read()

    def __bool__(self) -> bool:
        return any(self.table(voice).now.names or self.table(voice).before.names for voice in _VOICES)

    def worths(self, now: int) -> dict[str, float]:
        """How likely each name is to be needed again, when so many messages have left."""
        worths: dict[str, float] = {}
        last: dict[str, int] = {}
        for voice in _VOICES:
            hearing, heard = HEARING[voice], self.table(voice).both()
            once, most, lasts = hearing.worth, hearing.most, heard.lasts()
            named = dict.fromkeys(heard.names, once)
            named |= {name: once * min(most, times) for name, times in heard.times.items()}
            for name in named.keys() & worths.keys():
                named[name] += worths[name]
                lasts[name] = max(lasts[name], last[name])
            worths |= named
            last |= lasts
        fading = _Fading(now)
        return {name: worth * fading[last[name]] for name, worth in worths.items()}

    def known(self, name: str) -> Known:
        """What is known of one of them."""
        known: Known | None = None
        for voice in _VOICES:
            table = self.table(voice)
            before, noted = table.before.names.get(name), table.now.names.get(name)
            if voice == "given":
                if first := before or noted:
                    known = Known(first, table.last(name), from_tool=True)
            elif newest := noted or before:
                last = table.last(name)
                if known is None:
                    known = Known(newest, last, from_tool=False)
                else:
                    if known.from_tool or last >= known.noted.last:
                        known.noted, known.from_tool = newest, False
                    known.last = max(known.last, last)
        if known is None:
            raise KeyError(name)
        known.noted = known.noted.read(name)
        return known


class Noting:
    """
    Looks for names in what leaves, and writes them into their tables.

    `until` is how many messages will have left in the end: what will have been forgotten by then is not looked at.
    """

    def __init__(self, names: Names, *, until: int) -> None:
        self._names, self._until = names, until
        self._since = min(hearing.since(until) for hearing in HEARING.values())
        """Before it nothing is looked at."""

    def messages(self, said: Sequence[Message], *, turn: int, first: int) -> None:
        """Messages of a turn leave in a row; before the first of them, one less than its number had left."""
        if first + len(said) <= self._since:
            return
        calls: dict[str, ToolCall] = {}
        for now, message in enumerate(said, first):
            for block in message.blocks:
                match block:
                    case Text(text):
                        if message.role == "assistant":
                            self._speaks("said", text, "the model said", turn, now)
                        elif message.role == "user":
                            self._speaks("asked", text, "the user said", turn, now)
                    case ToolCall():
                        calls[block.id] = block
                        self._speaks("called", block.arguments, f"the model called {block.name}", turn, now)
                    case ToolResult():
                        self.result(block, calls.get(block.call_id), turn=turn, now=now)

    def result(self, result: ToolResult, call: ToolCall | None, *, turn: int, now: int) -> None:
        """A result leaves, or is shown in part only, when so many messages have left: tools give names."""
        table = self._table("given", now)
        if table is None:
            return
        source = called(call) if call is not None else A_TOOL
        for part in result.content:
            if type(part) is Text:
                text = _ends(unmarked(part.text))
                named, known = names_in(text), table.now.names
                new = [name for name in named if name not in known]
                if len(new) > OF_A_RESULT:
                    left_out = set(new[OF_A_RESULT // 2 : -OF_A_RESULT // 2])
                    named = [name for name in named if name not in left_out]
                self._hear("given", named, Noted("", source, turn, now, text))

    def finish(self) -> None:
        """Nothing more leaves."""
        for voice in _VOICES:
            self._table(voice, self._until)

    def _table(self, voice: Voice, now: int) -> Table | None:
        """The table of the generation that this is in; None where it will have been forgotten in the end."""
        hearing, table = HEARING[voice], self._names.table(voice)
        if now < hearing.since(self._until):
            return None
        generation = now // hearing.generation
        if generation != table.generation:
            table.now.clear(hearing, generation * hearing.generation)
            table.before = table.now if generation == table.generation + 1 else Heard()
            table.now, table.generation = Heard(), generation
        return table

    def _speaks(self, voice: Voice, text: str, source: str, turn: int, now: int) -> None:
        """Somebody speaks of names."""
        if self._table(voice, now) is None:
            return
        if voice == "called":
            # What is written to a file has lines, tabs and quotes of its own, which JSON spells otherwise.
            text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        text = _ends(text)
        self._hear(voice, names_in(text), Noted("", source, turn, now, text))

    def _hear(self, voice: Voice, named: Sequence[str], entry: Noted) -> None:
        """Of what a tool gives the line is where it first did, of what somebody speaks of where they last did."""
        if named:
            hearing, heard = HEARING[voice], self._names.table(voice).now
            heard.add(named, entry, first=voice == "given")
            if len(heard.names) > 3 * hearing.names:
                heard.clear(hearing, entry.last)


_VOICES: tuple[Voice, ...] = get_args(Voice)
_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./~@-")
"""Before one of these no name begins."""


def _ends(text: str) -> str:
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def _line_of(name: str, text: str) -> str:
    """The line that a name first stands in; of a long one, what is around it."""
    at = _place_of(name, text)
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    end = end if end >= 0 else len(text)
    if end - start > LINE:
        start = max(start, min(at - (LINE - len(name)) // 2, end - LINE))
        end = start + LINE
    return " ".join(text[start:end].split())


def _place_of(name: str, text: str) -> int:
    """Where a name first stands in a text by itself, and not in a longer one."""
    first = at = text.find(name)
    while at >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        if text[at - 1 : at] not in _IN_NAMES and not after.isalnum() and after != "_":
            return at
        at = text.find(name, at + 1)
    return first


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


def clip(text: str, length: int) -> str:
    """The beginning of a text on one line, marked where it goes on."""
    line = " ".join(text[: 2 * length].split())
    return line if len(line) <= length and len(text) <= 2 * length else line[: length - 1] + "…"
