"""Facts: statements kept apart from the history, and taken back."""

from __future__ import annotations

from sash.core.facts import Fact, check_room, with_fact
from sash.core.noted import clip
from sash.errors import NotFound
from sash.thread.acts import Forgotten, Remembered, event_of
from sash.thread.replay import Replay, fact_of
from sash.thread.tail import Draft, drafted


def remembered(replay: Replay, seq: int, act: Remembered, turn: int | None) -> Draft:
    """One more fact, if facts have room for it."""
    fold = replay.window.fold
    came_from = fold.placing.turn if turn is None else turn
    event = event_of("fact", act, seq=seq + 1, turn=-1 if came_from is None else came_from)
    fact = fact_of(event, act)
    # What the user wants remembered stays; a model's facts, and those that code found, have the room that is left.
    staying = [old for old in with_fact(fold.facts, fact)[:-1] if old.origin == "given" and not old.superseded_by]
    check_room([*(staying if fact.origin == "given" else ()), fact], fold.counter.text, limit=fold.limits.facts)
    return drafted(replay, event)


def forgotten(replay: Replay, seq: int, words: str) -> Draft:
    """A fact is taken back: the one with these words, or the only one that begins with them."""
    gone = _meant(words, [fact for fact in replay.window.fold.facts if not fact.superseded_by])
    act = Forgotten(tuple((fact.seq, fact.place) for fact in gone))
    return drafted(replay, event_of("forget", act, seq=seq + 1))


def _meant(words: str, standing: list[Fact]) -> list[Fact]:
    said = " ".join(words.split())
    texts = {" ".join(fact.text.split()) for fact in standing}
    found = {said} & texts or {text for text in texts if text.startswith(said)}
    if not found:
        raise NotFound("fact", words, "`facts` lists those there are" if standing else "no fact is kept")
    if len(found) > 1:
        named = ", ".join(repr(clip(text, SHOWN)) for text in sorted(found)[:3])
        raise NotFound("fact", words, f"several begin so: {named}; write more of it")
    return [fact for fact in standing if " ".join(fact.text.split()) in found]


SHOWN = 60
"""Characters of a fact where it is told among others."""
