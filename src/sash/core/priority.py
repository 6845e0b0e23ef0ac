"""
How much a turn matters, and which results later work has made stale.

The scores are seed 001's, number for number, with their reasons kept. Beside them stand
signals that tell more about agents' work. All of it is looked at only when the window
slides, and costs what is in the window.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from sash.core.live import LiveTurn
from sash.core.message import Message, Opaque, Text, ToolCall, ToolResult
from sash.core.terms import speaker_of
from sash.core.turn import wrote
from sash.core.wish import has_any, is_correction, is_standing, own_words
from sash.core.work import AnsweredTurns, Outcome, Place, failing_among, outcomes, stale_among

Type = Literal["instruction", "tool-use", "response"]

BASE = 50
RECENCY = 30
"""What the newest message has over the first."""
FIRST_AT_LEAST = 90
LAST_AT_LEAST = 85
LAST = 5
"""So many of the newest messages score at least `LAST_AT_LEAST`."""
CAP = 100
"""Of the seed's scores."""
SPOKEN = 600
"""Characters: what is longer is a document, and has numbers anyway."""


class Score(msgspec.Struct, frozen=True):
    """What a turn is worth keeping: that of its best message."""

    value: int
    reasons: tuple[str, ...] = ()
    """How it came about, in order: `50 base`, `+10 instruction words`, `at least 90 first message`."""
    type: Type = "response"
    """Of the message that decided it."""


class Said(msgspec.Struct, frozen=True):
    """A message, with what its turn says about it: all that a signal may look at."""

    message: Message
    words: str
    """Its text."""
    stale: bool = False
    """Results of its turn that could go stale have all gone stale."""
    failing: bool = False
    """Its turn holds an error that nothing later has resolved."""


class Signal(msgspec.Struct, frozen=True):
    """Something that makes a turn matter more, or less."""

    name: str
    weight: int
    seen: Callable[[Said], bool]

    @property
    def reason(self) -> str:
        """As a score gives it: `+10 instruction words`."""
        return f"{self.weight:+} {self.name}"


def by_user(said: Said) -> bool:
    """The user wrote it: what is asked for matters more than what was done about it."""
    return wrote(said.message)


# Looked up word by word: an expression that ignores case takes seconds on a paste of megabytes.
_INSTRUCTION = (
    *("please", "could you", "i want", "let's", "we should"),
    *("change", "update", "fix", "add", "remove", "create", "delete"),
)
_CONCLUSION = ("decided", "conclusion", "result", "summary", "answer")
_line_end = re.compile(r"[\n\r\u2028\u2029]")


def instruction_words(said: Said) -> bool:
    """Seed 001's words of somebody who asks for something."""
    return has_any(said.words, _INSTRUCTION)


def conclusion_words(said: Said) -> bool:
    """Seed 001's words of somebody who has come to something."""
    return has_any(said.words, _CONCLUSION) or _says_what_is(said.words.lower())


def _says_what_is(words: str) -> bool:
    """Seed 001's `the .+ is` in one pass: on a line of megabytes the expression itself would take hours."""
    if "the " not in words or " is" not in words:
        return False
    for line in _line_end.split(words):
        start = line.find("the ")
        if start >= 0 and line.rfind(" is") > start + len("the "):
            return True
    return False


def pure_tool_chain(said: Said) -> bool:
    """More than three calls or results and not a word: little is said for the room it takes."""
    blocks = said.message.blocks
    return sum(map(_of_a_tool, blocks)) > 3 and not any(type(block) is Text for block in blocks)


def standing_instruction(said: Said) -> bool:
    """The user says how things are to be done from here on, not only now."""
    return wrote(said.message) and is_standing(own_words(said.words))


def correction(said: Said) -> bool:
    """The user says that something was wrong: what came before it must not come back."""
    return wrote(said.message) and is_correction(own_words(said.words))


def superseded_work(said: Said) -> bool:
    """All that its turn looked up was looked up again or overwritten later."""
    return said.stale


def unresolved_error(said: Said) -> bool:
    """The last time its turn's command was run, or its file written, that failed."""
    return said.failing


_when = re.compile(
    r"\d|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|yesterday|last|ago|"
    r"weeks?|months?|years?)\b"
)


