"""
Would the provider take it? The last look at every outgoing request.

Written apart from `repair` on purpose: it looks at what is about to be sent and knows
nothing of how it came to be. Each message is looked at once: a request that grew is
checked where it grew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Self

import msgspec

from sash.core.message import Message, Opaque, Text, Thinking, ToolCall, ToolResult
from sash.wire.marks import marks_in
from sash.wire.rules import Rules


class Problem(msgspec.Struct, frozen=True):
    """One thing a provider would refuse."""

    message: int
    """Its position in the request."""
    what: str


def check(messages: Iterable[Message], rules: Rules) -> tuple[Problem, ...]:
    """Everything the provider would refuse; empty for a valid request."""
    checking, whole = Checking(rules), tuple(messages)
    checking.take(whole)
    return (*checking.problems(), *crowded(whole, rules))


def crowded(messages: Iterable[Message], rules: Rules, *, beside: int = 0) -> tuple[Problem, ...]:
    """More breakpoints than the provider takes, those of the tools, which stand beside the messages, counted too."""
    if not rules.most_breakpoints:
        return ()
    # Of a request that grows, those are known only at its end: earlier ones are taken out then.
    places = [place for place, message in enumerate(messages) for _ in range(marks_in(message.source))]
    over = places[max(0, rules.most_breakpoints - beside) :]
    what = f"more than {rules.most_breakpoints} breakpoints for the cache"
    return (Problem(over[0], what),) if over else ()


class Checking:
    """The check of a request that grows at its end."""

    def __init__(self, rules: Rules, *, continued: bool = False) -> None:
        self.rules = rules
        self.continued = continued
        """The provider keeps what was said before."""
        self.place = -1
        """Of the last message in the request."""
        self.found: list[Problem] = []
        self.ids: set[str] = set()
        """Of all calls."""
        self.items: set[str] = set()
        """Ids of all items, where items have some."""
        self.spoken = False
        """Somebody but the system has said something."""
        self.reasoning = False
        """What the last message led to has to come next."""
        self.listed = False
        """There is a message besides the system prompt that stands apart."""
        self.pairs = _pairs(rules, continued=continued)
        self._lenient = not (rules.refuses_blank_text or rules.joins_runs or rules.results_anywhere or rules.item_id)
        """Words alone are never refused, and a result only for its call."""

    def copy(self) -> Checking:
        """A check that goes on by itself from here."""
        twin = Checking.__new__(Checking)
        twin.__dict__.update(self.__dict__)
        twin.found, twin.pairs = self.found[:], self.pairs.copy()
        twin.ids, twin.items = self.ids.copy(), self.items.copy()
        return twin

    def take(self, messages: Sequence[Message]) -> None:
        """More messages at its end."""
        pairs, lenient, first = self.pairs, self._lenient, self.place + 1
        stray = self.rules.stray
        for place, message in enumerate(messages, first):
            blocks = message.blocks
            if lenient and len(blocks) == 1 and self.spoken:
                # Nearly all are like this, beside those with calls: words while no call waits, or the result of one.
                only = blocks[0]
                if stray is not None and stray(message):
                    pass
                elif type(only) is Text:
                    if not pairs.waiting and message.role != "meta":
                        continue
                elif type(only) is ToolResult and message.role == "tool" and pairs.answered(only.call_id):
                    continue
            self.place = place
            self._take(message)
        self.place = first + len(messages) - 1

    def _take(self, message: Message) -> None:
        rules, role, blocks = self.rules, message.role, message.blocks
        if not self.listed:
            self.listed = not (rules.system_apart and role == "system" and message.source[:1] != b"{")
        if not self.spoken and role != "system":
            self.spoken = True
            if rules.starts_with_user and role != "user":
                self._refuse("the first message is not the user's")
        if rules.stray is not None and (stray := rules.stray(message)):
            self._refuse(stray.why)
        opened: list[str] = []
        closed: list[str] = []
        opaque = False
        for block in blocks:
            if type(block) is Text:
                continue
            if type(block) is ToolResult:
                closed.append(block.call_id)
            elif type(block) is ToolCall:
                opened.append(block.id)
                if not block.name or rules.as_object is not None:
                    self._take_call(block, message)
            elif type(block) is Opaque:
                opaque = True
            elif type(block) is Thinking and rules.signed_thinking and not block.signature:
                self._refuse("thinking without its signature")
        if opened:
            self._take_calls(role, opened)
        if closed and role == "assistant":
            self._refuse("a result in a message of the assistant's")
        if opaque:
            opened, closed = message.opened(), message.closed()
        if self.spoken:
            if not blocks or rules.refuses_blank_text or role == "meta":
                self._take_words(message)
            if opened or closed or self.pairs.waiting or rules.joins_runs or opaque:
                for what in self.pairs.take(message, opened, closed):
                    self._refuse(what)
        if rules.item_id is not None:
            self._take_item(message, rules.item_id(message))

    def problems(self) -> tuple[Problem, ...]:
        """Everything the provider would refuse, if nothing came after it."""
        if self.rules.takes_anything:
            return ()
        found = self.found[:]
        if self.rules.starts_with_user and not self.spoken and self.place >= 0:
            found.append(Problem(self.place + 1, _ONLY_SYSTEM))
        elif not self.listed and not self.continued:
            found.append(Problem(self.place + 1, _NOTHING if self.place < 0 else _ONLY_SYSTEM))
        if self.reasoning:
            found.append(Problem(self.place, _DANGLING))
        if self.pairs.waiting:
            found.append(Problem(self.place + 1, f"no result of {', '.join(self.pairs.waiting)} {self.pairs.END}"))
        return tuple(found)

    def _refuse(self, what: str) -> None:
        self.found.append(Problem(self.place, what))

    def _take_call(self, call: ToolCall, message: Message) -> None:
        if not call.name:
            self._refuse(f"call {call.id!r} names no tool")
        # What came on another wire is written as an object, whatever it is.
        if self.rules.as_object is not None and message.source and call.arguments[:1] != "{":
            self._refuse(f"call {call.id!r} comes with what is no object")

    def _take_calls(self, role: str, opened: list[str]) -> None:
        for call in opened:
            if call in self.ids:
                self._refuse(f"call id {call!r} is not unique")
            self.ids.add(call)
        if role != "assistant" and self.spoken:
            self._refuse(f"a call in a message of the {role}'s")

    def _take_words(self, message: Message) -> None:
        role = message.role
        if role == "meta":
            self._refuse("metadata is never sent")
        if not message.blocks and (role == "assistant" or (role == "user" and self.rules.refuses_empty_user)):
            self._refuse("the message is empty")
        if self.rules.refuses_blank_text:
            for block in message.blocks:
                # Beside thinking a blank text is a separator that must go back as it came.
                if type(block) is Text and not block.text.strip() and not _thinks(message):
                    self._refuse("a text is blank")
                elif type(block) is ToolResult and any(type(p) is Text and not p.text.strip() for p in block.content):
                    self._refuse("a text in a result is blank")

    def _take_item(self, message: Message, name: str) -> None:
        if name and name in self.items:
            self._refuse(f"item id {name!r} is not unique")
        self.items.add(name)
        if self.reasoning and message.role != "assistant":
            self.found.append(Problem(self.place - 1, _DANGLING))
        self.reasoning = _thinks(message)


_NOTHING = "no message at all; give at least one"
_ONLY_SYSTEM = "no message besides the system prompt"
_DANGLING = "reasoning without the item it led to"


def _thinks(message: Message) -> bool:
    return any(type(block) is Thinking for block in message.blocks)


class _Pairs:
    """Right after an assistant's calls come their results, nothing between."""

    END = "at the end"

    def __init__(self) -> None:
        self.waiting: list[str] = []
        """Calls without a result so far."""

    def copy(self) -> Self:
        """Pairs that go on by themselves from here."""
        twin = copy(self)
        twin.waiting = self.waiting[:]
        return twin

    def answered(self, call: str) -> bool:
        """Takes the result of a call, where one waits for it."""
        if call not in self.waiting:
            return False
        self.waiting.remove(call)
        return True

    def take(self, message: Message, opened: Sequence[str], closed: Sequence[str]) -> list[str]:  # noqa: ARG002  (some look at the message)
        """What is wrong with it, after all that came before."""
        problems: list[str] = []
        if closed:
            orphans = [call for call in closed if not self.answered(call)]
            problems += [f"result of {call!r}, which no call before it asked for" for call in orphans]
        elif self.waiting:
            problems.append(f"no result of {', '.join(self.waiting)} before the next message")
            self.waiting = []
        self.waiting += opened
        return problems


