"""What explains a thread's window: its frames, and the turns that left, as the store has them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from sash.core.because import what_was
from sash.core.event import Event
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.past import Evicted, Past
from sash.core.turn import starts_turn, title_of
from sash.thread.acts import Undone, act_of
from sash.thread.edits import COMMANDS, DECIDING, Edits, edits_of
from sash.thread.log import Log, message_of


def past_of(log: Log, fold: Fold, numbers: range | None = None) -> Past:
    """The past of a thread: all of it, which takes reading the whole log, or only the turns with some numbers."""
    made = list(log.frames())
    edits = edits_in(log)
    turns: dict[int, list[Event]] = {}
    out: dict[int, list[Event]] = {}
    for event in log.events(kinds={"message"}) if numbers is None else log.turns(numbers):
        if event.turn >= 0:
            (out if edits.out(event.seq) else turns).setdefault(event.turn, []).append(event)
    frames = [frame for _, frame in made]
    gone = _left_at(frames, [number for number in sorted(turns) if number not in fold.turns])
    evicted = [_evicted(number, turns[number], frame) for number, frame in gone.items()]
    rewinds = [(after, frame.number) for after, frame in made if frame.reason == "rewind"]
    rewound = [
        _evicted(number, events, next((made for after, made in rewinds if after > events[-1].seq), 0))
        for number, events in out.items()
        if number not in turns
    ]
    return Past(frames, evicted, rewound, undone_by(log))


def edits_in(log: Log) -> Edits:
    """What is in force of all rewinds and undos of a log."""
    return edits_of(log.events(kinds=DECIDING))


def undone_by(log: Log) -> dict[int, str]:
    """What each undo has taken back, by the number of the frame that the undo has made."""
    acts = [act_of(event, Undone) for event in log.events(kinds={"undo"})]
    if not acts:
        return {}
    words = {event.seq: what_was(COMMANDS[event.kind]) for event in log.events(kinds=COMMANDS.keys())}
    words |= {after: what_was(frame.reason, frame.number) for after, frame in log.frames()}
    return {act.frame: words[act.undoes] for act in acts if act.undoes in words}


def _left_at(frames: Iterable[Frame], numbers: list[int]) -> dict[int, int]:
    """The frame at which each of these turns left the window for the last time; they are given in their order."""
    left: dict[int, int] = {}
    boundary, carried = 0, frozenset[int]()
    for frame in frames:
        first, end = sorted((bisect_left(numbers, boundary), bisect_left(numbers, frame.boundary)))
        staying = frozenset(frame.carried)
        for number in numbers[first:end]:
            if frame.boundary < boundary:
                left.pop(number, None)
            else:
                left.setdefault(number, frame.number)
        for number in staying:
            left.pop(number, None)
        for number in carried - staying:
            # It was in the window for its pin or its priority alone.
            if number < frame.boundary:
                left.setdefault(number, frame.number)
        boundary, carried = frame.boundary, staying
    return {number: left.get(number, 0) for number in numbers}


def _evicted(number: int, events: list[Event], frame: int) -> Evicted:
    first = message_of(events[0])
    return Evicted(
        number=number,
        title=title_of(first) if starts_turn(first) else "",
        tokens=sum(event.tokens for event in events),
        messages=len(events),
        first=events[0].seq - 1,
        frame=frame,
    )
