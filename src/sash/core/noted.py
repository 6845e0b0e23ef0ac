"""
Names that left the window, each with the line it stood in: what later work is most likely to need.

A name that the model called a tool with, or that somebody spoke of, comes back far more
often than one that merely stood in a tool's output; and the newer it is, the more often.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Literal, get_args

import msgspec

from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.names import names_in
from sash.core.work import works_of

Voice = Literal["asked", "said", "called", "given"]
"""Who named it: the user, the model in its words or in a call, a tool."""

A_TOOL = "a tool gave"
"""Where nothing is known of the call."""
NAMES = 300
"""Names that are kept; up to three times as many between two clearings."""
OF_A_RESULT = 100
"""New names of one result at the most, from both its ends: a listing must not push out all else."""
LINE = 160
"""Characters of a line."""
SOURCE = 80
HEAD, TAIL = 30_000, 5_000
"""Of a long text only its ends are looked at."""
FADING = 40
"""Messages after which a name is worth about 0.7 of what it was."""


class Noted(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A name, and where it stood."""

    line: str
    """The words around it, on one line."""
    source: str
    """Who said it, or what was called that gave it."""
    turn: int
    last: int
    """How many messages had left when it was last named."""
    asked: int = 0
    said: int = 0
    called: int = 0
    given: int = 0

    @property
    def quotable(self) -> str:
        """The line, unless a tool speaks in it as if it wanted to be obeyed."""
        from_tool = not (self.asked or self.said or self.called)
        return "" if from_tool and _talks_to_the_model.search(self.line) else self.line

    def worth(self, now: int) -> float:
        """How likely it is to be needed again, when so many messages have left."""
        return self.named * _fade(now, self.last)

    @property
    def named(self) -> float:
        """How often it was named, by whom."""
        return 3 * min(self.asked, 2) + 2 * min(self.said, 3) + 3 * min(self.called, 3) + _GIVEN * min(self.given, 4)


def note(table: dict[str, Noted], message: Message, *, turn: int, now: int, calls: dict[str, str]) -> None:
    """A message leaves: its names go into the table, which stays bounded. `calls` tells what each result belongs to."""
    for voice, source, text in _voices(message, calls):
        note_text(table, text, voice, source=source, turn=turn, now=now)


def note_text(table: dict[str, Noted], text: str, voice: Voice, *, source: str, turn: int, now: int) -> None:
    """A text leaves."""
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    asked, said, called, given = (int(voice == one) for one in _VOICES)
    names = names_in(text)
    new = [name for name in names if name not in table]
    if given and len(new) > OF_A_RESULT:
        passed_over = set(new[OF_A_RESULT // 2 : -OF_A_RESULT // 2])
        names, new = ([name for name in some if name not in passed_over] for some in (names, new))
    full = len(table) + len(new) > 3 * NAMES
    if full and len(new) > NAMES:
        # All are worth the same, so of so many only the first by name will stay: the rest need not be looked at.
        staying = set(sorted(new)[:NAMES])
        names = [name for name in names if name in table or name in staying]
    at, stood = 0, []
    for name in names:
        known = table.get(name)
        if known is not None and given:
            table[name] = Noted(
                known.line, known.source, known.turn, now, known.asked, known.said, known.called, known.given + 1
            )
            continue
        # Names come in the order in which they stand there.
        at = text.find(name, at)
        stood.append((name, at))
        if known is None:
            table[name] = Noted("", source, turn, now, asked, said, called, given)
        else:
            table[name] = Noted(
                "", source, turn, now, known.asked + asked, known.said + said, known.called + called, known.given
            )
    if full:
        _clear(table, now)
    for name, at in stood:
        entry = table.get(name)
        if entry is not None:
            # Only of names that stay: most of a long text's do not.
            table[name] = Noted(
                _line_around(name, text, at), source, turn, now, entry.asked, entry.said, entry.called, entry.given
            )


def _clear(table: dict[str, Noted], now: int) -> None:
    """Only what is worth the most stays."""
    fading: dict[int, float] = {}
    ranked = []
    for name, entry in table.items():
        last = entry.last
        fade = fading.get(last)
        if fade is None:
            fade = fading[last] = _fade(now, last)
        if entry.asked or entry.said or entry.called:
            ranked.append((-entry.named * fade, name))
        else:
            ranked.append((-_GIVEN * min(entry.given, 4) * fade, name))
    ranked.sort()
    for _, name in ranked[NAMES:]:
        del table[name]


_GIVEN = 0.3
"""What it is worth that a tool named something."""


def _fade(now: int, last: int) -> float:
    return math.sqrt(FADING / (FADING + now - last))


_VOICES: tuple[Voice, ...] = get_args(Voice)


def _voices(message: Message, calls: dict[str, str]) -> Iterator[tuple[Voice, str, str]]:
    for block in message.blocks:
        match block:
            case Text(text):
                if message.role == "assistant":
                    yield "said", "the model said", text
                elif message.role == "user":
                    yield "asked", "the user said", text
            case ToolCall():
                calls[block.id] = called(block)
                # What is written to a file has lines, tabs and quotes of its own, which JSON spells otherwise.
                plain = block.arguments.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
                yield "called", f"the model called {block.name}", plain
            case ToolResult():
                source = calls.pop(block.call_id, A_TOOL)
                for part in block.content:
                    if type(part) is Text:
                        yield "given", source, part.text


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


def _line_around(name: str, text: str, at: int) -> str:
    """The line in which a name stands, or as much of it as may be shown."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)]
    if len(line) <= LINE:
        return " ".join(line.split())
    first = max(0, min(at - start - (LINE - len(name)) // 2, len(line) - LINE))
    return " ".join(line[first : first + LINE].split())


def clip(text: str, length: int) -> str:
    """The beginning of a text on one line, marked where it goes on."""
    line = " ".join(text[: 2 * length].split())
    return line if len(line) <= length and len(text) <= 2 * length else line[: length - 1] + "…"
