"""What a slide takes out of a window, and what stays behind of it: in the digest, the past, and the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sash.core.departed import Departed, DepartedSteps, DepartedTurn, departed_steps, departed_turn, shortened_results
from sash.core.frame import DigestedSteps, Frame
from sash.core.past import Evicted
from sash.core.recall import Remembered
from sash.core.slide import Slide

if TYPE_CHECKING:
    from sash.core.fold import Fold


def leave(fold: Fold, slide: Slide, *, before: Frame) -> None:
    """Takes out what a slide takes out, whose frame is in force already; `before` was it until then."""
    departed: list[Departed] = [_evict(fold, number) for number in slide.evicted]
    departed += [_digest_steps(fold, digested) for digested in slide.frame.digested]
    if fold.memory is not None:
        fold.memory = fold.memory.with_messages(
            [
                Remembered(live.position, live.position, one.number, live.came or live.message)
                for one in departed
                for live in one.messages()
            ]
        )
    if fold.policy.replace == "digest":
        _shorten(fold, before)


def _evict(fold: Fold, number: int) -> DepartedTurn:
    """A turn leaves."""
    turn = fold.turns.pop(number)
    fold.whole_tokens -= turn.whole_tokens
    departed = departed_turn(turn, fold.answers)
    fold.left.add(departed)
    gone = Evicted(number, turn.title, turn.whole_tokens, len(turn), turn.first().position, fold.frame.number)
    fold.past.evicted.append(gone)
    return departed


def _digest_steps(fold: Fold, digested: DigestedSteps) -> DepartedSteps:
    """The oldest steps of a turn leave."""
    turn = fold.turns[digested.turn]
    departed = departed_steps(turn, digested.steps, fold.answers)
    fold.left.add(departed)
    turn.digested = digested.steps
    return departed


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
