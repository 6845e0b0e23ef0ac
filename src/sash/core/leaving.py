"""What a slide takes out of a window, and what stays behind of it: in the digest, the past, and the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sash.core.departed import DepartedTurn, departed_steps, shortened_results
from sash.core.frame import DigestedSteps, Frame
from sash.core.live import LiveMessage
from sash.core.past import Evicted
from sash.core.recall import Remembered
from sash.core.slide import Slide
from sash.core.work import answered

if TYPE_CHECKING:
    from sash.core.fold import Fold


def leave(fold: Fold, slide: Slide, *, before: Frame) -> None:
    """Takes out what a slide takes out, whose frame is in force already; `before` was it until then."""
    leaving: list[Remembered] = []
    for number in slide.evicted:
        leaving += _evict(fold, number)
    for digested in slide.frame.digested:
        leaving += _digest_steps(fold, digested)
    if fold.memory is not None:
        fold.memory = fold.memory.with_messages(leaving)
    if fold.policy.replace == "digest":
        _shorten(fold, before)


def _evict(fold: Fold, number: int) -> list[Remembered]:
    """A turn leaves; its messages, as they may be recalled."""
    turn = fold.turns.pop(number)
    fold.whole_tokens -= turn.whole_tokens
    fold.left.add(DepartedTurn(turn, answered(turn, fold.answers)))
    gone = Evicted(number, turn.title, turn.whole_tokens, len(turn), turn.first().position, fold.frame.number)
    fold.past.evicted.append(gone)
    return [_remembered(number, live) for live in turn.messages()]


def _digest_steps(fold: Fold, digested: DigestedSteps) -> list[Remembered]:
    """The oldest steps of a turn leave; their messages, as they may be recalled."""
    turn = fold.turns[digested.turn]
    departed = departed_steps(turn, digested.steps, answered(turn, fold.answers))
    fold.left.add(departed)
    turn.digested = digested.steps
    return [_remembered(turn.number, live) for live in departed.messages()]


def _remembered(turn: int, live: LiveMessage) -> Remembered:
    return Remembered(live.position, live.position, turn, live.came or live.message)


def _shorten(fold: Fold, before: Frame) -> None:
    """What this frame is the first to show in part, and what was shortened on entry since the one before it."""
    known = set(before.shortened)
    places = {(short.message, short.block) for short in fold.frame.shortened if short not in known}
    for live in fold.window():
        if live.came is not None and live.position >= before.at:
            places.update((live.position, part.block) for part in live.size.parts)
    if places:
        for turn in fold.turns.values():
            fold.left.add(shortened_results(turn, places))
