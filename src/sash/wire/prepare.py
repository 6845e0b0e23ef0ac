"""
Messages as their provider takes them: in its shape, repaired, checked.

A request mostly is the one before it with something added at its end. So it can be
prepared as it grows: what was prepared stands, and only what is new is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from sash.core.message import Block, Message, Opaque, Text, Thinking, ToolResult, by_sash
from sash.errors import InvalidRequest
from sash.wire.breakpoints import spare
from sash.wire.check import Checking
from sash.wire.conversation import Repair
from sash.wire.registry import Wire, wire_named
from sash.wire.repair import Mending


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that their provider will take, and what had to be done for it."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()


class Passed(msgspec.Struct, frozen=True, array_like=True):
    """
    What has to be known of messages that were sent just as they were given, so that a request can grow from there.

    Every call in them has its result, so that these ids are all that what comes next could clash with.
    """

    calls: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    after_user: bool = False
    """The last of them is the user's."""


def prepare(messages: Iterable[Message], wire: str) -> Sent:
    """
    The messages as this wire's provider takes them: in its shape, repaired, checked.

    Raises `InvalidRequest` where no repair helps; nothing invalid leaves sash.
    """
    preparing = Preparing(wire)
    preparing.take(tuple(messages))
    return preparing.sent()


class Preparing:
    """A request prepared while it grows: what `prepare` makes of the whole, at the price of what is new."""

    def __init__(self, wire: str, *, continued: bool = False, signs: bool = True, heeds: bool = False) -> None:
        """
        `continued` where the provider keeps what was said before: see `Body`.

        It `signs` its thinking, or only speaks the wire of one who does. It `heeds` the system among the messages,
        too, right after one of the user's, although on its wire the system leads.
        """
        self.wire = wire_named(wire)
        rules = self.wire.RULES
        if rules.signed_thinking and not signs:
            rules = msgspec.structs.replace(rules, signed_thinking=False)
        self.taken = 0
        """How many messages were given so far."""
        self.messages: list[Message] = []
        """What stands for good, as it is sent."""
        self.places: list[int] = []
        """Which of the messages that were given each is, or is made of."""
        self.lost: list[Repair] = []
        """What had to be left out for this wire."""
        self.mending = Mending(rules)
        self.mending.unseen = continued
        self.checking = Checking(rules, continued=continued)
        self._settled = 0
        """How much of what was mended stands in `messages`."""
        self._run: Message | None = None
        """Shaped, but perhaps not all of it: what comes next may be a part of the same message."""
        self._run_at = 0
        self.items: set[str] = set()
        """Ids of items, where they have some."""
        self._spoken = False
        self._heeds = heeds
        self._after_user = False
        """Whether what was passed before ends with the user's words."""

    def copy(self) -> Preparing:
        """A request that grows by itself from here."""
        twin = Preparing.__new__(Preparing)
        twin.__dict__.update(self.__dict__)
        twin.messages, twin.places, twin.lost = self.messages[:], self.places[:], self.lost[:]
        twin.mending, twin.checking = self.mending.copy(), self.checking.copy()
        twin.items = self.items.copy()
        return twin

    def take(self, messages: Sequence[Message]) -> None:
        """More messages at the end."""
        name, tidies, start = self.wire.NAME, self.wire.RULES.item_id is not None, 0
        if self._run is None and not tidies:
            start = self.mending.pass_on(self.taken, messages, name)
            if not self._spoken:
                self._spoken = any(message.role != "system" for message in messages[:start])
        for position, message in enumerate(messages[start:], self.taken + start):
            if tidies:
                message = self._tidied(position, message)  # noqa: PLW2901  (the same, without its id)
            if message.wire == name or message.role == "meta":
                if self._run is not None:
                    self._flush()
                if message.role == "system" and self._spoken and self.wire.RULES.system_leads:
                    message = self._heeded(position, message)  # noqa: PLW2901  (the same, told as what it is)
                if not self._spoken:
                    self._spoken = message.role != "system"
                self.mending.take(position, message)
            else:
                self._shape(position, message)
        self.taken += len(messages)
        self._settle()

    @property
    def settled(self) -> bool:
        """Whether all of it stands for good: no call waits for its result at the end."""
        return self._run is None and self._settled == len(self.mending.sent) and not self.mending.open

    def passed(self) -> Passed | None:
        """What was prepared, where all of it stands for good and nothing had to be changed; else None."""
        mending, checking = self.mending, self.checking
        same = checking.ids == mending.ids.keys() and checking.items == self.items
        if not (self.settled and self._spoken and same) or self.repairs() or mending.unseen or checking.problems():
            return None
        after_user = bool(self.messages) and self.messages[-1].role == "user"
        return Passed(tuple(mending.ids), tuple(sorted(self.items)), after_user)

    def go_on(self, passed: Passed) -> None:
        """Go on after messages that have passed."""
        self._spoken = self.mending.started = self.checking.spoken = self.checking.listed = True
        self.items.update(passed.items)
        self._after_user = passed.after_user
        self.checking.items.update(passed.items)
        self.checking.ids.update(passed.calls)
        self.mending.ids.update(dict.fromkeys(passed.calls, 1))

    def sent(self) -> Sent:
        """What would be sent now; it can go on growing afterwards."""
        whole = self
        if not self.settled:
            whole = self.copy()
            whole.finish()
        whole.check()
        messages, repairs = tuple(whole.messages), tuple(whole.repairs())
        if not self.wire.RULES.most_breakpoints:
            return Sent(messages=messages, repairs=repairs)
        left = spare(messages)
        return Sent(messages=left.messages, repairs=(*repairs, *left.repairs(whole.places)))

    def check(self) -> None:
        """Raises `InvalidRequest` where no repair helps."""
        problems = self.checking.problems()
        if problems:
            raise InvalidRequest(self.wire.NAME, tuple(problem.what for problem in problems))

    def repairs(self) -> list[Repair]:
        """All that had to be done so far, told of the messages that were given."""
        return [*self.lost, *self.mending.repairs]

    def finish(self) -> None:
        """Nothing comes any more."""
        if self._run is not None:
            self._flush()
        self.mending.finish()
        self._settle()

    def _settle(self) -> None:
        """What nothing can change any more is checked."""
        mending, start, end = self.mending, self._settled, self.mending.settled()
        if end == start:
            return
        new = [message for message in mending.sent[start:end] if message is not None]
        self.checking.take(new)
        self.messages += new
        if len(new) == end - start:
            self.places += mending.origins[start:end]
        else:
            self.places += [mending.origins[place] for place in range(start, end) if mending.sent[place] is not None]
        self._settled = end

    def _tidied(self, position: int, message: Message) -> Message:
        """Of two items with one id the later goes without; what we do not model goes only with its reasoning."""
        rules = self.wire.RULES
        assert rules.item_id is not None
        assert rules.without_id is not None
        name = rules.item_id(message)
        if name and message.edited and _was_led_to(message):
            why = f"item {name!r} does not go without its reasoning, which has left"
            self.lost.append(Repair(what="unled-item", message=position, why=why))
            return rules.without_id(message)
        if name and name in self.items:
            self.lost.append(Repair(what="duplicate-item", message=position, why=f"item id {name!r} is not unique"))
            self.mending.unled = self.mending.unled or any(type(block) is Thinking for block in message.blocks)
            return rules.without_id(message)
        self.items.add(name)
        return message

    def _shape(self, position: int, message: Message) -> None:
        """A message of another wire in this one's shape; runs that the other wrote in pieces become one message."""
        shaped = self.wire.shape(message)
        name = self.wire.NAME
        self.lost += [
            Repair(what="left-out", message=position, why=f"{kind!r} of {message.wire!r} has no place on {name!r}")
            for kind in shaped.lost
        ]
        if self._run is not None and (self._run.role == "assistant") != (message.role == "assistant"):
            self._flush()
        if not shaped.messages and self._run is None:
            self.mending.take_nothing(position, message.role)
        for part in shaped.messages:
            if self._run is not None and _one_run(self._run, part, self.wire):
                self._run = Message(role=part.role, blocks=self._run.blocks + part.blocks)
                if self._is_answered(self._run):
                    self._flush()
                continue
            if self._run is not None:
                self._flush()
            if part.role == "system" and self.wire.RULES.system_leads and self._spoken:
                part = _told_by_the_user(part)  # noqa: PLW2901  (the same part, told as what it is)
            self._spoken = self._spoken or part.role != "system"
            self._run, self._run_at = part, position
            if not _may_go_on(part, self.wire) or self._is_answered(part):
                self._flush()

    def _heeded(self, position: int, message: Message) -> Message:
        """A message of the system's among the others: itself, where the provider takes it there."""
        before = next((said for said in reversed(self.mending.sent) if said is not None), None)
        if self._heeds and (self._after_user if before is None else before.role == "user"):
            return message
        why = "the system speaks before all others, so a message of its own is told by the user's"
        self.lost.append(Repair(what="system-message", message=position, why=why))
        return _told_by_the_user(message)

    def _is_answered(self, run: Message) -> bool:
        """Whether every call has its result with these: a request may follow, and what was sent stays as it was."""
        if run.role == "assistant":
            return False
        waiting = [call.given for call in self.mending.open]
        for call in run.closed():
            if call in waiting:
                waiting.remove(call)
        return not waiting

    def _flush(self) -> None:
        assert self._run is not None
        self.mending.take(self._run_at, self._run)
        self._run = None


def _was_led_to(message: Message) -> bool:
    """Whether it is an item as it came that we do not model, in a step whose reasoning has left."""
    block = message.blocks[0] if message.blocks else None
    return type(block) is Opaque and not block.covers and block.body == message.source


def _told_by_the_user(message: Message) -> Message:
    return Message(role="user", blocks=(Text(by_sash("a message of the system's follows")), *message.blocks))


def _one_run(before: Message, part: Message, wire: Wire) -> bool:
    """Whether both are pieces of one message on this wire."""
    return before.role == part.role and _may_go_on(before, wire) and _may_go_on(part, wire)


def _may_go_on(part: Message, wire: Wire) -> bool:
    """Whether another wire may have more to say in the same message."""
    rules = wire.RULES
    if part.role == "assistant":
        return not (rules.joins_runs and rules.results_anywhere)
    return rules.results_in_user_messages and _only_results(part.blocks)


def _only_results(blocks: tuple[Block, ...]) -> bool:
    return bool(blocks) and all(type(block) is ToolResult for block in blocks)
