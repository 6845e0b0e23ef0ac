"""
Recalled turns: what left the window and bears on what the user says now.

Ranking is lexical, over postings: which message a term stands in, and how often. A rare
word counts more than a common one (BM25, without regard to length), and a message is lifted
by what stands right beside it, for an answer often lies next to the words it is asked with.
It costs what the postings of the input's own words cost. The block that comes of it is a
pure function of the log up to that input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec

from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.noted import called, clip
from sash.core.terms import REACH, message_terms, speaker_of, speaker_term, terms_of
from sash.core.told import Room

SATURATION = 1.2
"""BM25's k1: how soon saying a word once more adds nothing."""
NEIGHBOURS = 2
BESIDE = 0.4
"""What a message takes of the score of one beside it; of the next but one half of that."""
SPEAKER = 1.6
"""What a message of the one speaker who is named counts more."""
PASSAGE = 700
"""Characters of a message that are shown; of a longer one the lines that bear most on the input."""
BATCH = 48
"""Messages whose words are asked for at a time."""
ENOUGH = 24
"""Tokens: in less room no message is worth looking for."""
_COUNT_BITS = 8
"""Of a posting's number: how often the term stands there. Above them stands the message's number."""

TITLE = "Recalled from earlier turns:"

Gaps = tuple[tuple[int, int], ...]
"""Events after the one number and before the other that rewinds have taken out."""


class Posting(msgspec.Struct, frozen=True, gc=False):
    """A term stands in a message."""

    term: str
    position: int
    number: int
    """Of the message, counting messages only: neighbours differ by one."""
    count: int


def packed(number: int, count: int) -> int:
    """A message's number and a term's count in one, for a store that keeps one number with each posting."""
    return number << _COUNT_BITS | min(count, (1 << _COUNT_BITS) - 1)


def unpacked(value: int) -> tuple[int, int]:
    """The message's number, and the count."""
    return value >> _COUNT_BITS, value & (1 << _COUNT_BITS) - 1


class Asked(msgspec.Struct, frozen=True):
    """What an input is asked about: its terms, and the names in it that may be speakers'."""

    terms: tuple[str, ...]
    speakers: tuple[str, ...]

    @property
    def all_terms(self) -> tuple[str, ...]:
        """Everything whose postings are needed."""
        return (*self.terms, *self.speakers)


ASKED = REACH // 2 - 1
"""Characters from each end of an input: what is asked stands before what is pasted, or after it."""


def asked_in(message: Message) -> Asked:
    """The terms of an input, of a long one those of both ends. Results that it carries are none of the user's words."""
    text = message.text
    if len(text) > 2 * ASKED:
        text = f"{text[:ASKED]}\n{text[-ASKED:]}"
    words = text.split()
    names = [word.strip(".,;:!?\"'()[]").removesuffix("'s").removesuffix("\u2019s") for word in words]
    pairs = [f"{one} {other}" for one, other in pairwise(names)]
    speakers = [speaker_term(name) for name in (*names, *pairs) if name[:1].isupper()]
    return Asked(tuple(dict.fromkeys(terms_of(text))), tuple(dict.fromkeys(speakers)))


class Ranked(msgspec.Struct, frozen=True, gc=False):
    """A message that bears on an input."""

    number: int
    position: int
    """Of the message itself, or of the one beside it that has the words."""
    score: float
    words: tuple[str, ...] = ()
    """The terms it was found by; none where only its neighbours have them."""
    anchor: int = 0
    """Number of the message that stands at `position`."""


def rank(asked: Asked, postings: Iterable[Posting], *, total: int) -> list[Ranked]:
    """The messages that bear on an input, best first, from the postings of its terms; `total` messages were said."""
    by_term: dict[str, list[Posting]] = {}
    # In the order of the log, not in that in which they left: what is added up in another order is not quite the same.
    for posting in sorted(postings, key=lambda one: one.position):
        by_term.setdefault(posting.term, []).append(posting)
    scores: dict[int, float] = {}
    words: dict[int, list[str]] = {}
    places: dict[int, int] = {}
    for term in asked.terms:
        found = by_term.get(term, ())
        rarity = _rarity(len(found), total)
        for posting in found:
            gain = rarity * posting.count * (SATURATION + 1) / (posting.count + SATURATION)
            scores[posting.number] = scores.get(posting.number, 0.0) + gain
            words.setdefault(posting.number, []).append(term)
            places[posting.number] = posting.position
    named = [speaker for speaker in asked.speakers if speaker in by_term]
    if len(named) == 1:
        for posting in by_term[named[0]]:
            if posting.number in scores:
                scores[posting.number] *= SPEAKER
    return _with_neighbours(scores, words, places)


