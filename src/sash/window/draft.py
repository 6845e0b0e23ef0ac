"""A request being drafted: put together, prepared, counted and written as it grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

import msgspec

from sash.core.fold import Fold
from sash.core.kept import KeptMessage
from sash.core.live import LiveMessage
from sash.core.message import Message, is_by_sash
from sash.core.request import OURS, GrowingTurns, Shown, said_by_sash
from sash.core.tokens import Counter, total
from sash.window.report import mended, shortened_of
from sash.window.seal import Finished, Remade, Seal, Unseal, checksum
from sash.wire import Preparing, Repair, stands_apart
from sash.wire.marks import marks_in


class SoFar(msgspec.Struct, frozen=True, gc=False):
    """A draft as far as it had come when a request was made of it: from then on it only grows at its end."""

    draft: Draft
    messages: int
    shortened: int
    mended: int
    lost: int
    repairs: int
    added: int
    """Tokens that repairs wrote: of what is sent, nobody said them."""

    def sent(self) -> list[tuple[Message, int]]:
        """What is sent, each with its position in the log; what a restart found finished is read only now."""
        own, head, sealed = self.draft.sent[: self.messages], self.draft.head, self.draft.sealed
        return own if sealed is None else [*own[:head], *sealed[1].sent, *own[head:]]

    def written(self) -> list[bytes]:
        """The JSON of each message; empty for a system prompt that stands apart."""
        own, head, sealed = self.draft.written[: self.messages], self.draft.head, self.draft.sealed
        return own if sealed is None else [*own[:head], *sealed[1].written, *own[head:]]

    def positions(self) -> list[int]:
        """Where in the log each message comes from, also where another wire has changed its form; -1: sash wrote it."""
        draft, head, sealed = self.draft, self.draft.head, self.draft.sealed
        lives = (draft.given[place][1] for place in draft.preparing.places[: self.messages])
        own = [OURS if live is None else live.position for live in lives]
        return own if sealed is None else [*own[:head], *sealed[1].positions, *own[head:]]

    def handles(self) -> list[str]:
        """Of what is shown in part."""
        return self.draft.shortened[: self.shortened]

    def repaired(self) -> Iterator[Repair]:
        """All that had to be repaired, told of the log and not of what was put together."""
        draft = self.draft
        yield from mended(draft.mended[: self.mended])
        for made in (*draft.preparing.lost[: self.lost], *draft.preparing.mending.repairs[: self.repairs]):
            live = draft.given[made.message][1]
            yield Repair(what=made.what, message=OURS if live is None else live.position, why=made.why)


class Draft:
    """
    The messages of a request, kept while they grow.

    Each is prepared, counted and written once, however many requests it stands in.
    """

    def __init__(self, fold: Fold, preparing: Preparing, counter: Counter) -> None:
        frame = fold.frame
        self.turns = GrowingTurns(frame, fold.short)
        self.wire, self.counter = preparing.wire, counter
        self.preparing = preparing
        self.given: list[Shown] = []
        """What was put together."""
        self.sent: list[tuple[Message, int]] = []
        """What is sent, each with its position in the log; -1 for what sash wrote."""
        self.written: list[bytes] = []
        """The JSON of each message that is sent; empty for a system prompt that stands apart."""
        self.size = 0
        """Bytes of all of them."""
        self.marks = 0
        """The caller's own breakpoints in all of them."""
        self.head = 0
        """How many stand before the first turn."""
        self.tokens, self.exact = 0, True
        self.added = 0
        """Of its tokens, those of words that repairs put in the place of what was said."""
        self.shortened: list[str] = []
        """Handles of what is shown in part."""
        self.mended: list[int] = []
        """Positions of messages that held a lone surrogate."""
        self.sealed: tuple[Seal, Finished] | None = None
        """What a restart found finished: it stands right after the head."""
        self._led = True
        """Only system prompts that stand apart have been sent so far."""
        self._by_frame = {short.handle for short in frame.shortened}
        self._places = {short.message for short in frame.shortened}

    def copy(self) -> Draft:
        """A draft that grows by itself from here."""
        twin = Draft.__new__(Draft)
        twin.__dict__.update(self.__dict__)
        twin.turns, twin.preparing = self.turns.copy(), self.preparing.copy()
        twin.given, twin.sent, twin.written = self.given[:], self.sent[:], self.written[:]
        twin.shortened, twin.mended = self.shortened[:], self.mended[:]
        return twin

    def take(self, shown: Sequence[Shown], *, counted: bool = False) -> None:
        """More at its end; where it was counted before, it is not counted again."""
        if not shown:
            return
        self.given += shown
        self.preparing.take([message for message, _ in shown])
        for _, live in shown:
            if live is not None and self._is_marked(live):
                self._note(live)
        self._count(counted=counted)

    def _is_marked(self, live: LiveMessage) -> bool:
        return live.message.edited or live.position in self._places

    def finished(self) -> Draft:
        """The draft as it would be sent: itself, or a copy where calls are open at its end."""
        if self.preparing.settled:
            return self
        twin = self.copy()
        twin.preparing.finish()
        twin._count()  # noqa: SLF001  # its own kind
        return twin

    def so_far(self) -> SoFar:
        """As far as it has come."""
        preparing = self.preparing
        return SoFar(
            self,
            len(self.sent),
            len(self.shortened),
            len(self.mended),
            len(preparing.lost),
            len(preparing.mending.repairs),
            self.added,
        )

    def seal(self, fold: Fold) -> Seal | None:
        """What a restart needs to go on from here; None where something had to be repaired, or a call is open."""
        passed = self.preparing.passed()
        if passed is None or [message for message, _ in self.sent] != [message for message, _ in self.given]:
            return None
        before = None if self.sealed is None else self.sealed[0]
        first = 0 if before is None else len(before.positions)
        remade: list[Remade] = []
        whole: list[bytes] = []
        new = self.given[self.head :]
        for place, ((message, live), written) in enumerate(zip(new, self.written[self.head :], strict=True), first):
            if live is not None and written is message.source and message is live.message and not self._is_marked(live):
                whole.append(written)
            elif (again := self._remade(place, message, live, written, fold)) is not None:
                remade.append(again)
            else:
                return None
        positions = [OURS if live is None else live.position for _, live in new]
        told = [position for _, position in self.sent[self.head :]]
        reformed = [first + place for place, position in enumerate(positions) if position != told[place]]
        return Seal(
            wire=self.wire.NAME,
            positions=(*(before.positions if before else ()), *positions),
            remade=(*(before.remade if before else ()), *remade),
            reformed=(*(before.reformed if before else ()), *reformed),
            checksum=checksum(whole, before.checksum if before else 0),
            tokens=self.tokens,
            exact=self.exact,
            size=self.size,
            marks=self.marks,
            shortened=tuple(self.shortened),
            mended=tuple(self.mended),
            passed=passed,
            reached=self.turns.reached(fold),
        )

    def _remade(
        self, place: int, message: Message, live: LiveMessage | None, written: bytes, fold: Fold
    ) -> Remade | None:
        """How a message is made again that is not sent as it came; None where nobody can say."""
        if live is None:
            steps = (turn for turn, text in fold.standing.steps.items() if message == said_by_sash(text))
            turn = next(steps, None)
            return None if turn is None else Remade(place, turn=turn)
        if self._is_marked(live):
            return Remade(place, written)
        return Remade(place, kept=KeptMessage.of(live), unsigned=live.position in self.turns.unsigned)

    def go_on(self, seal: Seal, fold: Fold, log: Unseal) -> bool:
        """Goes on, after its head, from what was sealed; False where the log does not have that any more."""
        bodies = log.bodies(seal)
        if bodies is None:
            return False
        written = list(bodies)
        self.turns = GrowingTurns.resumed(fold.frame, seal.reached, fold.short)
        kept = [one.kept for one in seal.remade if one.kept is not None]
        came = iter(log.messages([one.position for one in kept]) if kept else ())
        for one in seal.remade:
            message: Message | None = None
            if one.kept is not None:
                message = self.turns.shows(one.kept.live(next(came)), unsigned=one.unsigned)
            elif not one.written:
                message = said_by_sash(fold.step_text(one.turn))
            written.insert(one.place, one.written if message is None else self.wire.write_message(message))
        self.shortened, self.mended = list(seal.shortened), list(seal.mended)
        self.sealed = seal, Finished(seal, written)
        self.preparing.go_on(seal.passed)
        self.tokens, self.exact, self.size, self._led = seal.tokens, seal.exact, seal.size, False
        self.marks = seal.marks
        return True

    def _note(self, live: LiveMessage) -> None:
        if (live.came or live.message).edited:
            self.mended.append(live.position)
        self.shortened += shortened_of(live, self._by_frame)

    def _count(self, *, counted: bool = False) -> None:
        """Counts and writes what stands for good: what was counted when it entered is not counted again."""
        start, given, sent = len(self.sent), self.given, self.sent
        new = self.preparing.messages[start:]
        tokens, exact = self.tokens, self.exact
        for message, place in zip(new, self.preparing.places[start:], strict=True):
            shown, live = given[place]
            if live is not None and message is live.message and not message.edited:
                size = live.size
                tokens += size.tokens
                if not size.exact:
                    exact = False
                sent.append((message, live.position))
                continue
            if not counted:
                taken = self.counter.message(message)
                tokens, exact = tokens + taken.value, exact and taken.exact
                if live is not None and message is not shown:
                    self.added += self._added(message, shown)
            sent.append((message, live.position if live is not None and message is shown else OURS))
        if not counted:
            self.tokens, self.exact = tokens, exact
        self._write(new)

    def _added(self, message: Message, said: Message) -> int:
        """What of a repaired message takes that nobody said, with what stands around it where that is all of it."""
        own = [block for block in message.blocks if is_by_sash(block) and block not in said.blocks]
        if len(own) == len(message.blocks):
            return self.counter.message(message).value
        return total(map(self.counter.block, own)).value

    def _write(self, new: Sequence[Message]) -> None:
        if self._led:
            apart = [*takewhile(lambda message: stands_apart(message, self.wire), new)]
            self._led = len(apart) == len(new)
            self.written += [b""] * len(apart)
            self.size += sum(len(message.source) + 1 for message in apart)
            self._mark(message.source for message in apart)
            new = new[len(apart) :]
        written = [*map(self.wire.write_message, new)]
        self._mark(written)
        self.written += written
        self.size += sum(map(len, written)) + len(written)

    def _mark(self, written: Iterable[bytes]) -> None:
        if self.wire.RULES.most_breakpoints:
            self.marks += sum(map(marks_in, written))
