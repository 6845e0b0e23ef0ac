"""
Histories from outside, made valid: every call answered, every result asked for.

Left to right and never back: what was sent at one request point is not changed by what
comes later. A call that got no answer before the model spoke again is interrupted for
good, and a result that comes after that is late. No clock, no randomness; repairing what
was repaired changes nothing. The log itself is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from sash.core.message import Block, Message, Opaque, Text, Thinking, ToolCall, ToolResult, by_sash
from sash.wire.conversation import Repair

INTERRUPTED = by_sash("interrupted before it gave a result")
ORPHAN = by_sash("a result was left out: no call waits for it")
EMPTY = by_sash("an empty message")
BEGINS = by_sash("the conversation begins here")


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider demands of the messages it is sent."""

    results_in_user_messages: bool = False
    """Results of one step stand in a message of the user's (Anthropic), not in one of their own each."""
    joins_runs: bool = False
    """Consecutive messages of one role count as one."""
    results_anywhere: bool = False
    """A result may stand anywhere after its call."""
    custom_results: bool = False
    """The result of a custom tool's call says that it is one (Responses)."""
    thinking_leads: bool = False
    """Reasoning is an item of its own and needs the item that it led to (Responses)."""
    unseen: frozenset[str] = frozenset()
    """Kinds of opaque items that stand for what the provider keeps: after one, a result may answer a call in it."""
    system_leads: bool = False
    """The system speaks before all others; what another wire lets it say later is told by the user's messages."""
    starts_with_user: bool = False
    refuses_blank_text: bool = False
    refuses_empty_user: bool = False
    tools: bool = True
    """The model can be offered tools at all."""
    id_forbidden: str = ""
    """A pattern of characters that ids must not have."""