class _JoinedPairs(_Pairs):
    """Calls of one run of the assistant's messages are answered at the start of the next run."""

    def __init__(self) -> None:
        super().__init__()
        self.answering = self.words = False

    def take(self, message: Message, opened: Sequence[str], closed: Sequence[str]) -> list[str]:
        """As the run it stands in has it."""
        problems = []
        if message.role == "assistant":
            if self.answering and self.waiting:
                problems.append(f"no result of {', '.join(self.waiting)} before the assistant goes on")
                self.waiting = []
            self.waiting += opened
            self.answering = self.words = False
            return problems
        self.answering = True
        if not closed:
            self.words = self.words or bool(message.blocks)
            return problems
        for block in message.blocks:
            call = block.call_id if type(block) is ToolResult else block.closes if type(block) is Opaque else ""
            if not call:
                self.words = True
            elif call not in self.waiting:
                problems.append(f"result of {call!r}, which no call just before it asked for")
            else:
                self.waiting.remove(call)
                if self.words:
                    problems.append(f"result of {call!r} stands after other blocks")
        return problems


class _LoosePairs(_Pairs):
    """Every call has its result somewhere after it, every result its call before it."""

    END = "anywhere"

    def __init__(self, kinds: frozenset[str], *, unseen: bool) -> None:
        super().__init__()
        self.kinds, self.unseen = kinds, unseen

    def take(self, message: Message, opened: Sequence[str], closed: Sequence[str]) -> list[str]:
        """Wherever it stands."""
        orphans = [call for call in closed if not self.answered(call)]
        problems = [f"result of {call!r}, which no call before it asked for" for call in orphans if not self.unseen]
        self.unseen = self.unseen or any(type(block) is Opaque and block.kind in self.kinds for block in message.blocks)
        self.waiting += opened
        return problems


def _pairs(rules: Rules, *, continued: bool) -> _Pairs:
    if rules.results_anywhere:
        return _LoosePairs(rules.unseen, unseen=continued)
    return _JoinedPairs() if rules.joins_runs else _Pairs()
