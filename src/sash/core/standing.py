"""
What stands at the head of a request for what left it, put together once for each frame.

A function of the frame and of what had been said when it was made; nothing that came after
changes it, so a prompt cache keeps hitting and a restart finds the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from sash.core.facts import Fact, facts_text, line_of
from sash.core.frame import shortened_by_message
from sash.core.names import names_in
from sash.core.shown import shown
from sash.core.told import STEPS_LEFT, Room, digest_text, step_text

if TYPE_CHECKING:
    from sash.core.fold import Fold


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The words that stand for what is not there."""

    digest: str
    """For the turns that left."""
    steps: Mapping[int, str]
    """For steps that left, by the turn they belong to."""
    facts: str


def standing_of(fold: Fold) -> Standing:
    """All of it, within what is reserved; what the one digest leaves unused, the other has."""
    digest, kind, limits = fold.digest, fold.policy.replace, fold.limits

    def count(text: str) -> int:
        return fold.counter.text(text).value

    room = Room(limits.step_digest, count)
    visible = _visible(fold) if digest.noted and kind == "digest" else frozenset()
    facts, settled = _facts(fold, Room(limits.facts, count))
    alone = kind == "digest" and not digest.turns
    steps: dict[int, str] = {}
    for turn in reversed([turn.number for turn in fold.turns.values() if turn.digested]):
        # Who wants no step digest wants none from the summary's room either.
        most = room.tokens + (limits.summary if alone and room.fits(STEPS_LEFT) else 0)
        steps[turn] = step_text(digest, turn, Room(most, count), alone=alone, visible=visible, settled=settled)
        room, alone = Room(max(0, room.tokens - count(steps[turn])), count), False
    most = limits.summary + (room.tokens if kind == "digest" else 0)
    return Standing(
        digest=_for_turns(fold, Room(most, count), visible, settled),
        steps=steps,
        facts=facts,
    )


def _facts(fold: Fold, room: Room) -> tuple[str, frozenset[str]]:
    """The facts that have room, and what the user wanted that stands there, is in sight, or was taken back."""
    facts = _out_of_sight(fold)
    told = facts_text(facts, room) if room.tokens else ""
    untold = {fact.text for fact in facts if line_of(fact) not in told}
    known = (fact.text for fact in fold.facts if fact.seq <= fold.frame.at)
    return told, frozenset(known) - untold


def _for_turns(fold: Fold, room: Room, visible: frozenset[str], settled: frozenset[str]) -> str:
    """The summary in force, and a digest of what it does not cover."""
    summary, digest, kind = fold.summary, fold.digest, fold.policy.replace
    if summary is None:
        return digest_text(digest, kind, room, visible=visible, settled=settled)
    told = summary.told()
    left = Room(room.tokens - room.count(told), room.count)
    rest, shown_too = digest.since(summary.end), visible.union(names_in(summary.whole))
    text = digest_text(rest, kind, left, visible=shown_too, beside_summary=True, settled=settled)
    return "\n\n".join(part for part in (told, text) if part)


def fresh_facts(fold: Fold) -> tuple[Fact, ...]:
    """Facts that were given since the frame was made: they stand with the input until the next one takes them in."""
    return tuple(
        fact for fact in fold.facts if fact.origin != "found" and fact.seq > fold.frame.at and fact.stands(1 << 62)
    )


def _out_of_sight(fold: Fold) -> list[Fact]:
    """Facts that stood when the frame was made, less those whose own words are still in the window."""
    known = fold.frame.at + 1
    return [
        fact
        for fact in fold.facts
        if fact.seq < known and fact.stands(known) and (fact.origin != "found" or fact.turn not in fold.turns)
    ]


def _visible(fold: Fold) -> frozenset[str]:
    """Names that the window showed when this frame was made, and shows until the next."""
    shortened = shortened_by_message(fold.frame)
    names: set[str] = set()
    for live in fold.window():
        if live.position < fold.frame.at:
            message = shown(live, shortened.get(live.position, ()), short=fold.short)
            for text in message.whole_texts if message is not None else ():
                names.update(names_in(text))
    return frozenset(names)
