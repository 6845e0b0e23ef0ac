"""Turns: from a message the user wrote up to the next one. The window's unit, in or out as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from sash.core.aside import as_typed, is_aside, without_tags
from sash.core.message import Message, Opaque, Text, ToolResult
from sash.core.redacted import TOMBSTONES, stood_for_the_user
from sash.errors import NotFound

State = Literal["open", "complete", "interrupted"]

SYSTEM = -1
"""Stands for a turn's number where a message is part of the system prompt."""

TITLE_LENGTH = 40
CUT = "…"
"""Ends a title of which the line says more."""
_TITLE_REACH = 1_000
_tag_alone = re.compile(r"<[A-Za-z][^<>\n]*>[ \t]*\n")


class Step(msgspec.Struct, frozen=True, gc=False):
    """Inside a turn: what the assistant said in one go, with all results of its calls."""

    messages: tuple[int, ...]
    """Positions in the log."""


class Turn(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One request of the user's and all that was done about it."""

    number: int
    """From 1; 0 is what was said before the user first spoke."""
    title: str
    opening: tuple[int, ...]
    """Positions of the user's message and of what else precedes the first step."""
    steps: tuple[Step, ...] = ()
    state: State

    @property
    def messages(self) -> tuple[int, ...]:
        """Positions of all its messages, in the order they are sent."""
        return self.opening + tuple(position for step in self.steps for position in step.messages)


class Placed(msgspec.Struct, frozen=True, gc=False):
    """Where a message belongs."""

    turn: int
    starts: bool = False
    """It starts that turn."""
    request_point: bool = False
    """A request may follow it: the user spoke or a step's last result arrived, and no call is open."""
    new_step: bool = False
    """It starts a step of that turn."""


class Placing(msgspec.Struct):
    """
    Tells of each message as it comes which turn it belongs to.

    A result goes to the turn of its call, also when the user has spoken since: words
    said while calls are open start their turn after that step's results.
    """

    length: int = 0
    """The place of the next message in the log."""
    turn: int | None = None
    """Number of the newest turn; None before anything but the system prompt was said."""
    taken: int = 0
    """The highest number that a turn has had: a turn that was rewound keeps its own."""
    waits: dict[str, list[int]] = {}
    """Calls without their results, and the turns that made them."""
    after_assistant: bool = False

    @property
    def calls_open(self) -> bool:
        """Whether a call waits for its result."""
        return bool(self.waits)

    @property
    def waiting(self) -> frozenset[int]:
        """Turns with a call that waits for its result."""
        return frozenset(turn for turns in self.waits.values() for turn in turns)

    def copy(self) -> Placing:
        """A placing that goes on by itself from here."""
        return msgspec.structs.replace(self, waits={call: turns[:] for call, turns in self.waits.items()})

    def add(self, message: Message) -> Placed:
        """The turn that the next message of the log belongs to."""
        self.length += 1
        role = message.role
        if role == "assistant":
            return self._add_assistant(message)
        if role == "meta":
            # What the log says about itself changes nothing in the conversation.
            return Placed(self._current())
        self.after_assistant = False
        if self.waits:
            answered = self._answer(message)
            if answered is not None:
                return Placed(answered, False, not self.waits)
        if starts_turn(message):
            self.turn = self.taken = self.taken + 1
            return Placed(self.turn, True, not self.waits)
        if role in ("system", "developer") and not self.turn:
            return Placed(SYSTEM)
        # The model may be asked because of an aside alone: a task in the background has ended.
        return Placed(self._current(), False, not self.waits and _is_aside(message))

    def _add_assistant(self, message: Message) -> Placed:
        turn = self._current()
        new_step = not self.after_assistant
        if new_step:
            # The model was asked again: a result that has not come by now will not count any more.
            self.waits.clear()
            self.after_assistant = True
        for call in message.opened():
            self.waits.setdefault(call, []).append(turn)
        return Placed(turn, False, False, new_step)

    def _answer(self, message: Message) -> int | None:
        """The turn of the open call that the message answers."""
        turn = None
        waits = self.waits
        for call in message.closed():
            if call in waits:
                waiting = waits[call]
                turn = waiting.pop(0)
                if not waiting:
                    del waits[call]
        return turn

    def _current(self) -> int:
        if self.turn is None:
            self.turn = 0
        return self.turn


class _Growing:
    """A turn while messages are still added to it."""

    __slots__ = ("answered", "number", "opening", "steps", "title")

    def __init__(self, number: int, title: str) -> None:
        self.number, self.title = number, title
        self.opening: list[int] = []
        self.steps: list[list[int]] = []
        self.answered = False
        """The assistant had the last word, and it was no call."""


class Grouping:
    """Messages grouped into turns as they come; adding one never regroups."""

    __slots__ = ("_placing", "_turns", "system")

    def __init__(self) -> None:
        self.system: list[int] = []
        """Positions of the system prompt: system and developer messages before the user first spoke."""
        self._placing = Placing()
        self._turns: list[_Growing] = []

    def __len__(self) -> int:
        return self._placing.length

    @property
    def calls_open(self) -> bool:
        """Whether a call waits for its result."""
        return self._placing.calls_open

    def add(self, message: Message) -> Placed:
        """The turn that the next message of the log belongs to."""
        position = self._placing.length
        placed = self._placing.add(message)
        number = placed.turn
        if number == SYSTEM:
            self.system.append(position)
            return placed
        turns = self._turns
        if not turns or number > turns[-1].number:
            turns.append(_Growing(number, title_of(message) if placed.starts else ""))
        turn = turns[number - turns[0].number]
        if placed.new_step:
            turn.steps.append([position])
        else:
            (turn.steps[-1] if turn.steps else turn.opening).append(position)
        if message.role == "assistant":
            turn.answered = not self._placing.calls_open
        elif message.role in ("user", "tool"):
            turn.answered = False
        return placed

    def turns(self) -> tuple[Turn, ...]:
        """All turns so far."""
        waiting, last = self._placing.waiting, self._turns[-1].number if self._turns else 0
        return tuple([_snapshot(turn, turn.number == last, turn.number in waiting) for turn in self._turns])


def group(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The turns of a whole log."""
    grouping = Grouping()
    for message in messages:
        grouping.add(message)
    return grouping.turns()


def no_turn(number: int, others: Iterable[int]) -> NotFound:
    """There is no turn of that number, only these others."""
    newest = max(others, default=0)
    return NotFound("turn", number, f"the newest is turn {newest}" if newest else "the user has said nothing yet")


def starts_turn(message: Message) -> bool:
    """Whether a turn begins with it: the user wrote something in it, also where that was removed since."""
    return wrote(message) or stood_for_the_user(message)


def wrote(message: Message) -> bool:
    """Whether the user wrote something in it: results alone, asides, and words of sash's own, are not the user's."""
    if message.role != "user" or message.written_by_sash:
        return False
    for block in message.blocks:
        if type(block) is Text:
            if block.text not in TOMBSTONES and not is_aside(block.text):
                return True
        elif type(block) is not ToolResult and not (type(block) is Opaque and block.closes):
            return True
    return False


def _is_aside(message: Message) -> bool:
    """Whether a message in which the user wrote nothing says something in their name."""
    spoke = message.role == "user" and any(type(block) is Text for block in message.blocks)
    return spoke and not message.written_by_sash


def title_of(message: Message) -> str:
    """The first line of what was said in it, cut at 40 characters and marked so; of asides alone, theirs."""
    texts = [block.text for block in message.blocks if type(block) is Text]
    for text in texts:
        if line := first_line(as_typed(text)):
            return line
    return next((line for text in texts if (line := first_line(without_tags(text[:_TITLE_REACH])))), "")


def first_line(text: str) -> str:
    """The first line of a text that says anything; of a longer one, 40 characters with the mark of the cut."""
    # Words may be megabytes long: only their beginning is looked at.
    beginning = text[:_TITLE_REACH].lstrip()
    if beginning.startswith("<") and (tag := _tag_alone.match(beginning)):
        # A program has put the words between tags: the first of these says nothing.
        beginning = beginning[tag.end() :].lstrip() or beginning
    lines = beginning.splitlines()
    line = lines[0].rstrip() if lines else ""
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1].rstrip()}{CUT}"


def _snapshot(turn: _Growing, last: bool, waiting: bool) -> Turn:
    state: State = "complete" if turn.answered else "open" if last or waiting else "interrupted"
    return Turn(
        number=turn.number,
        title=turn.title,
        opening=tuple(turn.opening),
        steps=tuple(Step(tuple(step)) for step in turn.steps),
        state=state,
    )