class Repaired(msgspec.Struct, frozen=True):
    """A history that its wire accepts, and what had to be done for it."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()


class _Open(msgspec.Struct):
    """A call that waits for its result."""

    given: str
    """Its id in the history."""
    sent: str
    """Its id in the request, unique there."""
    custom: bool = False
    opaque: bool = False
    place: int = 0
    """Where its message stands in the request."""


def repair(messages: Iterable[Message], rules: Rules) -> Repaired:
    """The messages as their provider will take them."""
    mending = _Mending(rules)
    for position, message in enumerate(messages):
        mending.take(position, message)
    return mending.finish()


class _Mending:
    """The state of one pass over a history."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.sent: list[Message | None] = []
        """None where a message was left out after all."""
        self.origins: list[int] = []
        """Positions in the history of what is sent."""
        self.repairs: list[Repair] = []
        self.open: list[_Open] = []
        self.held: list[tuple[int, Message]] = []
        """What arrived while calls were open: it is sent after that step's results."""
        self.ids: dict[str, int] = {}
        """Ids of calls that were sent, with the number that the next of that name gets."""
        self.after_assistant = False
        self.unseen = False
        self.started = False
        self.position = 0

    def take(self, position: int, message: Message) -> None:
        self.position = position
        if message.role == "meta":
            return
        if message.role == "assistant":
            self._take_assistant(message)
        elif message.closed():
            self._take_results(message)
        elif self.open:
            self.held.append((position, message))
        else:
            self._send(message)
        # As in `Grouping`: an assistant's next message goes on with its step only right after the last one.
        self.after_assistant = message.role == "assistant"

    def finish(self) -> Repaired:
        self._close_step()
        kept: list[Message] = []
        for place in reversed(range(len(self.sent))):
            message = self.sent[place]
            if message is None:
                continue
            if self.rules.thinking_leads and _only_thinks(message) and not (kept and kept[-1].role == "assistant"):
                self.position = self.origins[place]
                self._note("dangling-reasoning", "reasoning without the item it led to was left out")
                continue
            kept.append(message)
        return Repaired(tuple(reversed(kept)), tuple(self.repairs))

    def _take_assistant(self, message: Message) -> None:
        if self.open and not (self.rules.joins_runs and self.after_assistant):
            self._close_step()
        blocks: list[Block] = []
        opened: list[_Open] = []
        for block in message.blocks:
            if type(block) is ToolCall:
                sent = self._unique(block.id)
                opened.append(_Open(block.id, sent, custom=block.custom))
                blocks.append(block if sent == block.id else msgspec.structs.replace(block, id=sent))
                continue
            if type(block) is Opaque:
                self.unseen = self.unseen or block.kind in self.rules.unseen
                if block.opens:
                    opened.append(_Open(block.opens, block.opens, opaque=True))
            blocks.append(block)
        self._send(_with(message, blocks))
        for call in opened:
            call.place = len(self.sent) - 1
        self.open += opened

    def _take_results(self, message: Message) -> None:
        answers: list[Block] = []
        others: list[Block] = []
        for block in message.blocks:
            given = _answers(block)
            if given is None:
                others.append(block)
                continue
            call = self._answered(given)
            if call is not None and type(block) is Opaque and not call.opaque:
                self._note("orphan-result", f"what came for call {given!r} is no result of such a call")
                self._send_stubs([call])
            elif call is not None:
                answers.append(self._paired(block, call))
            elif self.unseen:
                answers.append(block)
            else:
                others.append(Text(ORPHAN))
                self._note("orphan-result", f"no call {given!r} waits for a result")
        if others and (self.open or self.held):
            # Words beside results wait, like words between them, until every call has its result.
            self.held.append((self.position, _apart(message, others)))
            others = []
        if answers:
            if _answers(message.blocks[0]) is None:
                self._note("sorted-results", "results stand before other blocks")
            self._send(_with(message, [*answers, *others]))
        elif others:
            self._send(_apart(message, others))
        if not self.open:
            self._release()

    def _answered(self, given: str) -> _Open | None:
        for place, call in enumerate(self.open):
            if call.given == given:
                return self.open.pop(place)
        return None

    def _paired(self, block: Block, call: _Open) -> Block:
        """The result as its call was sent."""
        if type(block) is not ToolResult:
            return block
        custom = call.custom if self.rules.custom_results else block.custom
        if (call.sent, custom) == (block.call_id, block.custom):
            return block
        return msgspec.structs.replace(block, call_id=call.sent, custom=custom)

    def _close_step(self) -> None:
        """No result will come any more: stubs stand for those that are missing."""
        unanswered: list[_Open] = []
        for call in self.open:
            if call.opaque:
                self._note("unanswered-call", f"call {call.given!r} has no result and was left out")
                self._leave_out(call)
            else:
                self._note("missing-result", f"call {call.given!r} has no result")
                unanswered.append(call)
        self.open = []
        self._send_stubs(unanswered)
        self._release()

    def _send_stubs(self, calls: Sequence[_Open]) -> None:
        error = self.rules.results_in_user_messages
        stubs = [ToolResult(call.sent, (Text(INTERRUPTED),), error=error, custom=call.custom) for call in calls]
        if stubs and self.rules.results_in_user_messages:
            self._send(Message(role="user", blocks=tuple(stubs)))
        elif stubs:
            for stub in stubs:
                self._send(Message(role="tool", blocks=(stub,)))

    def _leave_out(self, call: _Open) -> None:
        message = self.sent[call.place]
        if message is None:
            # Its twin of the same id took it along.
            return
        blocks = tuple(b for b in message.blocks if not (type(b) is Opaque and b.opens == call.given))
        self.sent[call.place] = message.edit(blocks) if blocks else None

    def _release(self) -> None:
        held, self.held = self.held, []
        for position, message in held:
            self.position = position
            self._note("moved", "said while calls were open; sent after their results")
            self._send(message)

    def _send(self, message: Message) -> None:
        message = self._without_blanks(message)
        if not message.blocks and message.role == "assistant":
            self._note("empty-message", "the assistant's message says nothing")
            return
        if not message.blocks and message.role == "user" and self.rules.refuses_empty_user:
            self._note("empty-message", "the user's message says nothing")
            message = message.edit((Text(EMPTY),))
        if self.rules.starts_with_user and not self.started and message.role != "system":
            self.started = True
            if message.role == "assistant":
                self._note("first-message", "a conversation starts with a message of the user's")
                self._put(Message(role="user", blocks=(Text(BEGINS),)))
        self._put(message)

    def _put(self, message: Message) -> None:
        self.sent.append(message)
        self.origins.append(self.position)

    def _without_blanks(self, message: Message) -> Message:
        # Beside thinking a blank text is a separator that must go back as it came.
        if not self.rules.refuses_blank_text or any(type(block) is Thinking for block in message.blocks):
            return message
        blocks = tuple(block for block in message.blocks if type(block) is not Text or block.text.strip())
        if len(blocks) == len(message.blocks):
            return message
        self._note("blank-text", "blank text was left out")
        return message.edit(blocks)

    def _unique(self, given: str) -> str:
        stem = re.sub(self.rules.id_forbidden, "_", given) if self.rules.id_forbidden else given
        sent = stem = stem or "call"
        while sent in self.ids:
            self.ids[stem] += 1
            sent = f"{stem}-{self.ids[stem]}"
        self.ids[sent] = 1
        if sent != given:
            self._note("renamed-id", f"call {given!r} is sent as {sent!r}: ids are unique and plain")
        return sent

    def _note(self, what: str, why: str) -> None:
        self.repairs.append(Repair(what=what, message=self.position, why=why))


def _only_thinks(message: Message) -> bool:
    return bool(message.blocks) and all(type(block) is Thinking for block in message.blocks)


def _answers(block: Block) -> str | None:
    """Id of the call that the block is a result of."""
    if type(block) is ToolResult:
        return block.call_id
    return block.closes or None if type(block) is Opaque else None


def _with(message: Message, blocks: Sequence[Block]) -> Message:
    """The message with these blocks: itself, when they are its own."""
    return message if tuple(blocks) == message.blocks else message.edit(tuple(blocks))


def _apart(message: Message, blocks: Sequence[Block]) -> Message:
    """Blocks of a message as a message of the user's own."""
    if message.role == "tool":
        return Message(role="user", blocks=tuple(blocks))
    return message.edit(tuple(blocks))
