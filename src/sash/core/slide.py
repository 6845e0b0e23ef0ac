"""
The planner: what leaves the window when it is too full, least loss first.

`plan_slide` is a pure function of the last frame, the turns in the window and the limits.
It climbs down a ladder and stops on the rung that reaches the low mark: shorten old
results, evict whole turns, shorten and digest inside the current turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from sash.core.frame import DigestedSteps, Frame, Reason, Shortened
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Document, Image, Message, Opaque, ToolResult
from sash.core.policy import Limits, Policy
from sash.core.shorten import weight
from sash.core.shown import shown
from sash.core.size import Kind, Part

Measure = Callable[[LiveMessage, int, int], tuple[int, int]]
"""Tokens and bytes of a shortened block: the message, the block's place, characters kept (0: the usual form)."""


class Slide(msgspec.Struct, frozen=True, kw_only=True):
    """A slide that is worth making: the next frame and what it takes out of the window."""

    frame: Frame
    evicted: tuple[int, ...] = ()
    """Turns that leave."""
    tokens: Mapping[int, int] = {}
    """What each turn that stays takes now."""
    bodies: Mapping[int, int] = {}
    """Bytes that each turn that stays takes now."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """All that a slide is planned from, beside frame and turns."""

    limits: Limits
    policy: Policy
    measure: Measure
    count: Callable[[Message], int]
    at: int
    """Messages in the log."""
    pinned: frozenset[int] = frozenset()
    superseded: frozenset[tuple[int, int]] = frozenset()
    """Results that later work has made stale: position and block."""
    scores: Mapping[int, int] = {}
    """Turns' priorities, where the policy asks for them."""
    factor: float = 1.0
    """What the provider's reports say a counted token is worth."""
    low: int | None = None
    """A lower mark than the policy's, for the user's own command."""
    body_over: bool = False


def plan_slide(frame: Frame, turns: Sequence[LiveTurn], situation: Situation, *, reason: Reason) -> Slide | None:
    """
    The next frame, or None when nothing would change.

    Goes down to the low mark and not just under the high one: every slide breaks
    the provider's cache, so slides must be rare.
    """
    ladder = _Ladder(frame, turns, situation)
    ladder.climb_down()
    return ladder.slide(reason)


def tokens_shown(frame: Frame, turns: Sequence[LiveTurn], situation: Situation) -> dict[int, int]:
    """What each turn takes as a frame shows it, added up anew."""
    return _Ladder(frame, turns, situation).tokens_shown() if turns else {}


