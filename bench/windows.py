"""
What is measured: something that takes a conversation turn by turn and says what to send of it.

Ours, the floor and the seeds' clipping are here; the peers stand in `peer_lists.py` and `peer_stores.py`. All count
chars / 4, so that they differ only in what they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from bench.histories import Said
from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.core.policy import Policy
from sash.core.tokens import Counter
from sash.counters import counter_for
from sash.fitting import fit
from sash.window import Setup
from sash.window import Window as SashWindow
from sash.wire import read_list

WIRE = "openai-chat"
BIG_WINDOW = 10_000_000
"""So that only the cap limits what is measured here."""


class Shown(NamedTuple):
    """What the model sees of one message, whoever sends it."""

    role: str
    words: str
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    added: bool = False
    """Not of the conversation: a note, a digest, a summary."""

    @property
    def tokens(self) -> int:
        """Chars / 4."""
        return len(self.words) // 4


class Window:
    """One contender. It is given its own form of each message, so that only its own work is timed."""

    name = ""
    keeps_history = True
    """False: what it evicts is gone."""

    def __init__(self, cap: int) -> None:
        self.cap = cap

    def native(self, said: Said) -> list[Any]:
        """A message in its own form."""
        return [said]

    async def load(self, history: Sequence[Any]) -> None:
        """A history that was there before."""
        await self.add(history)

    async def add(self, messages: Sequence[Any]) -> None:
        """Some messages more."""
        raise NotImplementedError

    async def request(self) -> Sequence[Any]:
        """What it would send now."""
        raise NotImplementedError

    def shown(self, sent: Any) -> Shown:
        """What the model sees of a message it sends."""
        return shown_of(sent)

    async def close(self) -> None:
        """Let go of files and threads."""


def shown_of(said: Said) -> Shown:
    """An OpenAI chat message as the model sees it."""
    calls = said.get("tool_calls") or ()
    words = "".join([said.get("content") or "", *(call["function"]["arguments"] for call in calls)])
    answers = (said["tool_call_id"],) if said["role"] == "tool" else ()
    return Shown(said["role"], words, tuple(call["id"] for call in calls), answers, words.startswith("[sash: "))


def chars4(said: Said) -> int:
    """Tokens of a message, as everybody counts here."""
    length = len(said["content"] or "")
    for call in said.get("tool_calls") or ():
        length += len(call["function"]["arguments"])
    return length // 4


class Floor(Window):
    """
    The least that keeps the history, counts each message once and slides in whole turns from mark to mark.

    It is plain Python, checks nothing, explains nothing and cannot shorten.
    """

    name = "floor: running sums, two marks"

    def __init__(self, cap: int, keep_share: float = 0.6) -> None:
        super().__init__(cap)
        self.low = cap * keep_share
        self.history: list[Said] = []
        self.starts: list[int] = []
        self.sizes: list[int] = []
        self.total = self.first = 0
        self.system: list[Said] = []
        self._seen: dict[int, Shown] = {}

    def shown(self, sent: Any) -> Shown:
        """Remembered: most of a request was in the one before, and the history keeps it alive."""
        known = self._seen.get(id(sent))
        if known is None:
            known = self._seen[id(sent)] = shown_of(sent)
        return known

    async def add(self, messages: Sequence[Any]) -> None:
        """Counts, and slides when the user has spoken and the cap is passed."""
        for said in messages:
            if said["role"] == "system":
                self.system.append(said)
                continue
            if said["role"] == "user" or not self.starts:
                self.starts.append(len(self.history))
                self.sizes.append(0)
            self.history.append(said)
            tokens = chars4(said)
            self.sizes[-1] += tokens
            self.total += tokens
            if self.total > self.cap:
                while self.total > self.low and self.first < len(self.sizes) - 1:
                    self.total -= self.sizes[self.first]
                    self.first += 1

    async def request(self) -> Sequence[Any]:
        """System prompt and live turns."""
        return self.system + self.history[self.starts[self.first] if self.starts else 0 :]


class CheckedFloor(Floor):
    """
    The floor with what else a caller sees of our request.

    Calls and results are paired and their ids unique, each message stands with its JSON and its place in the log, and
    tokens and bytes of the whole are known. Still nothing is repaired, shortened, digested or explained.
    """

    name = "floor that pairs, checks and keeps JSON"

    def __init__(self, cap: int, keep_share: float = 0.6) -> None:
        super().__init__(cap, keep_share)
        self.written: list[bytes] = []
        self.bodies: list[int] = []
        self.ids: set[str] = set()
        self.waiting: list[str] = []
        self.size = 0

    def native(self, said: Said) -> list[Any]:
        """A message with its JSON: ours comes with it too."""
        return [(said, msgspec.json.encode(said))]

    def shown(self, sent: Any) -> Shown:
        """The message of a request's entry."""
        return super().shown(sent[0])

    async def add(self, messages: Sequence[Any]) -> None:
        """As above, each message looked at once."""
        for said, written in messages:
            role = said["role"]
            if role == "tool":
                self.waiting.remove(said["tool_call_id"])
            elif self.waiting:
                raise ValueError(self.waiting)
            for call in said.get("tool_calls") or ():
                if call["id"] in self.ids:
                    raise ValueError(call["id"])
                self.ids.add(call["id"])
                self.waiting.append(call["id"])
            before, leaving = len(self.history), self.first
            await super().add((said,))
            if len(self.history) > before:
                self.written.append(written)
                if len(self.bodies) < len(self.sizes):
                    self.bodies.append(0)
                self.bodies[-1] += len(written)
                self.size += len(written) - sum(self.bodies[leaving : self.first])

    async def request(self) -> Sequence[Any]:
        """System prompt and live turns, each with its place in the log; what it takes, and the JSON of each."""
        if self.waiting:
            raise ValueError(self.waiting)
        first = self.starts[self.first] if self.starts else 0
        self.asked = self.total, self.size, self.written[first:]
        sent = list(zip(self.history[first:], range(first, len(self.history)), strict=True))
        return [*((said, -1) for said in self.system), *sent]