def tells_when(said: Said) -> bool:
    """
    Somebody tells, among people talking, when something was, or how much: that is what they come back to.

    A stamp before the speaker's name tells nothing of what was said.
    """
    words = said.words
    if len(words) > SPOKEN or any(map(_of_a_tool, said.message.blocks)):
        return False
    name = speaker_of(words)
    return _when.search(words.partition(f"{name}: ")[2] if name else words) is not None


SEED = (
    Signal("user", 15, by_user),
    Signal("instruction words", 10, instruction_words),
    Signal("conclusion words", 10, conclusion_words),
    Signal("pure tool chain", -20, pure_tool_chain),
)
"""Seed 001's signals, with its weights."""

BESIDE = (
    Signal("standing instruction", 25, standing_instruction),
    Signal("correction", 15, correction),
    Signal("superseded work", -15, superseded_work),
    Signal("unresolved error", 15, unresolved_error),
    Signal("tells when or how much", 40, tells_when),
)
"""What tells more than the seed's words do; for every policy but the seed's own."""

SIGNALS = SEED + BESIDE


def scores_of(
    turns: Sequence[LiveTurn], total: int, system: int = 0, signals: Sequence[Signal] = SEED
) -> dict[int, Score]:
    """
    The priority of each turn of the window, by its number.

    Scores are seed 001's, one for each message; a turn has that of its best one, the
    earliest among equals. `total` messages are in the log, the first `system` of them its
    system prompt, which the seed does not count: a message's index is its position less
    `system`. Marks and the like keep their place in that count but are not scored.
    """
    done = outcomes(turns) if tuple(signals) != SEED else []
    stale = stale_among(done, _current(turns))
    failing = {outcome.turn for outcome in failing_among(done)}
    worked: dict[int, list[Outcome]] = {}
    for outcome in done:
        if outcome.works:
            worked.setdefault(outcome.turn, []).append(outcome)
    scores = {}
    for turn in turns:
        results = worked.get(turn.number, ())
        all_stale = bool(results) and all(outcome.place in stale for outcome in results)
        best = Score(0)
        for live in turn.messages():
            if live.message.role == "meta":
                continue
            said = Said(live.message, live.message.text, all_stale, turn.number in failing)
            score = _score(said, max(0, live.position - system), total - system, signals)
            if score.value > best.value:
                best = score
        scores[turn.number] = best
    return scores


def _score(said: Said, index: int, total: int, signals: Sequence[Signal]) -> Score:
    value, reasons = BASE, [f"{BASE} base"]
    for signal in signals:
        if signal.seen(said):
            value += signal.weight
            reasons.append(signal.reason)
    if recency := math.floor(index / total * RECENCY):
        value += recency
        reasons.append(f"{recency:+} recency")
    for applies, floor, name in (
        (index == 0, FIRST_AT_LEAST, "first message"),
        (index >= total - LAST, LAST_AT_LEAST, f"among the last {LAST} messages"),
    ):
        if applies and value < floor:
            value = floor
            reasons.append(f"at least {floor} {name}")
    if value > CAP and tuple(signals) == SEED:
        value = CAP
        reasons.append(f"at most {CAP}")
    kind: Type = "response"
    if wrote(said.message):
        kind = "instruction"
    elif any(map(_of_a_tool, said.message.blocks)):
        kind = "tool-use"
    return Score(value, tuple(reasons), kind)


def _of_a_tool(block: object) -> bool:
    if isinstance(block, Opaque):
        return bool(block.opens or block.closes)
    return isinstance(block, ToolCall | ToolResult)


def superseded(turns: Sequence[LiveTurn], known: AnsweredTurns | None = None) -> frozenset[Place]:
    """
    Position and block of each result in the window that later work has made stale.

    A file read is stale once exactly the same lines were read again or the file was
    written anew, or edited in a turn that is over: inside the current turn an edit leaves
    the read as the model's only view of the rest. A command's output is stale once the
    same command was run again. Work that failed makes nothing stale, except an earlier
    failure of the same command; neither does a read whose answer is so short that it may
    only say "unchanged".
    """
    return stale_among(outcomes(turns, known, before_window=False), _current(turns))


def _current(turns: Sequence[LiveTurn]) -> int:
    return turns[-1].number if turns else 0
