"""
A window: a fold with its setup. It takes messages and answers what can be asked about them.

The one way from a log to a request. `fit` folds a history that came whole, a command folds a
file line by line, a thread adds the store.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sash.core.budget import Ledger
from sash.core.commands import reframe
from sash.core.explain import explain
from sash.core.explanation import ExplainedTurn, Explanation
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.kept import Lookup
from sash.core.limits import Limits
from sash.core.message import Message
from sash.core.past import Past
from sash.core.pressure import Pressure, pressure_of
from sash.core.recall import Archive
from sash.core.remedy import change_of
from sash.core.size import Size, size_of
from sash.core.state import FoldState
from sash.core.tokens import Counter, TokenCount
from sash.core.turn import SYSTEM
from sash.counters import Choice
from sash.errors import BodyTooLarge, InvalidRequest
from sash.window.context import Context
from sash.window.outgoing import Outgoing
from sash.window.overflow import overflow
from sash.window.prepared import Prepared
from sash.window.prompt import as_prompted
from sash.window.seal import Seal, Unseal
from sash.window.setup import Setup
from sash.wire import WIRES

LEAST_STEP = 0.75
"""Of what history takes: so far it goes down at least when a provider refuses it."""


class Window:
    """What the model sees of a log, as it grows."""

    def __init__(self, setup: Setup, *, choice: Choice | None = None, fold: Fold | None = None) -> None:
        self.setup = setup
        self.choice = choice or setup.choice()
        self.counter: Counter = self.choice.counter
        """What counts for the model."""
        if fold is None:
            limits = setup.limits(self.choice, setup.fixed(self.counter))
            fold = Fold(setup.policy, limits, self.counter)
            # What leaves a window that nothing is stored of is kept here; a thread looks it up in its store.
            fold.memory = Archive() if setup.policy.recall_tokens else None
        self.fold = fold
        self.size = Size(0)
        """Of the newest message, as it came."""
        self._outgoing: dict[str, Outgoing] = {}

    @classmethod
    def resumed(cls, setup: Setup, state: FoldState, lookup: Lookup) -> Window:
        """The window that had this state."""
        choice = setup.choice()
        listed = tuple(TokenCount(kept.size.tokens, kept.size.exact) for kept in state.system)
        limits = setup.limits(choice, setup.fixed(choice.counter, listed))
        fold = state.fold(setup.policy, limits, choice.counter, lookup)
        return cls(setup, choice=choice, fold=fold)

    def unseal(self, seal: Seal, log: Unseal) -> None:
        """Let requests grow from what was sealed with its state."""
        outgoing = self.outgoing(seal.wire)
        outgoing.go_on(seal, self.fold.frame, log)

    def seal(self) -> Seal | None:
        """What a restart needs to go on from the request at this point; None where that could not be sent as it is."""
        wire = self._spoken_on()
        return self.outgoing(wire).seal(self.fold) if wire in WIRES and wire != "flat" else None

    def _spoken_on(self) -> str:
        """The wire of the newest message."""
        if self.fold.resting is not None:
            return next(iter(self._outgoing), "")
        newest = next(reversed(self.fold.turns.values()), None)
        return "" if newest is None else newest.last().message.wire

    def copy(self) -> Window:
        """A window that goes on by itself from here."""
        twin = Window(self.setup, choice=self.choice, fold=self.fold.copy())
        twin._outgoing = {wire: outgoing.copy(self.setup, self.counter) for wire, outgoing in self._outgoing.items()}
        return twin

    @property
    def frame(self) -> Frame:
        """The frame in force."""
        return self.fold.frame

    def fixed(self) -> TokenCount:
        """What a request takes before anything is said."""
        return self.setup.fixed(self.counter, self._listed())

    def limits(self) -> Limits:
        """The policy's sizes for the model and for what stands beside the conversation."""
        return self.setup.limits(self.choice, self.fixed())

    def _listed(self) -> tuple[TokenCount, ...]:
        return tuple(TokenCount(live.size.tokens, live.size.exact) for live in self.fold.system)

    def add(
        self, message: Message, at: float | None = None, *, position: int | None = None, held: bool = False
    ) -> Frame | None:
        """One more message; the frame it leads to, if it leads to one."""
        fold = self.fold
        self.size = size = size_of(message, self.counter)
        frame = fold.add(message, size, at, position=position, held=held)
        if fold.placed.turn == SYSTEM:
            # A system prompt among the messages stands in every request from now on.
            fold.limits = self.limits()
        return frame

    def configure(self, setup: Setup, *, held: bool = False) -> Frame | None:
        """
        Goes on with another setup; the frame that this leads to, if it leads to one.

        A smaller window slides; a larger one admits nothing again. With `held` nothing leaves now.
        """
        before, self.setup = self.setup, setup
        self.choice = setup.choice()
        self.counter = self.choice.counter
        self.fold.configure(setup.policy, self.limits(), self.counter)
        if not self.fold.turns:
            return None
        frame = None
        if not held and self.fold.over_high():
            frame = self.fold.slide("configure")
        return reframe(self.fold, "configure") if frame is None and _head(before) != _head(setup) else frame

    def refused(self, setup: Setup, *, held: bool = False) -> Frame | None:
        """
        The provider would not read the request: goes on with what that taught, and slides.

        Down to the low mark where that is known to be less than it has now, else a good deal
        further than it has: the next request must not be refused too. With `held` nothing leaves.
        """
        before, self.setup = self.setup, setup
        fold = self.fold
        fold.configure(setup.policy, self.limits(), self.counter)
        if held or not fold.turns:
            return None
        low = None
        if not fold.over_high():
            low = min(fold.limits.low, int(fold.taken * min(setup.policy.keep_share, LEAST_STEP)))
        fold.suspended = False
        frame = fold.slide("overflow", low=low)
        if frame is None and setup != before:
            frame = reframe(fold, "overflow")
        # What is sent now is what the next report will speak of.
        fold.asked = fold.tokens
        return frame

    def outgoing(self, wire: str) -> Outgoing:
        """The requests on that wire, each grown from the one before it."""
        outgoing = self._outgoing.get(wire)
        if outgoing is None or outgoing.setup is not self.setup or outgoing.counter is not self.counter:
            outgoing = self._outgoing[wire] = Outgoing(self.setup, self.counter, wire)
        return outgoing

    def go_on(self, before: Outgoing) -> None:
        """Let requests grow from one that was made of the same history, in another window."""
        if before.setup == self.setup and (before.counter.id, before.counter.version) == (
            self.counter.id,
            self.counter.version,
        ):
            self._outgoing[before.wire] = before.copy(self.setup, self.counter)

    def prepared(self, wire: str) -> Prepared:
        """
        The request at this point of the log.

        Only reads: where a request alone would be too large, it gives way and the window does
        not. Raises `WindowOverflow` when what may not be left out is already too large.
        """
        fold = self.fold
        prepared = self.outgoing(wire).prepared(fold)
        if (over := prepared.tokens.value - fold.limits.room) > 0:
            # More stands beside history than was allowed for, or a call is open: this one request gives way for it.
            low = max(0, self.fold.tokens - over - fold.limits.summary - fold.limits.step_digest)
            fold = fold.copy()
            planned = fold.plan("window", low=low)
            if planned is not None:
                fold.make(planned)
                prepared = Outgoing(self.setup, self.counter, wire).prepared(fold).alone()
            if prepared.tokens.value > fold.limits.room:
                raise overflow(prepared, fixed=self.fixed(), answer=self.setup.answer)
        if prepared.size > self.setup.policy.body_bytes:
            raise BodyTooLarge(size=prepared.size, limit=self.setup.policy.body_bytes)
        return prepared

    def explain(self, log: Sequence[Message] = (), *, past: Past | None = None, stored: bool = False) -> Explanation:
        """Of every turn and every tool result: in or out, by which rule, since when, and how to get it back."""
        explained = explain(self.fold, log, past=past, stored=stored)
        return as_prompted(explained, self.fold, self.setup.policy) if self.setup.policy.flat else explained

    def turns(self, *, past: Past | None = None, stored: bool = False) -> tuple[ExplainedTurn, ...]:
        """All turns, evicted ones too, each with where it stands and why."""
        return self.explain(past=past, stored=stored).turns

    def context(self, sent: Prepared | None = None) -> Context:
        """
        Where the tokens go of a request that was made here, or else of the next one.

        The next one is on the wire of the newest message, or a flat prompt.
        """
        fold = self.fold if sent is None else sent.fold
        # Counted first: a window that comes from a store is read for it, and then knows its wire.
        messages = sum(1 for _ in fold.window())
        ledger, used, unsent = self._used(sent or self.upcoming())
        return Context(
            model=self.choice.model.name,
            counter=self.counter.id,
            counter_why=self.choice.why,
            used=used,
            window=fold.limits.window,
            window_known=fold.limits.window_known,
            high=fold.limits.high,
            low=fold.limits.low,
            frame=fold.frame.number,
            boundary=fold.frame.boundary,
            turns=len(fold.turns),
            messages=messages,
            ledger=ledger,
            changes={row.source: change_of(row.source, self.setup.policy, fold.limits) for row in ledger.rows},
            around=used.value - ledger.used.value,
            suspended=fold.suspended,
            unsent=unsent,
            pressure=pressure_of(used, fold.limits.window),
        )

    def upcoming(self) -> Prepared | None:
        """
        The request as `context` tells it: on the wire of the newest message, or as a flat prompt.

        None where nothing can be sent yet. It may be too large: what would give way for it is still there.
        """
        wire = self._spoken_on()
        if wire and self.setup.policy.flat:
            wire = "flat"
        try:
            return self.outgoing(wire).prepared(self.fold) if wire in WIRES else None
        except InvalidRequest:
            return None

    def _used(self, sent: Prepared | None) -> tuple[Ledger, TokenCount, int]:
        """Who has what of a request, what all of it takes as it is sent, and what of history is not in it."""
        if sent is not None:
            return sent.report.ledger, sent.tokens, sent.report.unsent
        # Nothing can be sent yet: what stands in the log is told.
        outgoing = self.outgoing("")
        ledger = outgoing.settled(self.fold).laid_out(self.fold.total, outgoing.beside(self.fold))
        return ledger, ledger.used, 0

    def pressure(self) -> Pressure:
        """How full the window is."""
        return self.context().pressure


def _head(setup: Setup) -> Setup:
    """What of a setup shapes the head of a request."""
    stable = tuple(source for source in setup.sources if source.stable)
    return msgspec.structs.replace(setup, sources=stable, tools=(), answer=0)
