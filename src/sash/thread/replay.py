"""
A log applied event by event. A pure function: the same events give the same window, always.

An append, a restart, a rewind, a past request and a verification are all this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from sash.core.calibration import Calibration, Report, observe, refused
from sash.core.commands import compact, forget, pin, reframe, unpin
from sash.core.event import Event
from sash.core.facts import Fact
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message
from sash.core.size import size_of
from sash.core.slide import situation_of, sizes_shown
from sash.core.state import FoldState
from sash.core.summary import Summary
from sash.thread.acts import (
    Change,
    Compacted,
    Forgotten,
    Overflowed,
    Pinned,
    Redacted,
    Remembered,
    Rewound,
    Undone,
    act_of,
)
from sash.thread.edits import NO_EDITS, Edits
from sash.thread.log import message_of
from sash.thread.recollection import StoredMemory
from sash.thread.saved import Checkpoint, Saved
from sash.window import Unseal, Window

TurnLookup = Callable[[int, int, Edits | None], Iterable[Event]]
"""
The messages of a turn that stand, up to some event: as these edits have it, or else as those in force there do.

A turn that was rewound in its middle has gone on since: what it is depends on when it is asked for.
"""


class Replay:
    """A thread up to some event: its window, and what else it knows."""

    def __init__(self, window: Window, turn: TurnLookup, memory: StoredMemory) -> None:
        self.window, self.memory = window, memory
        window.fold.memory = memory
        self.calibration = Calibration()
        self.edits: Edits | None = None
        """What is in force in the end, while the past is folded on the way there."""
        self._turn = turn

    @classmethod
    def resumed(cls, saved: Saved, said: Unseal, turn: TurnLookup, memory: StoredMemory) -> Replay:
        """The thread as it stood at a checkpoint."""
        checkpoint = saved.checkpoint
        replay = cls(Window.resumed(checkpoint.setup, checkpoint.fold, said.messages), turn, memory)
        replay.calibration = checkpoint.calibration
        if saved.seal is not None:
            replay.window.unseal(saved.seal, said)
        return replay

    def checkpoint(self, *, digest: bool = True) -> Checkpoint:
        """What must survive a restart; without its digest, where that is stored already."""
        return Checkpoint(
            setup=self.window.setup,
            counter=self.counted_by(),
            fold=FoldState.of(self.window.fold, digest=digest),
            calibration=self.calibration,
        )

    def counted_by(self) -> str:
        """What counts, by its id and version."""
        return f"{self.window.counter.id} {self.window.counter.version}"

    def apply(self, event: Event, edits: Edits = NO_EDITS, *, message: Message | None = None) -> Frame | None:
        """One more event; the frame it leads to, if it leads to one."""
        fold, undone = self.window.fold, event.seq in edits.undone
        if event.kind == "message":
            said = message_of(event) if message is None else message
            frame = self.window.add(said, event.at, position=event.seq - 1, held=undone or event.seq in edits.vetoed)
            fold.suspended = fold.suspended or undone
            return frame
        fold.placing.length = event.seq
        return self._command(event, edits)

    def _remember(self, event: Event) -> None:
        act = act_of(event, Remembered)
        if act.text:
            self.window.fold.remember(fact_of(event, act))

    def _command(self, event: Event, edits: Edits) -> Frame | None:
        fold, undone, gaps = self.window.fold, event.seq in edits.undone, edits.gaps_at(event.seq)
        match event.kind:
            case "usage":
                self.calibration = observe(self.calibration, act_of(event, Report))
                fold.calibrate(self.calibration)
            case "fact":
                self._remember(event)
            case "forget":
                return None if undone else forget(fold, facts_at(fold, act_of(event, Forgotten)), seq=event.seq)
            case "configure":
                fold.suspended = fold.suspended or undone
                return self.window.configure(act_of(event, Change).of(self.window.setup), held=undone)
            case "overflow":
                return self._refused(act_of(event, Overflowed), held=undone or edits.out(event.seq))
            case "undo":
                undo = act_of(event, Undone)
                frame = reframe(fold, "undo", number=undo.frame, rewound=gaps, before=undo.before)
                fold.suspended = undo.suspended
                return frame
            case "redact":
                return reframe(fold, "redact", number=act_of(event, Redacted).frame, rewound=gaps)
            case "summary":
                return None if undone else self._summarized(event)
            case _ if undone:
                # What was undone says nothing any more, but that the user wants more in the window than the marks do.
                fold.suspended = True
            case "rewind":
                act = act_of(event, Rewound)
                fold.placing.taken = act.taken
                return reframe(fold, "rewind", number=act.frame, rewound=gaps, before=act.before)
            case "compact":
                return compact(fold, act_of(event, Compacted).reason)
            case "pin":
                return pin(fold, self.turn(act_of(event, Pinned).turn))
            case "unpin":
                return unpin(fold, act_of(event, Pinned).turn)
        return None

    def _refused(self, act: Overflowed, *, held: bool) -> Frame | None:
        """What a refusal taught stays, also where the slide that it led to was taken back."""
        window, lesson = self.window, act.lesson
        if act.report is not None:
            self.calibration = refused(self.calibration, act.report)
            window.fold.calibrate(self.calibration)
        setup = window.setup
        told = msgspec.structs.replace(
            setup,
            told_window=lesson.window or setup.told_window,
            answer=max(lesson.answer, setup.answer),
        )
        frame = window.refused(told, held=held)
        window.fold.suspended = window.fold.suspended or held
        return frame

    def _summarized(self, event: Event) -> Frame | None:
        """A summary waits for the next frame; one that the user wrote is a frame itself."""
        summary = msgspec.structs.replace(act_of(event, Summary), seq=event.seq)
        fold = self.window.fold
        if not summary.whole:
            # Its words were redacted.
            return None
        fold.offer(summary)
        return reframe(fold, "summary") if summary.by == "user" else None

    def turn(self, number: int) -> LiveTurn:
        """A turn of the window, or one that left it, as it would come back."""
        fold = self.window.fold
        if number in fold.turns:
            return fold.turns[number]
        turn = LiveTurn(number)
        for event in self._turn(number, len(fold), self.edits):
            message = message_of(event)
            turn.named = turn.title or message
            size = size_of(message, self.window.counter)
            turn.add(fold.entering(LiveMessage(event.seq - 1, message, size)), size.tokens)
        # Thinking whose proof is void by now does not come back with it.
        turn.tokens, turn.body = sizes_shown(fold.frame, [turn], situation_of(fold, fold.limits))[number]
        return turn


def facts_at(fold: Fold, act: Forgotten) -> tuple[Fact, ...]:
    """The facts that an act names; those whose words were removed since are not among them."""
    return tuple(fact for fact in fold.facts if (fact.seq, fact.place) in act.facts)


def fact_of(event: Event, act: Remembered) -> Fact:
    """The fact that an event tells."""
    return Fact(event.seq, event.turn, act.text, "model" if act.by == "model" else "given")
