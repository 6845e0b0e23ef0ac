"""
What is still there when it is needed: what was said long ago and is used again now.

A probe is a moment of a real session at which the model uses a path, an identifier or a
number that was said before, though not lately. A window that still shows the name then has
kept what mattered; better still, if it shows the name among the words that stood around it.
So are a command that is run again as it was, and something the user wanted from there on in
whose words an answer speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from sash.core.message import Message, ToolCall
from sash.core.names import names_in
from sash.core.terms import terms_of
from sash.core.turn import wrote
from sash.core.wish import wishes_in
from sash.core.work import works_of

LATELY = 15
"""Messages: what was said within so many is still at hand in any window, and proves nothing."""
AROUND = 200
"""Characters before and after a name that are its setting."""
ENOUGH = 3
"""Words of its setting that must stand around a name again."""
PLACES = 8
"""Earlier places of a name whose settings count, the newest of them."""
OWN_TERMS = 3
SHARED = 0.5
"""An answer follows a wish in whose terms it speaks: at least so many, and such a share of them."""

_plain = re.compile(r"(?<![\w./-])[A-Za-z]{3,}(?![\w/-]|\.\w)")


class Probe(msgspec.Struct, frozen=True):
    """A name, a command or a wish that is used again."""

    name: str
    at: int
    """Position of the message that uses it."""
    settings: tuple[frozenset[str], ...] = ()
    """The words that stood around it, at each of its earlier places."""
    spelled: tuple[str, ...] = ()
    """Other ways to write it: as JSON does, or in other quotation marks."""


class Present(msgspec.Struct, frozen=True):
    """How many probes a request answers."""

    asked: int = 0
    named: int = 0
    """The name stands in the request."""
    in_setting: int = 0
    """And some of the words that stood around it stand around it again."""

    def __add__(self, other: Present) -> Present:
        return Present(self.asked + other.asked, self.named + other.named, self.in_setting + other.in_setting)


def probes_of(messages: Sequence[Message]) -> dict[int, list[Probe]]:
    """The probes of a session, by the position of the message that uses the name."""
    said: dict[str, list[int]] = {}
    texts: list[str] = []
    found: dict[int, list[Probe]] = {}
    for position, message in enumerate(messages):
        text = message.whole_text
        texts.append(text)
        names = names_in(text) if message.role != "system" else []
        if message.role == "assistant":
            again = [name for name in names if name in said and position - said[name][-1] > LATELY]
            if again:
                found[position] = [
                    Probe(name, position, tuple(around(name, texts[place]) for place in said[name][-PLACES:]))
                    for name in again
                ]
        for name in names:
            said.setdefault(name, []).append(position)
    return found


def commands_again(messages: Sequence[Message]) -> dict[int, list[Probe]]:
    """Commands that are run again, word for word, by the position of the message that does."""
    ran: dict[str, int] = {}
    found: dict[int, list[Probe]] = {}
    for position, message in enumerate(messages):
        calls = [block for block in message.blocks if type(block) is ToolCall]
        for command in [work.target for call in calls for work in works_of(call) if work.deed == "run"]:
            if position - ran.get(command, position) > LATELY:
                as_json = msgspec.json.encode(command).decode()[1:-1]
                found.setdefault(position, []).append(Probe(command, position, spelled=(as_json,)))
            ran[command] = position
    return found


def wishes_followed(messages: Sequence[Message]) -> dict[int, list[Probe]]:
    """
    What the user wanted from there on, by the position of an answer that speaks in its words, long after it was said.

    Each wish once a turn: that an answer follows it is a guess, and a long turn would repeat it.
    """
    wishes: dict[str, tuple[int, frozenset[str]]] = {}
    asked: dict[str, int] = {}
    found: dict[int, list[Probe]] = {}
    turn = 0
    for position, message in enumerate(messages):
        if wrote(message):
            turn += 1
            for wish in wishes_in(message.text):
                wishes[wish] = position, frozenset(terms_of(wish))
        elif message.role == "assistant":
            spoken = frozenset(terms_of(message.whole_text))
            for wish, (said, terms) in wishes.items():
                shared = len(terms & spoken)
                follows = shared >= OWN_TERMS and shared >= SHARED * len(terms)
                if follows and position - said > LATELY and asked.get(wish) != turn:
                    asked[wish] = turn
                    probe = Probe(wish, position, spelled=(wish.replace('"', "'"),))
                    found.setdefault(position, []).append(probe)
    return found


def present(probes: Iterable[Probe], request: str) -> Present:
    """Which of the probes a request answers."""
    asked = named = in_setting = 0
    for probe in probes:
        asked += 1
        if any(spelled in request for spelled in (probe.name, *probe.spelled)):
            named += 1
            here = around(probe.name, request)
            in_setting += any(len(here & setting) >= ENOUGH for setting in probe.settings)
    return Present(asked, named, in_setting)


def around(name: str, text: str) -> frozenset[str]:
    """The words around a name, wherever it stands. Other names do not count: a list of names is no setting."""
    words: set[str] = set()
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
        words.update(word.lower() for word in _plain.findall(before))
        words.update(word.lower() for word in _plain.findall(after))
        start = text.find(name, end + AROUND // 2)
    return frozenset(words)