def _rarity(found: int, total: int) -> float:
    return math.log(1 + (max(total, found) - found + 0.5) / (found + 0.5))


def _with_neighbours(
    scores: Mapping[int, float], words: Mapping[int, Sequence[str]], places: Mapping[int, int]
) -> list[Ranked]:
    """Scores with what the messages beside give; a message without a word of its own is found by its neighbour."""
    lifted: dict[int, float] = {}
    anchors: dict[int, tuple[float, int]] = {}
    for number, score in scores.items():
        lifted[number] = lifted.get(number, 0.0) + score
        for distance in range(1, NEIGHBOURS + 1):
            gain = BESIDE * score / distance
            for beside in (number - distance, number + distance):
                lifted[beside] = lifted.get(beside, 0.0) + gain
                anchors[beside] = max(anchors.get(beside, (0.0, 0)), (gain, number))
    ranked = [
        Ranked(number, places[number], score, tuple(words[number]), number)
        if number in places
        else Ranked(number, places[anchors[number][1]], score, (), anchors[number][1])
        for number, score in lifted.items()
        if number >= 0
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.number))


class Remembered(msgspec.Struct, frozen=True):
    """A message that left, as recall shows it."""

    number: int
    position: int
    turn: int
    message: Message
    when: str = ""
    """When it was said, where the log knows."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """Why a message was recalled."""

    turn: int
    position: int
    score: float
    words: tuple[str, ...]


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside an input because it bears on it."""

    at: int
    """Position of the input."""
    text: str = ""
    tokens: int = 0
    hits: tuple[Hit, ...] = ()
    """In the order of the log."""


class Memory(Protocol):
    """Where a fold looks for what left."""

    def with_messages(self, left: Sequence[Remembered]) -> Memory:
        """The same, after some messages have left the window."""

    def without(self, rewound: Gaps) -> Memory:
        """The same, less what rewinds have taken out."""

    def postings(self, terms: Iterable[str]) -> Iterable[Posting]:
        """Where the terms stand."""

    def remember(self, ranked: Sequence[Ranked]) -> Mapping[int, Remembered]:
        """The messages that are asked for, by their numbers."""


Remember = Callable[[Sequence[Ranked]], Mapping[int, Remembered]]
"""The messages that are asked for, by their numbers; what may not be shown is left out."""


def recalled(asked: Asked, ranked: Sequence[Ranked], remember: Remember, room: Room, *, at: int) -> Recalled:
    """The best of what was found, within the room, in the order of the log, a tag a turn."""
    left = room.tokens - room.count(TITLE) - 1
    chosen: list[tuple[Ranked, Remembered, str]] = []
    tagged: set[int] = set()
    shown: set[int] = set()
    terms = frozenset(asked.terms)
    fitted = 0
    """The batch in which something had room the last time: where nothing has, what follows hardly bears on it more."""
    for first in range(0, len(ranked), BATCH):
        if left < ENOUGH or first - fitted > BATCH:
            break
        batch = ranked[first : first + BATCH]
        found = remember(batch)
        for one in batch:
            said = found.get(one.number)
            line = _line(said, terms) if said is not None else ""
            if said is None or not line or said.position in shown:
                continue
            cost = room.count(line) + 1 + (0 if said.turn in tagged else room.count(_tag(said)) + 1)
            if cost <= left:
                left -= cost
                tagged.add(said.turn)
                shown.add(said.position)
                chosen.append((one, said, line))
                fitted = first
    while chosen and not room.fits(text := _block(chosen)):
        # Counted as a whole it can be a little more than its lines: what was found last goes.
        chosen.pop()
    if not chosen:
        return Recalled(at=at)
    chosen.sort(key=_in_the_log)
    hits = tuple(
        Hit(turn=said.turn, position=said.position, score=round(one.score, 3), words=one.words)
        for one, said, _ in chosen
    )
    return Recalled(at=at, text=text, tokens=room.count(text), hits=hits)


