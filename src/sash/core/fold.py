"""
The fold: a log goes in, message by message, and its frames come out.

The same log gives the same frames, always: that is why a restart, a replay, a dry run and
the stateless door are the same function. Adding a message costs the same however long
the log is; a slide costs what is in the window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from sash.core.cost import best_keep_share
from sash.core.digest import Digest
from sash.core.frame import START, Frame, Reason, handle_of, shortened_by_message
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message
from sash.core.names import names_in
from sash.core.past import Evicted, Past
from sash.core.policy import Limits, Policy
from sash.core.priority import SEED, SIGNALS, scores_of, superseded
from sash.core.shorten import shorten, weight
from sash.core.shown import shown
from sash.core.size import Part, Size
from sash.core.slide import Situation, Slide, plan_slide
from sash.core.state import FoldState, KeptMessage, KeptTurn, Lookup
from sash.core.tokens import Counter, TokenCount
from sash.core.told import STEPS_LEFT, Room, digest_text, step_text
from sash.core.turn import SYSTEM, Placed, Placing, title_of

RECENT = 5
"""Closed turns whose mean size tells how large the next one may be."""
BODY_SHARE = 0.95
"""Of the most bytes of a body: the rest is for system prompt, tools and what stands between messages."""
EARLY_SHARE = 0.7
"""Of the high mark: above it a slide between turns may come early, for it loses less than one inside a turn."""

NO_TURN = -1
"""Stands where a turn's number does, for what stands for whole turns."""

BeforeSlide = Callable[[Slide], bool]

_CAN_WAIT: frozenset[Reason] = frozenset({"between turns", "cold cache"})


