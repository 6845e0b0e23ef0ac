"""What commands do to a fold: slide now, keep a turn or let it leave again, take a fact back, frame it anew."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from sash.core.facts import Fact, line_of
from sash.core.fold import EVERYTHING, Fold
from sash.core.frame import Frame, Reason
from sash.core.live import LiveTurn
from sash.core.slide import Slide
from sash.core.told import wish_line
from sash.core.trigger import high_mark


def compact(fold: Fold, reason: Reason = "compact") -> Frame | None:
    """Slides on command, the user's or the provider's: to the low mark, or by as much where it is below that."""
    fold.suspended = False
    frame = fold.slide(reason, low=compact_mark(fold))
    if frame is None and fold.standing_summary(fold.frame.boundary) != fold.summary:
        # A summary that waits is reason enough, where it is the user's own command.
        return reframe(fold, reason)
    return frame


def compacts(fold: Fold) -> bool:
    """Whether a command to compact would change anything, now or once the calls that are open have their results."""
    waits = fold.standing_summary(fold.frame.boundary) != fold.summary
    if fold.suspended or fold.placing.calls_open or waits:
        return True
    return fold.plan("compact", low=compact_mark(fold)) is not None


def compact_mark(fold: Fold) -> int:
    """How far a command to compact goes down."""
    return min(fold.limits.low, int(fold.tokens * fold.factor * fold.policy.keep_share))


def pin(fold: Fold, turn: LiveTurn) -> Frame | None:
    """Keeps a turn from leaving; one that had left comes back, and that is a frame."""
    fold.pinned |= {turn.number}
    if turn.number in fold.turns:
        return None
    fold.settle()
    fold.turns = dict(sorted([*fold.turns.items(), (turn.number, turn)]))
    before = fold.tokens
    fold.tokens += turn.tokens
    fold.whole_tokens += turn.whole_tokens
    fold.body += turn.body
    fold.past.evicted = [gone for gone in fold.past.evicted if gone.number != turn.number]
    carried = tuple(sorted({*fold.frame.carried, turn.number}))
    fold.frame = msgspec.structs.replace(fold.frame, carried=carried)
    return reframe(fold, "pin", before=before)


def forget(fold: Fold, facts: Collection[Fact], *, seq: int) -> Frame | None:
    """Takes facts back; where one is told at the head of the window, that is a frame."""
    standing = fold.standing
    told = "\n".join([standing.facts, standing.digest, *standing.steps.values()]).split("\n")
    fold.kept_apart.forget(facts, seq=seq)
    # Among the facts, or, where those had no room for it, in the digest.
    lines = {line for fact in facts for line in (line_of(fact), wish_line(fact.turn, fact.text))}
    return reframe(fold, "forget") if not lines.isdisjoint(told) else None


def unpin(fold: Fold, number: int) -> Frame | None:
    """Lets a turn leave; one that stands before the boundary leaves at once."""
    fold.pinned -= {number}
    if number not in fold.turns or number >= fold.frame.boundary:
        return None
    turn = fold.turns[number]
    positions = {live.position for live in turn.messages()}
    frame = msgspec.structs.replace(
        reframed(fold, "unpin"),
        carried=tuple(kept for kept in fold.frame.carried if kept != number),
        shortened=tuple(short for short in fold.frame.shortened if short.message not in positions),
        digested=tuple(steps for steps in fold.frame.digested if steps.turn != number),
        tokens=fold.tokens - turn.tokens,
    )
    tokens = {kept: turn.tokens for kept, turn in fold.turns.items() if kept != number}
    bodies = {kept: turn.body for kept, turn in fold.turns.items() if kept != number}
    return fold.make(Slide(frame=frame, evicted=(number,), tokens=tokens, bodies=bodies))


def reframe(
    fold: Fold,
    reason: Reason,
    *,
    number: int | None = None,
    rewound: tuple[tuple[int, int], ...] | None = None,
    before: int = 0,
) -> Frame:
    """
    A new frame for a head that a command has changed, under the next number or a given one.

    What was signed was bound to the head that is gone, so it goes without its thinking. Nothing has to leave for it,
    unless history is above its mark: the cache is broken anyway, so the slide of the next request point is made here.
    `before` is what history took before the command, where nothing here knows that any more.
    """
    if number is not None:
        fold.frame = msgspec.structs.replace(fold.frame, number=number - 1)
    if rewound is not None:
        fold.frame = msgspec.structs.replace(fold.frame, rewound=rewound)
    if fold.placing.calls_open:
        fold.due = fold.due or (reason, EVERYTHING)
    elif (planned := fold.plan(reason, low=None if _is_to_slide(fold, reason) else EVERYTHING)) is not None:
        if before:
            frame = msgspec.structs.replace(planned.frame, tokens_before=before)
            planned = msgspec.structs.replace(planned, frame=frame)
        return fold.make(planned)
    frame = reframed(fold, reason)
    fold.stand(msgspec.structs.replace(frame, tokens_before=before or frame.tokens_before))
    return fold.frame


def _is_to_slide(fold: Fold, reason: Reason) -> bool:
    """Whether the window would slide at a request point here; what an undo brought back is not to leave with it."""
    holds = reason != "undo" and not fold.suspended and fold.policy.check == "request"
    return holds and bool(fold.turns) and fold.taken > high_mark(fold)


def reframed(fold: Fold, reason: Reason) -> Frame:
    """The frame in force under the next number, for a reason of its own."""
    return msgspec.structs.replace(
        fold.frame,
        number=fold.frame.number + 1,
        parent=fold.frame.number,
        at=len(fold),
        reason=reason,
        tokens_before=fold.tokens,
        tokens=fold.tokens,
        fits=fold.tokens <= int(fold.limits.high / fold.factor),
    )