class _Ladder:
    """One slide being planned."""

    def __init__(self, frame: Frame, turns: Sequence[LiveTurn], situation: Situation) -> None:
        self.frame, self.now = frame, situation
        self.turns = {turn.number: turn for turn in turns}
        self.current = turns[-1]
        self.sizes = {turn.number: turn.tokens for turn in turns}
        self.before = self.total = sum(self.sizes.values())
        self.bodies = {turn.number: turn.body for turn in turns}
        self.body = sum(self.bodies.values())
        self.shortened = {(short.message, short.block): short for short in frame.shortened}
        self.digested = {turn.number: turn.digested for turn in turns if turn.digested}
        self.evicted: list[int] = []
        self.plain = self._plain()
        self._last = self._compacted() if situation.limits.step_digest else frozenset()
        """Turns that leave after all others. Seeds know whole turns alone, the oldest first."""
        self._measured: dict[tuple[int, int, int], tuple[int, int]] = {}
        # The marks count what the provider counts.
        self.low = int((situation.limits.low if situation.low is None else situation.low) / situation.factor)
        self.high = int(situation.limits.high / situation.factor)

    def climb_down(self) -> None:
        self._leave_out_pictures()
        self._drop_thinking()
        self._tell_as_text()
        if self.total > self.low:
            self._shorten_old_results()
        evictable = self._evictable()
        if self.now.policy.order == "priority" and self._over(self.low):
            # Seed 001: what scores less is summarized, whether or not there would be room for it.
            self._evict([number for number in evictable if self.now.scores.get(number, 0) < WORTH_CARRYING], -1)
        self._evict(evictable, self.low)
        if not self.now.limits.step_digest:
            return
        self._shorten_current_turn()
        completed = len(self.current.steps) - 1
        if completed > self.current.digested:
            self._evict_what_bars_the_low_mark()
        self._digest_steps(self.current, completed, self.low)
        if self.total > self.high:
            self._shrink_unseen()
        # Nothing else is left: the turns that were to leave last leave now, and of the first only the request stays.
        self._evict(self._unpinned(), self.high)
        first = self.turns[self._first()]
        if first is not self.current and first.number not in self.now.pinned | set(self.evicted):
            self._digest_steps(first, len(first.steps), self.high)

    def _over(self, mark: int) -> bool:
        return self.total > mark or self._too_many_bytes()

    # Rung 1: pictures, thinking, old results.

    def _leave_out_pictures(self) -> None:
        """Pictures of closed turns, oldest first, when the body is too large to send."""
        if not self._too_many_bytes():
            return
        for turn in self.turns.values():
            if turn is self.current or turn.number in self.now.pinned:
                continue
            for kind in _WITH_PICTURES:
                for live, part in turn.parts(kind):
                    if self._too_many_bytes() and not self._is_short(live, part) and _holds_picture(live, part):
                        self._shorten(turn.number, live, part)

    def _drop_thinking(self) -> None:
        """Signed thinking is bound to what was said before it, which is about to change."""
        for turn in self.turns.values():
            for live, part in turn.parts("thinking", signed=True):
                if live.position >= self.frame.unsigned_before:
                    self._free(turn.number, part.tokens)
                    self._lighten(turn.number, weight(live.block(part.block)))

    def _tell_as_text(self) -> None:
        """What is told as text from now on, or no longer, takes another room."""
        if self.plain == self.frame.plain:
            return
        for turn in self.turns.values():
            for live in turn.messages():
                was, will = _within(live, self.frame.plain), _within(live, self.plain)
                if was != will:
                    told = self._told(live)
                    self._free(turn.number, (told - self._added_up(live)[0]) * (1 if was else -1))

    def _shorten_old_results(self) -> None:
        """Large results, superseded ones first, then the oldest; the newest stay whole."""
        limits = self.now.limits
        if not limits.shorten_over:
            return
        protected, candidates = limits.protect_results, []
        unseen = {live.position for live in self.current.unseen()}
        turns = [turn for turn in self.turns.values() if turn.number not in self.now.pinned]
        results = [(turn, live, part) for turn in turns for live, part in turn.parts("result")]
        for turn, live, part in reversed(results):
            protected -= part.tokens
            stale = (live.position, part.block) in self.now.superseded
            if live.position in unseen or (protected >= 0 and not stale) or self._is_short(live, part):
                continue
            if part.tokens > limits.shorten_over:
                candidates.append((not stale, live.position, part.block, turn, live, part))
        short = min(USUAL_TOKENS, limits.shorten_over // 2)
        if sum(part.tokens - short for *_, part in candidates) < limits.worth:
            return
        candidates.sort(key=lambda candidate: candidate[:3])
        leaving = self._leaving_all_the_same([(turn.number, part.tokens) for *_, turn, _, part in candidates])
        if not leaving and sum(self._gain(live, part) for *_, live, part in candidates) < limits.worth:
            # Where no turn has to leave the cache could stay whole: then it is measured.
            return
        for *_, turn, live, part in candidates:
            if self.total <= self.low:
                return
            if turn.number not in leaving and self._gain(live, part) > 0:
                self._shorten(turn.number, live, part)

    def _leaving_all_the_same(self, shortened: Iterable[tuple[int, int]]) -> set[int]:
        """Turns that would leave even if these results took nothing: it is in vain to shorten what is in them."""
        if self.now.policy.carry_tokens:
            # A turn may be carried because it has been shortened.
            return set()
        least, total, leaving = self.sizes.copy(), self.total, set()
        for number, tokens in shortened:
            least[number] -= tokens
            total -= tokens
        for number in self._evictable():
            if total <= self.low:
                break
            total -= least[number]
            leaving.add(number)
        return leaving

    # Rung 2: whole turns.

    def _evictable(self) -> list[int]:
        """Turns that may leave before the ladder goes into the current turn, first to leave first."""
        policy = self.now.policy
        numbers = list(self.turns)
        last = {*numbers[-policy.min_turns :], *self._last}
        if policy.min_messages:
            last |= self._holding_newest(policy.min_messages)
        may_leave = [number for number in self._unpinned() if number not in last]
        if policy.order == "priority":
            return sorted(may_leave, key=lambda number: (self.now.scores.get(number, 0), -number))
        carried = self._for_their_priority(may_leave)
        return [number for number in may_leave if number not in carried]

    def _unpinned(self) -> list[int]:
        kept = {self.current.number} | self.now.pinned
        if self.now.policy.keep_first and self._first() <= 1:
            kept.add(self._first())
        unpinned = [number for number in self.turns if number not in kept]
        return sorted(unpinned, key=self._last.__contains__)

    def _compacted(self) -> frozenset[int]:
        """The turn, if there is one, in which the provider itself wrote what stands for all before it."""
        for turn in reversed(self.turns.values()):
            for live in turn.messages():
                for block in live.message.blocks:
                    if type(block) is Opaque and block.covers:
                        return frozenset({turn.number})
        return frozenset()

    def _first(self) -> int:
        """The first turn of the window that the user started."""
        return next((number for number in self.turns if number > 0), 0)

    def _holding_newest(self, messages: int) -> set[int]:
        holding: set[int] = set()
        for turn in reversed(self.turns.values()):
            if messages <= 0:
                break
            holding.add(turn.number)
            messages -= sum(1 for _ in turn.messages())
        return holding

    def _for_their_priority(self, may_leave: Sequence[int]) -> set[int]:
        """Turns worth carrying although they are old, best first, within their allowance."""
        room = self.now.policy.carry_tokens
        carried: set[int] = set()
        if room:
            scores = self.now.scores
            for number in sorted(may_leave, key=lambda number: (-scores.get(number, 0), number)):
                if scores.get(number, 0) >= WORTH_CARRYING and self.sizes[number] <= room:
                    room -= self.sizes[number]
                    carried.add(number)
        return carried

    def _too_many_turns(self) -> bool:
        most = self.now.policy.recent_turns
        return bool(most) and len(self.turns) - len(self.evicted) - 1 > most

    def _too_many_bytes(self) -> bool:
        return self.now.body_over and self.body > self.now.policy.body_bytes * min(0.9, self.now.policy.keep_share)

    def _evict(self, numbers: Iterable[int], mark: int) -> None:
        for number in numbers:
            if not self._over(mark) and not self._too_many_turns():
                return
            if number not in self.evicted:
                self.evicted.append(number)
                self._free(number, self.sizes[number])
                self._lighten(number, self.bodies[number])

    def _evict_what_bars_the_low_mark(self) -> None:
        """
        Turns that were to leave last leave now, where what stands beside the current turn is over the low mark.

        Else only the current turn could give way, a few steps at a time, with a slide at every other request. Where
        it would be over the low mark without them too, they leave as late as ever.
        """
        leaving = [number for number in self._unpinned() if number not in self.evicted]
        beside = self.total - self.sizes[self.current.number]
        if beside - sum(self.sizes[number] for number in leaving) > self.low:
            return
        for number in leaving:
            if self.total - self.sizes[self.current.number] <= self.low:
                return
            self._evict([number], self.low)

    # Rung 3: inside the current turn.

    def _shorten_current_turn(self) -> None:
        """Results the model has seen, then what it wrote itself; the user's own words stay whole."""
        turn = self.current
        unseen = {live.position for live in turn.unseen()}
        for kind in _IN_THE_CURRENT_TURN:
            for live, part in list(turn.parts(kind)):
                if not self._over(self.low):
                    return
                if live.position in unseen or live.position < self._first_step() or self._is_short(live, part):
                    continue
                if self._gain(live, part) > 0:
                    self._shorten(turn.number, live, part)

    def _first_step(self) -> int:
        return self.current.steps[0][0].position if self.current.steps else self.now.at

    def _digest_steps(self, turn: LiveTurn, completed: int, mark: int) -> None:
        """A step digest stands for the oldest completed steps."""
        done = turn.digested
        while done < completed and self._over(mark):
            for live in turn.steps[done]:
                tokens, body = self._shown_now(live)
                self._free(turn.number, tokens)
                self._lighten(turn.number, body)
            done += 1
        if done > turn.digested:
            self.digested[turn.number] = done

    def _shrink_unseen(self) -> None:
        """Results that the model has not seen yet shrink only as far as they must, the largest to one size."""
        unseen = {live.position for live in self.current.unseen()}
        parts = [(live, part) for live, part in self.current.parts("result") if live.position in unseen]
        sizes = [self._tokens_of(live, part) for live, part in parts]
        level = _level(sizes, sum(sizes) - (self.total - self.high))
        for (live, part), tokens in zip(parts, sizes, strict=True):
            if tokens > level:
                keep = self._characters_for(live, part, level)
                if self._measure(live, part.block, keep)[0] < tokens:
                    self._shorten(self.current.number, live, part, keep)

    def _characters_for(self, live: LiveMessage, part: Part, tokens: int) -> int:
        """How many characters of a result take about so many tokens, or fewer."""
        keep, taken = weight(live.block(part.block)), max(1, part.tokens)
        while taken > tokens:
            # Tokens per character differ along a text: a little less is kept, and measured.
            keep = int(keep * tokens / taken * 0.9)
            if keep <= LEAST_CHARS:
                return LEAST_CHARS
            taken, _ = self._measure(live, part.block, keep)
        return keep

    # What the window takes while the plan grows.

    def _measure(self, live: LiveMessage, block: int, keep: int) -> tuple[int, int]:
        """Tokens and bytes of a block that is shortened."""
        place = (live.position, block, keep)
        found = self._measured.get(place)
        if found is None:
            found = self._measured[place] = self.now.measure(live, block, keep)
        return found

    def _is_short(self, live: LiveMessage, part: Part) -> bool:
        short = self.shortened.get((live.position, part.block))
        return short is not None and short.keep == 0

    def _tokens_of(self, live: LiveMessage, part: Part) -> int:
        short = self.shortened.get((live.position, part.block))
        return part.tokens if short is None else self._measure(live, part.block, short.keep)[0]

    def _gain(self, live: LiveMessage, part: Part) -> int:
        return self._tokens_of(live, part) - self._measure(live, part.block, 0)[0]

    def _shorten(self, number: int, live: LiveMessage, part: Part, keep: int = 0) -> None:
        tokens, body = self._shown_now(live)
        self.shortened[live.position, part.block] = Shortened(live.position, part.block, keep)
        tokens_now, body_now = self._shown_now(live)
        self._free(number, tokens - tokens_now)
        self._lighten(number, body - body_now)

    def _free(self, number: int, tokens: int) -> None:
        self.sizes[number] -= tokens
        self.total -= tokens

    def _lighten(self, number: int, body: int) -> None:
        self.bodies[number] -= body
        self.body -= body

    def _shown_now(self, live: LiveMessage) -> tuple[int, int]:
        """Tokens and bytes of a message under the plan so far."""
        tokens, body = self._added_up(live)
        return (self._told(live) if _within(live, self.plain) else tokens), body

    def _told(self, live: LiveMessage) -> int:
        places = range(len(live.message.blocks))
        short = [found for place in places if (found := self.shortened.get((live.position, place))) is not None]
        message = shown(live, short, unsigned=True, plain=True)
        return 0 if message is None else self.now.count(message)

    def _added_up(self, live: LiveMessage) -> tuple[int, int]:
        """Tokens and bytes of a message that is shown as what it is, without its signed thinking."""
        tokens, body = live.size.tokens, live.size.body
        for part in live.size.parts:
            if part.kind == "thinking" and live.size.signed:
                tokens -= part.tokens
                body -= weight(live.block(part.block))
            elif (short := self.shortened.get((live.position, part.block))) is not None:
                short_tokens, short_body = self._measure(live, part.block, short.keep)
                tokens -= part.tokens - short_tokens
                body -= weight(live.message.blocks[part.block]) - short_body
        return tokens, body

    def tokens_shown(self) -> dict[int, int]:
        return {number: sum(map(self._tokens_by_frame, turn.messages())) for number, turn in self.turns.items()}

    def _tokens_by_frame(self, live: LiveMessage) -> int:
        if _within(live, self.frame.plain):
            return self._told(live)
        signed = 0
        if live.size.signed and live.position >= self.frame.unsigned_before:
            signed = sum(part.tokens for part in live.size.parts if part.kind == "thinking")
        return self._added_up(live)[0] + signed

    # The outcome.

    def slide(self, reason: Reason) -> Slide | None:
        gone = set(self.evicted)
        kept = [number for number in self.turns if number not in gone]
        last_gap = max((*gone, *self.frame.carried), default=-1)
        boundary = next(number for number in kept if number > last_gap)
        in_window = [live for number in kept for live in self._messages(self.turns[number])]
        positions = {live.position for live in in_window}
        signed = [live.position for live in in_window if live.size.signed]
        since = self.frame.unsigned_before
        frame = msgspec.structs.replace(
            self.frame,
            number=self.frame.number + 1,
            parent=self.frame.number,
            at=self.now.at,
            reason=reason,
            boundary=boundary,
            carried=tuple(number for number in kept if number < boundary),
            shortened=tuple(sorted(s for s in self.shortened.values() if s.message in positions)),
            digested=tuple(DigestedSteps(turn, steps) for turn, steps in self.digested.items() if turn not in gone),
            unsigned_before=self.now.at if signed and signed[-1] >= since else since,
            plain=self.plain,
            tokens_before=self.before,
            tokens=self.total,
            fits=self.total <= self.high,
        )
        if not gone and _shown(frame) == _shown(self.frame):
            return None
        return Slide(
            frame=frame,
            evicted=tuple(sorted(gone)),
            tokens={number: self.sizes[number] for number in kept},
            bodies={number: self.bodies[number] for number in kept},
        )

    def _messages(self, turn: LiveTurn) -> Iterator[LiveMessage]:
        yield from turn.opening
        for step in turn.steps[self.digested.get(turn.number, 0) :]:
            yield from step

    def _plain(self) -> tuple[int, int]:
        """The current turn's steps so far, when they lose thinking that their calls may not stand without."""
        first, since = self._first_step(), self.frame.unsigned_before
        signed = [live.position for live in self.current.messages() if live.size.signed]
        if self.current.unseen() and any(position >= max(first, since) for position in signed):
            return first, self.now.at
        return self.frame.plain


_WITH_PICTURES: tuple[Kind, ...] = ("picture", "result")
_IN_THE_CURRENT_TURN: tuple[Kind, ...] = ("result", "arguments", "text")

USUAL_TOKENS = 600
"""What a shortened result takes, about: where turns leave and the cache breaks anyway, that is near enough."""

LEAST_CHARS = 160
"""A result that nobody has seen yet is never cut below this."""

WORTH_CARRYING = 70
"""Seed 001's threshold: turns of this priority are kept as they are."""


def _within(live: LiveMessage, places: tuple[int, int]) -> bool:
    return places[0] <= live.position < places[1]


def _shown(frame: Frame) -> tuple[object, ...]:
    """How a frame shows what is in the window."""
    return frame.shortened, frame.digested, frame.unsigned_before, frame.plain


def _holds_picture(live: LiveMessage, part: Part) -> bool:
    block = live.block(part.block)
    within = block.content if isinstance(block, ToolResult) else (block,)
    return any(isinstance(piece, Image | Document) and piece.data for piece in within)


def _level(sizes: Sequence[int], room: int) -> int:
    """The size to which the largest must shrink for all to fit into the room."""
    left = len(sizes)
    for size in sorted(sizes):
        if size * left > room:
            return max(0, room) // left
        room -= size
        left -= 1
    return max(sizes, default=0)
