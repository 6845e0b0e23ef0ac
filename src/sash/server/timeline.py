"""
The requests of a thread so far, from what is stored of it: how full the window was, and what could be cached.

Read off the log and its frames, never replayed: what moved the window was decided when it happened, by slides,
pins, compacts, undos and rewinds alike, and a long thread is looked at as fast as a short one.
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from sash.core.calibration import Report
from sash.core.cost import charge_of
from sash.core.event import Event
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.live import LiveMessage
from sash.core.size import size_of
from sash.core.turn import SYSTEM
from sash.server.route import Shape
from sash.thread import Thread
from sash.thread.acts import act_of
from sash.thread.log import message_of

MOST_REQUESTS = 500
MOST_EVENTS = 4_000
"""That are read for them, about: those of the last so many, from the frame before them on."""


class Moment(Shape, frozen=True, kw_only=True):
    """One request so far."""

    tokens: int
    cached: float
    """Share of it that a provider finds in its cache."""
    slid: bool
    frame: int | None
    """The frame that was made since the one before, by a slide or by somebody who changed the head."""
    reason: str | None


def timeline_of(thread: Thread) -> list[Moment]:
    """The newest requests, oldest first."""
    frames = thread.frames()
    begin = bisect_right([frame.at for frame in frames], max(0, thread.seq - MOST_EVENTS)) - 1
    anchor = frames[begin] if begin >= 0 else None
    going = _Going(thread, 0 if anchor is None else anchor.tokens, frames[begin + 1 :])
    for event in thread.events(since=0 if anchor is None else anchor.at):
        going.add(event)
    going.ask()
    return going.told[-MOST_REQUESTS:]


class _Going:
    """A log going by, event by event."""

    def __init__(self, thread: Thread, tokens: int, frames: tuple[Frame, ...]) -> None:
        window = thread.window
        self._fixed, self._live, self._fold = window.fixed().value, tokens, window.fold
        policy = thread.setup.policy
        self._cache_seconds, self._prices, self._recalls = policy.cache_seconds, policy.prices, policy.recall_tokens > 0
        self._coming = list(reversed(frames))
        self._made: Frame | None = None
        """The newest frame since the last request."""
        self._before: int | None = None
        """What the last request took."""
        self._turn: int | None = None
        self._starts = tokens, tokens
        """What stood before the turn before this one, and before this one."""
        self._digest = self._fold.counter.text(self._fold.digest_text()).value
        """What stands for what left takes now; it took about as much before."""
        self._kept = 0
        """Of the last request, what had been sent before."""
        self._at: float | None = None
        self._asked_at: float | None = None
        self._asked_of: int | None = None
        """The turn of the last request."""
        self._open = False
        """Something was said that the model has not seen yet."""
        self.told: list[Moment] = []

    def add(self, event: Event) -> None:
        """What happened next."""
        if event.kind == "message" and event.turn != SYSTEM:
            if event.role == "assistant":
                self.ask()
            elif event.role != "meta":
                self._open = True
            if event.turn != self._turn:
                self._turn, self._starts = event.turn, (self._starts[1], self._live)
            self._live += _entering(self._fold, event)
            self._at = event.at if event.at is not None else self._at
        elif event.kind == "usage" and (context := act_of(event, Report).context) and self.told:
            # What was recalled for an input is counted by nobody else afterwards.
            self._before, self.told[-1] = context, self._counted(self.told[-1], context)
        while self._coming and self._coming[-1].at <= event.seq:
            self._made = self._coming.pop()
            self._live = self._made.tokens
            self._starts = self._live, self._live

    def ask(self) -> None:
        """A request, where there is something to ask."""
        if not self._open:
            return
        tokens, frame = self._fixed + self._live, self._made
        self._kept = self._found(frame)
        moment = Moment(
            tokens=tokens,
            cached=0.0,
            slid=frame is not None and frame.slid,
            frame=None if frame is None else frame.number,
            reason=None if frame is None else frame.reason,
        )
        self.told.append(self._counted(moment, tokens))
        self._before, self._made, self._open, self._asked_at = tokens, None, False, self._at
        self._asked_of = self._turn

    def _found(self, frame: Frame | None) -> int:
        """What of a request stood in the one before."""
        cold = self._at is not None and self._asked_at is not None and self._at - self._asked_at > self._cache_seconds
        if self._before is None or cold:
            return 0
        if frame is not None:
            return self._fixed
        if self._recalls and self._turn != self._asked_of:
            # What was recalled for the turn before stood in front of it, and has left.
            return self._fixed + self._digest + self._starts[0]
        return self._before

    def _counted(self, moment: Moment, tokens: int) -> Moment:
        """The moment with what its request took, and what of that a provider finds in its cache."""
        charge = charge_of(tokens, min(self._kept, tokens), smallest=self._prices.smallest)
        return msgspec.structs.replace(moment, tokens=tokens, cached=charge.cached_share)


def _entering(fold: Fold, event: Event) -> int:
    """What a message took as it entered the window: giant results are shortened before anybody sees them."""
    if event.role == "meta":
        return 0
    if event.tokens <= fold.limits.record_over:
        return event.tokens
    message = message_of(event)
    return fold.entering(LiveMessage(event.seq - 1, message, size_of(message, fold.counter))).size.tokens


def cached_share(moments: list[Moment]) -> float | None:
    """Of all that was sent, what could be read from a cache; None where nothing was."""
    sent = sum(moment.tokens for moment in moments)
    return sum(moment.cached * moment.tokens for moment in moments) / sent if sent else None
