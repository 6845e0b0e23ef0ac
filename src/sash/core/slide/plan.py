"""A slide being planned: what each turn would take, and the frame that comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from sash.core.frame import DigestedSteps, Frame, Reason, Shortened
from sash.core.live import LiveMessage, LiveTurn
from sash.core.shorten import weight
from sash.core.shown import shown
from sash.core.size import Part
from sash.core.slide.situation import Situation


class Slide(msgspec.Struct, frozen=True, kw_only=True):
    """A slide that is worth making: the next frame and what it takes out of the window."""

    frame: Frame
    evicted: tuple[int, ...] = ()
    """Turns that leave."""
    tokens: Mapping[int, int] = {}
    """What each turn that stays takes now."""
    bodies: Mapping[int, int] = {}
    """Bytes that each turn that stays takes now."""


class Plan:
    """The window as a slide would leave it, so far."""

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
        in_part = self.current.said_in_part()
        self.until = situation.at if in_part is None else in_part
        """Up to here thinking leaves. A step that may go on keeps its own: what follows would be refused without it."""
        self.plain = self._plain()
        """Messages that are told as text from now on."""
        self._measured: dict[tuple[int, int, int], tuple[int, int]] = {}
        # The marks count what the provider counts.
        self.low = int((situation.limits.low if situation.low is None else situation.low) / situation.factor)
        self.high = int((situation.limits.high - max(0.0, situation.beyond)) / situation.factor)

    def _plain(self) -> tuple[int, int]:
        """The current turn's steps so far, when they lose thinking that their calls may not stand without."""
        first, since = self.first_step(), self.frame.unsigned_before
        signed = [live.position for live in self.current.messages() if live.size.signed]
        if self.current.unseen() and any(position >= max(first, since) for position in signed):
            return first, self.now.at
        return self.frame.plain

    def first(self) -> int:
        """The first turn of the window that the user started."""
        return next((number for number in self.turns if number > 0), 0)

    def first_step(self) -> int:
        """Where the current turn's first step begins in the log."""
        return self.current.steps[0][0].position if self.current.steps else self.now.at

    def unseen(self) -> set[int]:
        """Where the results stand that no request has shown the model yet."""
        return {live.position for live in self.current.unseen()}

    # How far it is.

    def over(self, mark: int) -> bool:
        """Whether more has to go before history is below a mark, and can be sent."""
        return self.total > mark or self.too_many_bytes()

    def too_many_bytes(self) -> bool:
        """Whether a body that was too large to send is not yet well below that."""
        return self.now.body_over and self.body > self.now.policy.body_bytes * min(0.9, self.now.policy.keep_share)

    def beside_current(self) -> int:
        """What all but the current turn takes."""
        return self.total - self.sizes[self.current.number]

    def _too_many_turns(self) -> bool:
        most = self.now.policy.recent_turns
        return bool(most) and len(self.turns) - len(self.evicted) - 1 > most

    # What it does.

    def evict(self, numbers: Iterable[int], mark: int) -> None:
        """Turns leave, one after the other, until the mark is reached."""
        for number in numbers:
            if not self.over(mark) and not self._too_many_turns():
                return
            if number not in self.evicted:
                self.evicted.append(number)
                self.free(number, self.sizes[number], self.bodies[number])

    def digest_steps(self, turn: LiveTurn, completed: int, mark: int) -> None:
        """A step digest stands for the oldest completed steps."""
        done = turn.digested
        while done < completed and self.over(mark):
            for live in turn.steps[done]:
                self.free(turn.number, *self._shown_now(live))
            done += 1
        if done > turn.digested:
            self.digested[turn.number] = done

    def shown_of(self, lives: Iterable[LiveMessage]) -> int:
        """What these messages take under the plan so far."""
        return sum(self._shown_now(live)[0] for live in lives)

    def shorten(self, number: int, live: LiveMessage, part: Part, keep: int = 0) -> None:
        """Of a block of that turn only so many characters are shown; 0: the usual form."""
        tokens, body = self._shown_now(live)
        self.shortened[live.position, part.block] = Shortened(live.position, part.block, keep)
        tokens_now, body_now = self._shown_now(live)
        self.free(number, tokens - tokens_now, body - body_now)

    def free(self, number: int, tokens: int, body: int = 0) -> None:
        """So much of that turn is not shown any more."""
        self.sizes[number] -= tokens
        self.total -= tokens
        self.bodies[number] -= body
        self.body -= body

    # What blocks and messages take.

    def is_short(self, live: LiveMessage, part: Part) -> bool:
        """Whether a block is as short as it can be."""
        short = self.shortened.get((live.position, part.block))
        return short is not None and short.keep == 0

    def measure(self, live: LiveMessage, block: int, keep: int) -> tuple[int, int]:
        """Tokens and bytes of a block that is shortened."""
        place = (live.position, block, keep)
        found = self._measured.get(place)
        if found is None:
            found = self._measured[place] = self.now.measure(live, block, keep)
        return found

    def tokens_of(self, live: LiveMessage, part: Part) -> int:
        """What a block takes as it is shown."""
        short = self.shortened.get((live.position, part.block))
        return part.tokens if short is None else self.measure(live, part.block, short.keep)[0]

    def gain(self, live: LiveMessage, part: Part) -> int:
        """What shortening a block would free."""
        return self.tokens_of(live, part) - self.measure(live, part.block, 0)[0]

    def told(self, live: LiveMessage) -> int:
        """Tokens of a message that is told as text."""
        places = range(len(live.message.blocks))
        short = [found for place in places if (found := self.shortened.get((live.position, place))) is not None]
        message = shown(live, short, unsigned=True, plain=True)
        return 0 if message is None else self.now.count(message)

    def added_up(self, live: LiveMessage) -> tuple[int, int]:
        """Tokens and bytes of a message that is shown as what it is, without its signed thinking."""
        tokens, body = live.size.tokens, live.size.body
        for part in live.size.parts:
            if part.kind == "thinking" and live.size.signed:
                tokens -= part.tokens
                body -= weight(live.block(part.block))
            elif (short := self.shortened.get((live.position, part.block))) is not None:
                short_tokens, short_body = self.measure(live, part.block, short.keep)
                tokens -= part.tokens - short_tokens
                body -= weight(live.message.blocks[part.block]) - short_body
        return tokens, body

    def _shown_now(self, live: LiveMessage) -> tuple[int, int]:
        """Tokens and bytes of a message under the plan so far."""
        tokens, body = self.added_up(live)
        return (self.told(live) if within(live, self.plain) else tokens), body

    def sizes_shown(self) -> dict[int, tuple[int, int]]:
        """Tokens and bytes of each turn as the frame in force shows it."""
        shown = {number: [*map(self._by_frame, turn.messages())] for number, turn in self.turns.items()}
        return {
            number: (sum(tokens for tokens, _ in sizes), sum(body for _, body in sizes))
            for number, sizes in shown.items()
        }

    def _by_frame(self, live: LiveMessage) -> tuple[int, int]:
        tokens, body = self.added_up(live)
        if live.size.signed and live.position >= self.frame.unsigned_before:
            thinking = [part for part in live.size.parts if part.kind == "thinking"]
            tokens += sum(part.tokens for part in thinking)
            body += sum(weight(live.block(part.block)) for part in thinking)
        return (self.told(live) if within(live, self.frame.plain) else tokens), body

    # The outcome.

    def slide(self, reason: Reason) -> Slide | None:
        """The slide that was planned; None where it would change nothing."""
        gone = set(self.evicted)
        kept = [number for number in self.turns if number not in gone]
        last_gap = max((*gone, *self.frame.carried), default=-1)
        boundary = next(number for number in kept if number > last_gap)
        in_window = [*chain.from_iterable(map(self._messages, kept))]
        positions = {live.position for live in in_window}
        signed = [live.position for live in in_window if live.size.signed and live.position < self.until]
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
            unsigned_before=self.until if signed and signed[-1] >= since else since,
            plain=self.plain,
            tokens_before=self.before,
            tokens=self.total,
            fits=self.total <= int(self.now.limits.high / self.now.factor),
        )
        if not gone and _shown(frame) == _shown(self.frame):
            return None
        return Slide(
            frame=frame,
            evicted=tuple(sorted(gone)),
            tokens={number: self.sizes[number] for number in kept},
            bodies={number: self.bodies[number] for number in kept},
        )

    def _messages(self, number: int) -> Iterator[LiveMessage]:
        return self.turns[number].messages_from(self.digested.get(number, 0))


def within(live: LiveMessage, places: tuple[int, int]) -> bool:
    """Whether a message stands from the one place of the log up to the other."""
    return places[0] <= live.position < places[1]


def _shown(frame: Frame) -> tuple[object, ...]:
    """How a frame shows what is in the window."""
    return frame.shortened, frame.digested, frame.unsigned_before, frame.plain