class Clip(Floor):
    """Seeds 000 and 003: when a turn has closed, the oldest turns leave until the history is just under the cap."""

    name = "clip to the cap after each turn"

    async def add(self, messages: Sequence[Any]) -> None:
        """Counts; clips after an answer that calls nothing."""
        for said in messages:
            if said["role"] == "system":
                self.system.append(said)
                continue
            if said["role"] == "user" or not self.starts:
                self.starts.append(len(self.history))
                self.sizes.append(0)
            self.history.append(said)
            tokens = chars4(said)
            self.sizes[-1] += tokens
            self.total += tokens
            if said["role"] == "assistant" and not said.get("tool_calls"):
                while self.total > self.cap and self.first < len(self.sizes) - 1:
                    self.total -= self.sizes[self.first]
                    self.first += 1


def chars4_counter() -> Counter:
    """Sash's own chars / 4."""
    return counter_for("", counter="chars4").counter


class Sash(Window):
    """A window kept open, as a thread keeps it; the request repaired, checked and counted, each message written."""

    name = "sash: window kept open"

    def __init__(self, cap: int, policy: Policy | None = None) -> None:
        super().__init__(cap)
        given = policy or Policy(history_tokens=cap)
        self.policy = msgspec.structs.replace(given, window=given.window or BIG_WINDOW, counter="chars4")
        self.window = SashWindow(Setup(policy=self.policy))
        self.fold = self.window.fold
        self.counter = self.window.counter
        self.log: list[Message] = []
        self._seen: dict[int, tuple[Message, Shown]] = {}

    def native(self, said: Said) -> list[Any]:
        """Sash's message, read from its JSON."""
        return list(read_list(msgspec.json.encode([said]), WIRE))

    async def add(self, messages: Sequence[Any]) -> None:
        """Kept, counted once, folded."""
        window, log = self.window, self.log
        for message in messages:
            log.append(message)
            window.add(message)

    async def request(self) -> Sequence[Any]:
        """What would be written out."""
        return self.window.prepared(WIRE).sent

    def shown(self, sent: Any) -> Shown:
        """The words of its blocks; remembered, because most of a request was in the one before."""
        message: Message = sent[0]
        known = self._seen.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        shown = _shown(message)
        if not message.edited:
            # What a frame shortens is made anew for each request, and would fill the memory.
            self._seen[id(message)] = message, shown
        return shown


def _shown(message: Message) -> Shown:
    words: list[str] = []
    for block in message.blocks:
        match block:
            case Text():
                words.append(block.text)
            case ToolCall():
                words.append(block.arguments)
            case ToolResult():
                words += [part.text for part in block.content if type(part) is Text]
    role = "user" if message.written_by_sash else message.role
    return Shown(role, "".join(words), tuple(message.opened()), tuple(message.closed()), not message.source)


class SashFit(Window):
    """`sash.fit` on the whole list, with every request: stateless for its caller."""

    name = "sash.fit, the whole list again"

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        self.policy = Policy(history_tokens=cap, window=BIG_WINDOW, counter="chars4")
        self.history: list[Said] = []

    async def add(self, messages: Sequence[Any]) -> None:
        """The caller's own list grows."""
        self.history += messages

    async def request(self) -> Sequence[Any]:
        """The caller's own objects where nothing was changed."""
        return fit(self.history, wire=WIRE, policy=self.policy).messages


class Fault(NamedTuple):
    """What is wrong with a request."""

    orphans: bool
    over_cap: bool
    lost_system: bool


def faults(request: Sequence[Shown], cap: int) -> Fault:
    """A result without its call or a call without its result; more history than the cap; no system prompt."""
    called: set[str] = set()
    answered: set[str] = set()
    orphans = False
    tokens = 0
    for shown in request:
        orphans = orphans or any(answer not in called for answer in shown.answers)
        called.update(shown.calls)
        answered.update(shown.answers)
        if shown.role != "system" and not shown.added:
            tokens += shown.tokens
    return Fault(
        orphans or bool(called - answered),
        tokens > cap,
        not any(shown.role == "system" for shown in request),
    )
