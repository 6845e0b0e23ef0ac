"""What must hold of every request, checked from the outside: DESIGN section 10, 1 to 7."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.fold import Fold
from sash.core.frame import Frame, Shortened
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message, Thinking
from sash.core.request import OURS, assemble
from sash.core.shorten import shorten
from sash.core.shown import shown
from sash.core.slide.current import LEAST_CHARS
from sash.core.turn import Grouping
from sash.wire import prepare, wire_named


class Sent(msgspec.Struct, frozen=True):
    """A request as it was sent."""

    frame: Frame
    messages: tuple[bytes, ...]


def request(fold: Fold, wire: str) -> Sent:
    """The request at this point, which its provider takes: every message by its bytes."""
    assembled = assemble(fold)
    prepared = prepare(assembled.messages, wire)
    spoken = wire_named(wire)
    assert spoken.problems(prepared.messages) == ()
    assert prepare(prepared.messages, wire).messages == prepared.messages, "repairing what was repaired changes it"
    return Sent(fold.frame, tuple(map(spoken.write_message, prepared.messages)))


def check_nothing_lost(fold: Fold, log: Sequence[Message]) -> None:
    """Evicted and live turns together are the log, each turn whole, in order, byte for byte."""
    grouping = Grouping()
    for message in log:
        grouping.add(message)
    turns = {turn.number: turn for turn in grouping.turns()}
    assert len(fold) == len(log)
    assert [live.position for live in fold.system] == grouping.system
    gone = [left.number for left in fold.past.evicted]
    assert sorted([*gone, *fold.turns]) == sorted(turns), "a turn is lost, or is there twice"
    assert list(fold.turns) == sorted(fold.turns)
    for number, live_turn in fold.turns.items():
        held = [*live_turn.opening, *(live for step in live_turn.steps for live in step)]
        assert tuple(live.position for live in held) == turns[number].messages
        for live in held:
            assert (live.came or live.message) is log[live.position] or log[live.position] == (
                live.came or live.message
            )
    for left in fold.past.evicted:
        assert left.messages == len(turns[left.number].messages)
        assert left.first == turns[left.number].messages[0]
    frame = fold.frame
    in_window = set(fold.turns)
    assert set(frame.carried) == {n for n in in_window if n < frame.boundary}
    assert not any(number >= frame.boundary for number in gone), "an evicted turn stands after the boundary"


def check_whole_turns(fold: Fold) -> None:
    """A request holds all of a turn or none of it, but for steps that a digest stands for."""
    sent = [origin for origin in assemble(fold).origins if origin != OURS]
    shown = [
        live.position
        for turn in fold.turns.values()
        for live in turn.messages()
        if live.message.role != "meta" and _says_something(live, fold.frame)
    ]
    assert sent == [live.position for live in fold.system] + shown
    assert fold.placing.waiting <= set(fold.turns), "a turn left while its call was open"
    current = next(reversed(fold.turns.values()), None)
    if current is not None and current.steps:
        assert current.digested < len(current.steps), "the last step was digested"


def _says_something(live: LiveMessage, frame: Frame) -> bool:
    if live.position >= frame.unsigned_before or not live.size.signed or not live.message.blocks:
        return True
    return any(type(block) is not Thinking for block in live.message.blocks)


def check_counted_right(fold: Fold) -> None:
    """The running sum is what the window really takes."""
    assert fold.tokens == sum(turn.tokens for turn in fold.turns.values())
    assert fold.whole_tokens == sum(turn.whole_tokens for turn in fold.turns.values())
    assert fold.body == sum(turn.body for turn in fold.turns.values())
    assembled = assemble(fold)
    taken = 0
    system = {live.position for live in fold.system}
    for message, origin in zip(assembled.messages, assembled.origins, strict=True):
        if origin != OURS and origin not in system:
            taken += fold.counter.message(message).value
    # A message of which nothing but void thinking is left is not sent; what stood around it is still counted.
    assert taken <= fold.tokens
    if fold.counter.id == "chars4":
        assert taken == fold.tokens
    assert fold.body >= 0


def check_budget(fold: Fold) -> None:
    """
    History is under the high mark; or nothing that could have left is still there.

    A slide that could not reach the mark is not made again at every request: enough has
    to gather first.
    """
    taken = fold.taken
    if taken <= fold.limits.high:
        return
    gathered = not fold.frame.fits and taken <= fold.frame.tokens * fold.factor + fold.limits.worth
    least = unavoidable(fold)
    if fold.tokens > least and not gathered:
        # Thinking alone leaves only where that is enough.
        without = fold.tokens - _thinking(fold)
        assert least >= without > fold.limits.high / fold.factor, (fold.tokens, without, least, fold.limits.high)


def _thinking(fold: Fold) -> int:
    """What the window still shows of thinking that a slide would leave out."""
    since = fold.frame.unsigned_before
    signed = [live for live in fold.window() if live.size.signed and live.position >= since]
    return sum(part.tokens for live in signed for part in live.size.parts if part.kind == "thinking")


def check_frame(fold: Fold, frame: Frame) -> None:
    """A frame right after it was made: it fits, or only what may not leave is left."""
    assert frame == fold.frame == fold.past.frames[-1]
    assert frame.tokens == fold.tokens
    assert frame.parent == frame.number - 1
    high = int(fold.limits.high / fold.factor)
    assert frame.fits == (fold.tokens <= high)
    if not frame.fits:
        assert fold.tokens <= unavoidable(fold), (fold.tokens, unavoidable(fold), high)


def unavoidable(fold: Fold) -> int:
    """The least that a slide here can leave: pins, the user's own words, and the last step in its shortest form."""
    policy = fold.policy
    turns = list(fold.turns.values())
    current = turns[-1]
    first = next((turn.number for turn in turns if turn.number > 0), 0)
    least = 0
    if not fold.limits.step_digest:
        newest = {turn.number for turn in turns[-policy.min_turns :]} | {current.number} | fold.pinned
        if policy.keep_first and first <= 1:
            newest.add(first)
        return (
            sum(turn.tokens for turn in turns if turn.number in newest) + policy.carry_tokens + _newest_messages(fold)
        )
    for turn in turns:
        if turn is current:
            least += _opening(turn, fold) + sum(_least(live, fold) for step in turn.steps[-1:] for live in step)
        elif turn.number in fold.pinned:
            least += turn.tokens
        elif policy.keep_first and turn.number == first <= 1:
            least += _opening(turn, fold)
    return least


def _newest_messages(fold: Fold) -> int:
    return fold.tokens if fold.policy.min_messages else 0


def _opening(turn: LiveTurn, fold: Fold) -> int:
    """What stands before the first step: of closed turns, pictures may be placeholders."""
    return sum(_least(live, fold, user=True) for live in turn.opening)


def _least(live: LiveMessage, fold: Fold, *, user: bool = False) -> int:
    """What a message takes in its shortest form."""
    first, end = fold.frame.plain
    forms = []
    for part in live.size.parts:
        if not user and part.kind in ("result", "arguments", "text"):
            form = Shortened(live.position, part.block, LEAST_CHARS if part.kind == "result" else 0)
            short = shorten(live.block(part.block), form.handle, form.keep)
            if fold.counter.block(short).value < part.tokens:
                forms.append(form)
    message = shown(live, forms, unsigned=True, plain=first <= live.position < end)
    around = fold.counter.around(live.message).value
    return around if message is None else fold.counter.message(message).value
