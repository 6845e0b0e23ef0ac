"""
Facts: statements kept apart from the history, each with the turn it came from.

Given by the user (`remember`), found by code in what the user wrote, or by a model. A fact is
superseded, never edited: by one that says the opposite of it, or another value for the same
thing, and only where that is certain. Otherwise both stay, with their turns. Any of them can be
taken back (`forget`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

import msgspec

from sash.core.digest import quoted
from sash.core.message import Message, by_sash
from sash.core.terms import stem
from sash.core.tokens import TokenCount, total
from sash.core.told import Room
from sash.core.turn import wrote
from sash.core.wish import wishes_in
from sash.errors import FactsFull

Origin = Literal["given", "found", "model"]

FACTS = 200
"""Facts that are kept; superseded ones leave first, then the oldest that code found."""
TITLE = by_sash("facts kept apart from the history, with the turns they came from")


class Fact(msgspec.Struct, frozen=True):
    """One statement kept apart from the history."""

    seq: int
    """The event that it came with."""
    turn: int
    """The turn that it came from."""
    text: str
    origin: Origin = "given"
    superseded_by: int = 0
    """The event of the fact that took its place, or that took it back; 0: it stands."""
    place: int = 0
    """Which of the facts of that event it is."""

    def stands(self, before: int) -> bool:
        """Whether nothing had taken its place before an event of this number."""
        return not 0 < self.superseded_by < before


def facts_in(message: Message, *, seq: int, turn: int) -> list[Fact]:
    """What the user wants from here on, where code can tell."""
    if not wrote(message):
        return []
    wishes = enumerate(wishes_in(message.text))
    return [Fact(seq, turn, " ".join(wish.split()), "found", place=place) for place, wish in wishes]


def with_fact(facts: Sequence[Fact], new: Fact) -> list[Fact]:
    """The facts and one more, which takes the place of those it certainly contradicts or says again."""
    return [
        msgspec.structs.replace(fact, superseded_by=new.seq)
        if not fact.superseded_by and fact.seq < new.seq and _may(new, fact) and supersedes(new.text, fact.text)
        else fact
        for fact in facts
    ] + [new]


class Facts:
    """
    The facts of a log as it grows.

    What code finds in the user's words stands there in those words until they leave, so they
    are looked through when somebody asks: at a slide, mostly, and not while the user waits.
    """

    def __init__(self, known: Iterable[Fact] = ()) -> None:
        self._known = list(known)
        self._unread: list[tuple[Message, int, int]] = []
        """What the user said since, its event and its turn."""
        self.given = any(fact.origin != "found" for fact in self._known)
        """Whether there are any but those that code found: they stand with the input at once."""

    def copy(self) -> Facts:
        """Facts that go on by themselves from here."""
        twin = Facts.__new__(Facts)
        twin.__dict__.update(self.__dict__)
        twin._unread = self._unread[:]  # noqa: SLF001  # its own kind
        return twin

    def hear(self, message: Message, *, seq: int, turn: int) -> None:
        """The user has spoken."""
        self._unread.append((message, seq, turn))

    def add(self, fact: Fact) -> None:
        """One more, as if it came now."""
        self._known = with_fact(self.known(), fact)
        self.given = self.given or fact.origin != "found"

    def forget(self, forgotten: Collection[Fact], *, seq: int) -> None:
        """These stand no more, as of an event of this number."""
        self._known = [
            msgspec.structs.replace(fact, superseded_by=seq) if fact in forgotten else fact for fact in self.known()
        ]

    def known(self) -> list[Fact]:
        """All of them, in the order in which they came."""
        unread, self._unread = self._unread, []
        for message, seq, turn in unread:
            for fact in facts_in(message, seq=seq, turn=turn):
                self._known = with_fact(self._known, fact)
        return self._known

    def bound(self) -> None:
        """Only as many stay as are kept."""
        self._known = bounded(self.known())


def _may(new: Fact, old: Fact) -> bool:
    """A model does not take back what the user said."""
    return new.origin != "model" or old.origin == "model"


def bounded(facts: Sequence[Fact]) -> list[Fact]:
    """As many as are kept."""
    over = len(facts) - FACTS
    if over <= 0:
        return list(facts)
    expendable = sorted(facts, key=lambda fact: (not fact.superseded_by, fact.origin == "given", fact.seq))
    gone = {id(fact) for fact in expendable[:over]}
    return [fact for fact in facts if id(fact) not in gone]


_word = re.compile(r"[\w./-]+")
_AGAINST = frozenset("never not don't dont no without stop avoid mustn't mustnt isn't isnt aren't arent".split())
_POLITE = frozenset(
    "please always now from on just really also then ok okay do you should must we to the a an i".split()
)
_value = re.compile(r"\W*(.{3,60}?)\s+(?:is|are|=|:|lives in|runs on)\s+(\S.*)", re.IGNORECASE)


def supersedes(new: str, old: str) -> bool:
    """Whether a statement certainly takes the place of another: the same, its opposite, or another value."""
    if _meant(new) == _meant(old):
        return True
    one, other = _value.fullmatch(new), _value.fullmatch(old)
    return one is not None and other is not None and _meant(one[1]) == _meant(other[1])


def _meant(text: str) -> frozenset[str]:
    """The words that say what a statement is about, whether it is for it or against it."""
    plain = text.lower().replace("\u2019", "'").replace("don't", "not").replace("'", "")
    words = [word.strip(".-") for word in _word.findall(plain)]
    return frozenset(stem(word) for word in words if word not in _AGAINST and word not in _POLITE)


def facts_text(facts: Iterable[Fact], room: Room) -> str:
    """The facts that fit: given ones first, then the newest; in the order in which they came."""
    left = room.tokens - room.count(TITLE) - 1
    kept: list[tuple[Fact, str]] = []
    for fact in sorted(facts, key=lambda fact: (fact.origin != "given", -fact.seq)):
        line = line_of(fact)
        cost = room.count(line) + 1
        if cost <= left:
            left -= cost
            kept.append((fact, line))
    kept.sort(key=lambda pair: pair[0].seq)
    lines = [line for _, line in kept]
    while lines and not room.fits("\n".join([TITLE, *lines])):
        lines.pop(0)
    return "\n".join([TITLE, *lines]) if lines else ""


def check_room(facts: Sequence[Fact], count: Callable[[str], TokenCount], *, limit: int) -> None:
    """Refuses facts that have no room together: what somebody wants remembered must be told by every frame."""
    told = facts_text(facts, Room(limit, lambda text: count(text).value)).split("\n")
    lines = [line_of(fact) for fact in facts]
    if any(line not in told for line in lines):
        # Counted line by line it may be a little more, with the ends of the lines, or a little less.
        parts = total(map(count, lines)) + count(TITLE) + TokenCount(len(lines) + 1)
        whole = count("\n".join([TITLE, *lines]))
        tokens = max(parts, whole, key=lambda tokens: tokens.value)
        raise FactsFull(facts=len(facts), tokens=tokens, limit=limit)


def line_of(fact: Fact) -> str:
    """A fact with where it came from."""
    words = " ".join(fact.text.split())
    if fact.origin == "given":
        when = f"at turn {fact.turn}" if fact.turn >= 0 else "before the first turn"
        return f"- remembered {when}: {words}"
    if fact.origin == "found":
        return f"- turn {fact.turn}, the user: {quoted(words)}"
    return f"- turn {fact.turn}, as a model read it: {words}"
