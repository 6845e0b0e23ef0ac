"""A request being drafted: put together, prepared, counted and written as it grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sash.core.frame import Frame
from sash.core.live import LiveMessage
from sash.core.message import Message
from sash.core.request import OURS, GrowingTurns, Shown
from sash.core.size import Size
from sash.core.tokens import Counter, TokenCount
from sash.window.report import shortened_of
from sash.wire import Preparing, Repair, stands_apart, wire_named


class Draft:
    """
    The messages of a request, kept while they grow.

    Each is prepared, counted and written once, however many requests it stands in.
    """

    def __init__(self, frame: Frame, wire: str, counter: Counter) -> None:
        self.turns = GrowingTurns(frame)
        self.wire, self.counter = wire_named(wire), counter
        self.preparing = Preparing(wire)
        self.given: list[Shown] = []
        """What was put together."""
        self.sent: list[tuple[Message, int]] = []
        """What is sent, each with its position in the log; -1 for what sash wrote."""
        self.written: list[bytes] = []
        """The JSON of each message that is sent; empty for a system prompt that stands apart."""
        self.size = 0
        """Bytes of all of them."""
        self.head = 0
        """How many stand before the first turn."""
        self.tokens, self.exact = 0, True
        self.shortened: list[str] = []
        """Handles of what is shown in part."""
        self.mended: list[int] = []
        """Positions of messages that held a lone surrogate."""
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

    def take(self, shown: Sequence[Shown]) -> None:
        """More at its end."""
        if not shown:
            return
        self.given += shown
        self.preparing.take([message for message, _ in shown])
        places = self._places
        for _, live in shown:
            if live is not None and (live.message.edited or live.position in places):
                self._note(live)
        self._count()

    def finished(self) -> Draft:
        """The draft as it would be sent: itself, or a copy where calls are open at its end."""
        if self.preparing.settled:
            return self
        twin = self.copy()
        twin.preparing.finish()
        twin._count()  # noqa: SLF001  # its own kind
        return twin

    def positions(self) -> list[int]:
        """Where in the log each message comes from, also where another wire has changed its form; -1: sash wrote it."""
        lives = (self.given[place][1] for place in self.preparing.places)
        return [OURS if live is None else live.position for live in lives]

    def told(self, repairs: Iterable[Repair]) -> Iterator[Repair]:
        """Repairs told of the log, not of what was put together."""
        for made in repairs:
            live = self.given[made.message][1]
            yield Repair(what=made.what, message=OURS if live is None else live.position, why=made.why)

    def _note(self, live: LiveMessage) -> None:
        if (live.came or live.message).edited:
            self.mended.append(live.position)
        self.shortened += shortened_of(live, self._by_frame)

    def _count(self) -> None:
        """Counts and writes what stands for good: what was counted when it entered is not counted again."""
        messages, places = self.preparing.messages, self.preparing.places
        write, all_given, sent, all_written = self.wire.write_message, self.given, self.sent, self.written
        for number in range(len(sent), len(messages)):
            message, (given, live) = messages[number], all_given[places[number]]
            if live is not None and message is live.message and not message.edited:
                counted: Size | TokenCount = live.size
                self.tokens += live.size.tokens
            else:
                counted = self.counter.message(message)
                self.tokens += counted.value
            if not counted.exact:
                self.exact = False
            sent.append((message, live.position if live is not None and message is given else OURS))
            if self._led:
                self._led = stands_apart(message, self.wire)
            written = b"" if self._led else write(message)
            all_written.append(written)
            self.size += len(written or message.source) + 1
