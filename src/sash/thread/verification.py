"""Whether what was derived from a log is what the log gives."""

from __future__ import annotations

import msgspec

from sash.core.event import Event
from sash.core.frame import Frame
from sash.thread.edits import EDITS, edits_of
from sash.thread.replay import Replay
from sash.thread.tail import Tail

_MOST = 20
"""Problems that are told; where there are more, they have one cause."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What folding a log again has shown."""

    events: int
    frames: int
    """Frames that were compared."""
    unverifiable: int = 0
    """Frames from before something was redacted: the words they were made from are gone."""
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything is what the log gives."""
        return not self.problems


def verified(tail: Tail, *, redacted: int = 0) -> Verification:
    """
    Folds a log from its first event on and compares turns, frames and the state that is in use.

    Up to the event `redacted`, and up to its own newest redaction, the words that frames were made from are gone.
    """
    current, last = tail.current(), tail.seq
    recorded: dict[int, list[Frame]] = {}
    for after, made in tail.log.frames(since=1):
        recorded.setdefault(after, []).append(made)
    since = max((event.seq for event in tail.log.events(until=last, kinds={"redact"})), default=0)
    since = max(since, redacted + 1)
    vetoes = edits_of(tail.log.events(until=last, kinds={"veto"}))
    problems: list[str] = []
    numbers = tail.log.numbered()
    compared = skipped = events = 0
    replay, _ = tail.folded(until=0, anew=True)
    for event in tail.log.events(until=last):
        events += 1
        frame, replay = _next(tail, replay, event, vetoes.vetoed)
        was = recorded.get(event.seq, [])
        replay.window.fold.number_from(numbers.get(event.seq, 0))
        if event.seq < since:
            skipped += len(was)
            continue
        compared += len(was)
        gives = [] if frame is None else [frame]
        if was != gives:
            problems.append(f"event {event.seq} led to {_told(was)} and gives {_told(gives)}")
        turn = replay.window.fold.placed.turn
        if event.kind == "message" and event.turn != turn:
            problems.append(f"event {event.seq} is stored as turn {event.turn} and belongs to turn {turn}")
    if replay.checkpoint() != current.checkpoint():
        problems.append("the state in use is not the one that the log gives")
    return Verification(events=events, frames=compared, unverifiable=skipped, problems=tuple(problems[:_MOST]))


def _next(tail: Tail, replay: Replay, event: Event, vetoed: frozenset[int]) -> tuple[Frame | None, Replay]:
    if event.kind in EDITS:
        replay, frame = tail.folded(until=event.seq - 1, then=event, anew=True)
        return frame, replay
    edits = edits_of(())
    return replay.apply(event, msgspec.structs.replace(edits, vetoed=vetoed)), replay


def _told(frames: list[Frame]) -> str:
    return (
        ", ".join(f"frame {frame.number} ({frame.reason}, boundary {frame.boundary})" for frame in frames) or "no frame"
    )