def _in_the_log(each: tuple[Ranked, Remembered, str]) -> int:
    return each[1].position


def _block(chosen: Sequence[tuple[Ranked, Remembered, str]]) -> str:
    lines, turn = [TITLE], -1
    for _, said, line in sorted(chosen, key=_in_the_log):
        if said.turn != turn:
            lines.append(_tag(said))
            turn = said.turn
        lines.append(line)
    return "\n".join(lines)


def _tag(said: Remembered) -> str:
    return f"[turn {said.turn}{f', {said.when}' if said.when else ''}]"


def _line(said: Remembered, terms: frozenset[str]) -> str:
    """A message as it is shown: whole, or the part of it that bears most on the input."""
    told = []
    for block in said.message.blocks:
        match block:
            # What sash put in somebody's place, a tombstone, tells nothing.
            case Text(text) if text.strip() and not said.message.written_by_sash:
                role = "" if speaker_of(text) else f"{said.message.role}: "
                told.append(f"{role}{_passage(text, terms)}")
            case ToolCall():
                told.append(f"called {called(block)}")
            case ToolResult():
                text = "\n".join(part.text for part in block.content if type(part) is Text)
                if text.strip():
                    told.append(f"a tool gave: {_passage(text, terms)}")
    return "\n".join(told)


def _passage(text: str, terms: frozenset[str]) -> str:
    if len(text) <= PASSAGE:
        return " ".join(text.split())
    lines = [line for line in text.split("\n") if line.strip()]
    worth = [len(terms.intersection(terms_of(line))) for line in lines]
    best = sorted(range(len(lines)), key=lambda place: (-worth[place], place))
    kept: set[int] = set()
    room = PASSAGE
    for place in best:
        line = lines[place][:PASSAGE]
        if worth[place] and len(line) <= room:
            kept.add(place)
            room -= len(line)
    if not kept:
        return clip(text, PASSAGE)
    return " … ".join(" ".join(lines[place][:PASSAGE].split()) for place in sorted(kept))


class Segment(msgspec.Struct, frozen=True):
    """Messages that left together, by their numbers."""

    messages: dict[int, Remembered]
    terms: dict[int, dict[str, int]]
    """
    How often each term stands in each of them.

    Not turned round into postings: that takes several times as long as looking a few terms up in all of them, and
    most of a log that is folded at once is asked about once.
    """


class Archive(msgspec.Struct, frozen=True):
    """What left a window that nothing is stored of. Never changes: leaving makes a new one, which shares the old."""

    segments: tuple[Segment, ...] = ()

    def with_messages(self, left: Sequence[Remembered]) -> Archive:
        """The archive, with messages that left now."""
        if not left:
            return self
        segments = (*self.segments, segment_of(left))
        if len(segments) > MOST_SEGMENTS:
            segments = (_joined(segments),)
        return Archive(segments)

    def without(self, rewound: Gaps) -> Archive:  # noqa: ARG002 - only what is stored can be rewound
        """A window that nothing is stored of goes on only."""
        return self

    def postings(self, terms: Iterable[str]) -> Iterable[Posting]:
        """Where the terms stand."""
        wanted = frozenset(terms)
        for segment in self.segments:
            for number, counts in segment.terms.items():
                for term in wanted & counts.keys():
                    yield Posting(term, segment.messages[number].position, number, counts[term])

    def remember(self, ranked: Sequence[Ranked]) -> dict[int, Remembered]:
        """The messages of these numbers that are in it."""
        return {
            one.number: segment.messages[one.number]
            for one in ranked
            for segment in self.segments
            if one.number in segment.messages
        }


MOST_SEGMENTS = 32


def segment_of(left: Sequence[Remembered]) -> Segment:
    """Messages and their terms."""
    return Segment({said.number: said for said in left}, {said.number: message_terms(said.message) for said in left})


def _joined(segments: Sequence[Segment]) -> Segment:
    messages: dict[int, Remembered] = {}
    terms: dict[int, dict[str, int]] = {}
    for segment in segments:
        messages |= segment.messages
        terms |= segment.terms
    return Segment(messages, terms)