class Fold:
    """A log folded up to here: its frame, and what is in the window."""

    def __init__(self, policy: Policy, limits: Limits, counter: Counter) -> None:
        self.policy, self.limits, self.counter = policy, limits, counter
        self.frame = START
        self.past = Past()
        """Grows with the log, and is not needed to go on."""
        self.placing = Placing()
        self.system: list[LiveMessage] = []
        self.turns: dict[int, LiveTurn] = {}
        """Carried and live turns, in log order."""
        self.digest = Digest()
        self._texts: dict[int, str] = {}
        """What stands for what left, as this frame shows it."""
        self.pinned: frozenset[int] = frozenset()
        self.tokens = 0
        """What history takes as it is shown."""
        self.exact = True
        self.body = 0
        self.factor = 1.0
        """What the provider's reports say a counted token is worth."""
        self.suspended = False
        """After an undo the high mark is not looked at until the window forces a slide."""
        self.before_slide: BeforeSlide | None = None
        """May veto a slide that can wait."""
        self.asked = 0
        """What history took at the newest request point: what a provider's report speaks of."""
        self._closed: deque[int] = deque(maxlen=RECENT)
        self._requests = self._added = 0
        """Request points so far, and the tokens that came with them: how fast the thread grows."""
        self._said_at: float | None = None
        self._due: tuple[Reason, int | None] | None = None
        """A slide that was asked for while calls were open."""

    def state(self) -> FoldState:
        """What must survive a restart."""
        return FoldState(
            frame=self.frame,
            placing=self.placing.copy(),
            system=tuple(map(KeptMessage.of, self.system)),
            turns=tuple(map(KeptTurn.of, self.turns.values())),
            digest=self.digest.copy(),
            pinned=tuple(sorted(self.pinned)),
            tokens=self.tokens,
            exact=self.exact,
            body=self.body,
            factor=self.factor,
            suspended=self.suspended,
            closed=tuple(self._closed),
            requests=self._requests,
            added=self._added,
            asked=self.asked,
            said_at=self._said_at,
            due=self._due,
        )

    @classmethod
    def resumed(cls, state: FoldState, policy: Policy, limits: Limits, counter: Counter, lookup: Lookup) -> Fold:
        """The fold that had this state; of its past it knows the newest frame only."""
        fold = cls(policy, limits, counter)
        fold.frame, fold.past = state.frame, Past([state.frame])
        fold.placing, fold.digest = state.placing.copy(), state.digest.copy()
        fold.system = [kept.live(lookup) for kept in state.system]
        fold.turns = {kept.number: kept.live(lookup) for kept in state.turns}
        fold.pinned = frozenset(state.pinned)
        fold.tokens, fold.exact, fold.body = state.tokens, state.exact, state.body
        fold.factor, fold.suspended, fold.asked = state.factor, state.suspended, state.asked
        fold._closed.extend(state.closed)
        fold._requests, fold._added = state.requests, state.added
        fold._said_at, fold._due = state.said_at, state.due
        return fold

    def copy(self) -> Fold:
        """A fold that goes on by itself from here."""
        twin = Fold.__new__(Fold)
        twin.__dict__.update(self.__dict__)
        twin.placing, twin.digest = self.placing.copy(), self.digest.copy()
        twin.past, twin.system = self.past.copy(), self.system[:]
        twin.turns = {number: turn.copy() for number, turn in self.turns.items()}
        twin._closed = self._closed.copy()  # noqa: SLF001  # its own kind
        return twin

    def __len__(self) -> int:
        return self.placing.length

    def calibrated(self, tokens: int, exact: bool) -> TokenCount:
        """So many counted tokens as the marks count them: times what the provider's reports say."""
        count = TokenCount(tokens, exact)
        return count if self.factor == 1.0 else count.scaled(self.factor)

    def window(self) -> Iterator[LiveMessage]:
        """All messages in the window, the system prompt first."""
        yield from self.system
        for turn in self.turns.values():
            yield from turn.messages()

    def add(
        self, message: Message, size: Size, at: float | None = None, *, position: int | None = None
    ) -> Frame | None:
        """
        One more message; the frame it leads to, if it leads to one.

        Its position is the next one, unless other events stand between the messages of the log.
        """
        if position is not None:
            self.placing.length = position
        frame, placed = self._added_to(message, size, at)
        if placed.request_point:
            self.asked = self.tokens
        return frame

    def _added_to(self, message: Message, size: Size, at: float | None) -> tuple[Frame | None, Placed]:
        position = self.placing.length
        placed = self.placing.add(message)
        if message.role == "meta":
            size = Size(0)
        whole_tokens, self.exact = size.tokens, self.exact and size.exact
        live = LiveMessage(position, message, size)
        if self.limits.record_over and size.tokens > self.limits.record_over:
            live = self._recorded(live)
        if placed.turn == SYSTEM:
            self.system.append(live)
            return None, placed
        self._turn(placed, message).add(live, whole_tokens)
        self.tokens += live.size.tokens
        self.body += live.size.body
        self._requests += placed.request_point
        self._added += live.size.tokens
        before, self._said_at = self._said_at, at
        pause = at - before if at is not None and before is not None else 0.0
        if self._due is not None and placed.request_point:
            (command, low), self._due = self._due, None
            return self.slide(command, low=low), placed
        reason = self._reason(message, placed, pause)
        return (self.slide(reason) if reason is not None else None), placed

    def slide(self, reason: Reason, *, low: int | None = None) -> Frame | None:
        """Slides now; None when nothing would change, or when a slide that could wait would free too little."""
        if self.placing.calls_open:
            # A step whose results are not there yet can neither leave nor change: the slide comes right after it.
            self._due = (reason, low)
            return None
        planned = self.plan(reason, low=low)
        if planned is None or (reason in _CAN_WAIT and not self._worth_it(planned)):
            return None
        return self.make(planned)

    def _worth_it(self, planned: Slide) -> bool:
        """Whether a slide that could wait is to be made all the same."""
        if planned.frame.freed < self.limits.worth:
            return False
        return self.before_slide is None or self.before_slide(planned)

    def plan(self, reason: Reason, *, low: int | None = None) -> Slide | None:
        """What a slide would do, without doing it."""
        if not self.turns:
            return None
        if low is None and self.policy.adaptive:
            share = best_keep_share(self.policy.prices, self._added / max(1, self._requests), self.limits.high)
            low = int(share * self.limits.high)
        turns = list(self.turns.values())
        scores: dict[int, int] = {}
        if self.policy.order == "priority" or self.policy.carry_tokens:
            signals = SEED if self.policy.order == "priority" else SIGNALS
            scored = scores_of(turns, self.placing.length, len(self.system), signals)
            scores = {number: score.value for number, score in scored.items()}
        limits = self.limits
        if reason == "window" and low is not None:
            # A request that would be refused: what may stay above the low mark elsewhere may not here.
            limits = msgspec.structs.replace(limits, high=min(limits.high, low))
        situation = Situation(
            limits=limits,
            policy=self.policy,
            measure=self._measure,
            count=lambda message: self.counter.message(message).value,
            at=self.placing.length,
            pinned=self.pinned,
            superseded=superseded(turns) if self.limits.shorten_over else frozenset(),
            scores=scores,
            factor=self.factor,
            low=low,
            body_over=self.body > BODY_SHARE * self.policy.body_bytes,
        )
        return plan_slide(self.frame, turns, situation, reason=reason)

    def digest_text(self) -> str:
        """What stands for the turns that left: the same until the next frame, so it is put together once."""
        return self._standing()[NO_TURN]

    def step_text(self, turn: int) -> str:
        """What stands for the steps of a live turn that left."""
        return self._standing().get(turn, "")

    def _standing(self) -> dict[int, str]:
        """All that stands for what left, within what is reserved for it; what one leaves unused, the other has."""
        if not self._texts:
            digest, kind = self.digest, self.policy.replace
            room = Room(self.limits.step_digest, self._tokens_of)
            visible = self._visible() if digest.noted and kind == "digest" else frozenset()
            alone = kind == "digest" and not digest.turns
            for turn in reversed([turn.number for turn in self.turns.values() if turn.digested]):
                # Who wants no step digest wants none from the summary's room either.
                most = room.tokens + (self.limits.summary if alone and room.fits(STEPS_LEFT) else 0)
                text = step_text(digest, turn, Room(most, room.count), alone=alone, visible=visible)
                room, alone = Room(max(0, room.tokens - room.count(text)), room.count), False
                self._texts[turn] = text
            most = self.limits.summary + (room.tokens if kind == "digest" else 0)
            self._texts[NO_TURN] = digest_text(digest, kind, Room(most, room.count), visible=visible)
        return self._texts

    def _tokens_of(self, text: str) -> int:
        return self.counter.text(text).value

    def _visible(self) -> frozenset[str]:
        """Names that the window showed when this frame was made, and shows until the next."""
        shortened = shortened_by_message(self.frame)
        names: set[str] = set()
        for live in self.window():
            if live.position < self.frame.at:
                message = shown(live, shortened.get(live.position, ())) if shortened else live.message
                names.update(names_in(message.whole_text if message is not None else ""))
        return frozenset(names)

    def make(self, slide: Slide) -> Frame:
        """Makes a planned slide."""
        self._texts = {}
        before, self.frame = self.frame, slide.frame
        self.past.frames.append(slide.frame)
        for number in slide.evicted:
            turn = self.turns.pop(number)
            self.digest.add(turn)
            first = turn.first().position
            gone = Evicted(number, turn.title, turn.whole_tokens, len(turn), first, slide.frame.number)
            self.past.evicted.append(gone)
        for digested in slide.frame.digested:
            turn = self.turns[digested.turn]
            self.digest.add_steps(turn, turn.digested, digested.steps)
            turn.digested = digested.steps
        if self.policy.replace == "digest":
            self._remember_shortened(before)
        for number, turn in self.turns.items():
            turn.tokens, turn.body = slide.tokens[number], slide.bodies[number]
        self.tokens, self.body = sum(slide.tokens.values()), sum(slide.bodies.values())
        self.suspended = False
        return slide.frame

    def _remember_shortened(self, before: Frame) -> None:
        """What this frame is the first to show in part, and what was shortened on entry since the one before it."""
        known = set(before.shortened)
        places = {(short.message, short.block) for short in self.frame.shortened if short not in known}
        for live in self.window():
            if live.came is not None and live.position >= before.at:
                places.update((live.position, part.block) for part in live.size.parts)
        if places:
            for turn in self.turns.values():
                self.digest.add_shortened(turn, places)

    def _turn(self, placed: Placed, message: Message) -> LiveTurn:
        turn = self.turns.get(placed.turn)
        if turn is None:
            if self.turns:
                self._closed.append(next(reversed(self.turns.values())).entered_tokens)
            title = title_of(message) if placed.starts else ""
            turn = self.turns[placed.turn] = LiveTurn(placed.turn, title, [], [])
        return turn

    def _recorded(self, live: LiveMessage) -> LiveMessage:
        """A single giant result is shortened before anybody has seen it, and stays so until a slide."""
        limit, size = self.limits.record_over, live.size
        blocks, parts = list(live.message.blocks), list(size.parts)
        for place, part in enumerate(size.parts):
            if part.kind == "result" and part.tokens > limit:
                short = shorten(live.block(part.block), handle_of(live.position, part.block), limit * 4 // 5)
                blocks[part.block] = short
                parts[place] = Part(part.block, part.kind, self.counter.block(short).value)
        if tuple(blocks) == live.message.blocks:
            return live
        smaller = msgspec.structs.replace(
            size,
            tokens=size.tokens - sum(part.tokens for part in size.parts) + sum(part.tokens for part in parts),
            body=size.body - sum(map(weight, live.message.blocks)) + sum(map(weight, blocks)),
            parts=tuple(parts),
        )
        return LiveMessage(live.position, live.message.edit(tuple(blocks)), smaller, live.message, limit * 4 // 5)

    def _reason(self, message: Message, placed: Placed, pause: float) -> Reason | None:
        """Why a slide is to be considered at this message, if it is."""
        at_turns = self.policy.check == "turn"
        if at_turns and message.role == "assistant" and not self.placing.calls_open and self._over(self._high()):
            return "high mark"
        if not placed.request_point:
            return None
        if self.policy.recent_turns and len(self.turns) - 1 > self.policy.recent_turns:
            return "recent turns"
        if self.body > BODY_SHARE * self.policy.body_bytes:
            return "bytes"
        if self.suspended or at_turns:
            return "window" if self._over(self.limits.hard - self.limits.fixed) else None
        if self._over(self._high()):
            return "high mark"
        if placed.starts and self.policy.soft_share < 1 and self._next_turn_would_pass():
            return "between turns"
        if pause > self.policy.cache_seconds and self._over(self.limits.soft):
            return "cold cache"
        return None

    def _high(self) -> int:
        """
        The high mark in force.

        Where what may not leave is over it, a slide at every request would free next to
        nothing and break the cache each time: then enough has to gather first.
        """
        current = next(reversed(self.turns.values()))
        if self.frame.fits or current.first().position >= self.frame.at:
            return self.limits.high
        return min(int(self.frame.tokens * self.factor) + self.limits.worth, self.limits.hard - self.limits.fixed)

    def _over(self, mark: float) -> bool:
        return self.tokens * self.factor > mark

    def _next_turn_would_pass(self) -> bool:
        if not self._closed or not self._over(EARLY_SHARE * self.limits.high):
            return False
        return self._over(self.limits.high - sum(self._closed) / len(self._closed) * self.factor)

    def _measure(self, live: LiveMessage, block: int, keep: int) -> int:
        short = shorten(live.block(block), handle_of(live.position, block), keep)
        return self.counter.block(short).value
