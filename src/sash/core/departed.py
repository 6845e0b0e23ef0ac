"""What leaves the window at a slide, as it is handed to the digest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import ToolCall, ToolResult
from sash.core.work import Answer, AnsweredTurns, Place, answered


class DepartedTurn(msgspec.Struct, frozen=True):
    """A turn leaves; steps of it may have left before."""

    turn: LiveTurn
    answers: Mapping[Place, Answer]
    """Of the results that leave now."""

    @property
    def number(self) -> int:
        """Of the turn."""
        return self.turn.number

    def messages(self) -> Iterator[LiveMessage]:
        """Those that leave now."""
        return self.turn.messages()


class DepartedSteps(msgspec.Struct, frozen=True):
    """Steps of a turn leave that stays."""

    number: int
    """Of the turn."""
    steps: tuple[tuple[LiveMessage, ...], ...]
    answers: Mapping[Place, Answer]
    """Of their results."""

    def messages(self) -> Iterator[LiveMessage]:
        """Those that leave now."""
        for step in self.steps:
            yield from step


class ShortenedResults(msgspec.Struct, frozen=True):
    """Results are shown in part only from now on; each with the call it belongs to, where that is in the window."""

    number: int
    """Of their turn."""
    results: tuple[tuple[ToolCall | None, ToolResult], ...]

    def messages(self) -> Iterator[LiveMessage]:
        """None leaves whole."""
        return iter(())


Departed = DepartedTurn | DepartedSteps | ShortenedResults


def departed_turn(turn: LiveTurn, known: AnsweredTurns) -> DepartedTurn:
    """All of a turn that is in the window."""
    answers, gone = answered(turn, known), turn.digested_positions()
    if gone:
        answers = {place: answer for place, answer in answers.items() if place[0] not in gone}
    return DepartedTurn(turn, answers)


def departed_steps(turn: LiveTurn, end: int, known: AnsweredTurns) -> DepartedSteps:
    """The steps of a turn that are in the window, up to one."""
    steps, answers = tuple(map(tuple, turn.steps[turn.digested : end])), answered(turn, known)
    # A turn may have thousands of results, and lose a few at a time.
    places = ((live.position, place) for step in steps for live in step for place in range(len(live.message.blocks)))
    return DepartedSteps(turn.number, steps, {place: answers[place] for place in places if place in answers})


def shortened_results(turn: LiveTurn, places: Set[tuple[int, int]]) -> ShortenedResults:
    """The results of a turn that stand at these places of the log."""
    calls: dict[str, ToolCall] = {}
    results: list[tuple[ToolCall | None, ToolResult]] = []
    for live in turn.messages():
        for place in range(len(live.message.blocks)):
            block = live.block(place)
            if type(block) is ToolCall:
                calls[block.id] = block
            elif type(block) is ToolResult and (live.position, place) in places:
                results.append((calls.get(block.call_id), block))
    return ShortenedResults(turn.number, tuple(results))


def result_at(departed: DepartedTurn | DepartedSteps, place: Place) -> ToolResult:
    """One of the results that leave, as the window had it."""
    position, block = place
    result = next(live.message.blocks[block] for live in departed.messages() if live.position == position)
    assert isinstance(result, ToolResult)
    return result


def counted(departed: Sequence[Departed]) -> int:
    """How many messages leave."""
    return sum(1 for one in departed for _ in one.messages())
