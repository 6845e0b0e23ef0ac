"""
Histories from outside, made valid: every call answered, every result asked for.

Left to right and never back: what was sent at one request point is not changed by what
comes later; only what was sent while the model was still at work may be, once it is not.
A call that got no answer before the model spoke again is interrupted for good, and a
result that comes after that is late. No clock, no randomness; repairing what was repaired
changes nothing. The log itself is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import is_

import msgspec

from sash.core.message import Block, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult, by_sash, stands_beside
from sash.core.redacted import TOMBSTONES
from sash.wire.conversation import Repair
from sash.wire.ending import ends_open, trimmed
from sash.wire.rules import Rules
from sash.wire.served import result_of, use_of

INTERRUPTED = by_sash("interrupted before it gave a result")
ORPHAN = by_sash("a result was left out: no call waits for it")
EMPTY = by_sash("an empty message")
UNNAMED = "unnamed"
"""What a call without a name is sent as calling."""
BEGINS = by_sash("the conversation begins here")
LEFT_OUT = by_sash("an item was left out: the reasoning that led to it is not sent")


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
    position: int = 0
    """Where its message stands in the history."""


def repair(messages: Iterable[Message], rules: Rules) -> Repaired:
    """The messages as their provider will take them."""
    mending = Mending(rules)
    for position, message in enumerate(messages):
        mending.take(position, message)
    mending.finish()
    return Repaired(tuple(message for message in mending.sent if message is not None), tuple(mending.repairs))


class Mending:
    """The repair of a history that grows at its end."""

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
        self.served: dict[str, int] = {}
        """What the provider has begun to run by itself, and where that stands in the request."""
        self.unled = False
        """The reasoning that led to what the assistant says next is not sent, or its words were removed."""
        self._unfussy = not (rules.refuses_blank_text or rules.starts_with_user or rules.thinking_leads)
        """Whatever says anything is sent as it is."""
        self._no_blanks = rules.refuses_blank_text
        self._stray, self._any_arguments = rules.stray, rules.as_object is None
        self._by_steps = not (rules.results_anywhere or rules.thinking_leads or rules.custom_results)
        """A step that is whole needs nothing of what came before it, and nothing of what comes next."""
        self.position = 0

    def copy(self) -> Mending:
        """A repair that goes on by itself from here."""
        twin = Mending.__new__(Mending)
        twin.__dict__.update(self.__dict__)
        twin.sent, twin.origins, twin.repairs = self.sent[:], self.origins[:], self.repairs[:]
        twin.open, twin.held, twin.ids = self.open[:], self.held[:], self.ids.copy()
        twin.served = self.served.copy()
        return twin

    def pass_on(self, position: int, messages: Sequence[Message], wire: str) -> int:
        """
        Sends the messages at the beginning that need no mending, all at once; how many those were.

        Most that come are like this: of this wire, and each call in them has an id of its own and its result right
        after it. Whole steps only: taken one by one, each of these messages would be sent as it is.
        """
        begins = self.rules.starts_with_user and not self.started
        if self.open or self.held or self.served or not self._by_steps or begins:
            return 0
        end = whole = 0
        calls: dict[str, int] = {}
        waiting: list[str] = []
        for count, message in enumerate(messages, 1):
            if message.wire != wire or not self._passes(message, calls, waiting):
                break
            if not waiting:
                end, whole = count, len(calls)
        if end:
            self.sent += messages[:end]
            self.origins += range(position, position + end)
            self.ids.update(islice(calls.items(), whole))
            self.after_assistant = messages[end - 1].role == "assistant"
        return end

    def _passes(self, message: Message, calls: dict[str, int], waiting: list[str]) -> bool:
        """Whether it can be sent as it is, after these calls, of which some wait for their results."""
        role, blocks = message.role, message.blocks
        if role == "system" and self.rules.system_leads:
            return False
        if not blocks or role == "meta" or (self._stray is not None and self._stray(message)):
            return False
        if waiting:
            for block in blocks:
                if type(block) is not ToolResult or block.call_id not in waiting:
                    return False
                if (self._no_blanks and any(map(is_blank, block.content))) or self._shows(block):
                    return False
                waiting.remove(block.call_id)
            return role == "tool" or role == "user"
        for block in blocks:
            if type(block) is Text:
                if self._no_blanks and not block.text.strip():
                    return False
            elif (
                type(block) is ToolCall
                and role == "assistant"
                and block.id not in calls
                and self._is_free(block.id)
                and block.name
                and (self._any_arguments or self._is_object(block.arguments))
            ):
                calls[block.id] = 1
                waiting.append(block.id)
            else:
                return False
        return True

    def take(self, position: int, message: Message) -> None:
        """One more message, which stands at this position of the history."""
        self.position = position
        role = message.role
        if role == "assistant":
            self._take_assistant(message)
            # As in `Grouping`: an assistant's next message goes on with its step only right after the last one.
            self.after_assistant = True
        elif role != "meta":
            self.after_assistant = False
            if message.closed():
                self._take_results(message)
            elif self.open:
                self.held.append((position, message))
            else:
                self._leave_out_unserved()
                self._send(message)

    def take_nothing(self, position: int, role: Role) -> None:
        """Somebody said something that this wire has no place for: what it says of the steps counts all the same."""
        if role == "assistant" and self.open and not self.after_assistant:
            # The model was asked again: a result that has not come by now will not count any more.
            self.position = position
            self._close_step()
        self.after_assistant = role == "assistant"

    def settled(self) -> int:
        """How many of what is sent stand for good, whatever comes next."""
        end = min([*(call.place for call in self.open), *self.served.values()], default=len(self.sent))
        if self.rules.thinking_leads:
            while end and ((message := self.sent[end - 1]) is None or _only_thinks(message)):
                end -= 1
        elif self.rules.trims_end and end == len(self.sent):
            while end and ends_open(self.sent[end - 1]):
                end -= 1
        return end

    def finish(self) -> None:
        """Nothing comes any more: what the provider is still running it goes on with."""
        self._close_step()
        self.served = {}
        if self.rules.thinking_leads:
            self._drop_reasoning(len(self.sent))
        elif self.rules.trims_end:
            self._trim()

    def _trim(self) -> None:
        """What the assistant says last is left with an end that its provider takes."""
        for place in reversed(range(len(self.sent))):
            last = self.sent[place]
            if last is not None and ends_open(last):
                self._note("trimmed-end", "the end of what the assistant says last was left out", self.origins[place])
                last = self.sent[place] = trimmed(last)
            if last is not None:
                break

    def _drop_reasoning(self, end: int) -> None:
        """Reasoning right before this place did not lead to anything."""
        for place in reversed(range(end)):
            message = self.sent[place]
            if message is not None:
                if not _only_thinks(message):
                    break
                self.sent[place] = None
                self.unled = True
                why = "reasoning without the item it led to was left out"
                self._note("dangling-reasoning", why, self.origins[place])

    def _take_assistant(self, message: Message) -> None:
        if self.open and not (self.rules.joins_runs and self.after_assistant):
            self._close_step()
        message, begun = self._with_served(message) if self.rules.serves else (message, [])
        blocks: list[Block] | None = None
        opened: list[_Open] = []
        for place, block in enumerate(message.blocks):
            if type(block) is ToolCall:
                sent = self._called(block, message)
                opened.append(_Open(block.id, sent.id, block.custom))
                if sent is not block:
                    blocks = blocks or list(message.blocks)
                    blocks[place] = sent
            elif type(block) is Opaque:
                self.unseen = self.unseen or block.kind in self.rules.unseen
                if block.opens:
                    opened.append(_Open(block.opens, block.opens, opaque=True))
        self._send(message if blocks is None else message.edit(tuple(blocks)))
        self.served |= dict.fromkeys(begun, len(self.sent) - 1)
        if opened:
            for call in opened:
                call.place, call.position = len(self.sent) - 1, self.position
            self.open += opened

    def _with_served(self, message: Message) -> tuple[Message, list[str]]:
        """The message without results of what nobody ran, and what in it has no result yet."""
        kept: list[Block] = []
        begun: list[str] = []
        for block in message.blocks:
            if use := use_of(block):
                begun.append(use)
            elif ran := result_of(block):
                if ran in begun:
                    begun.remove(ran)
                elif self.served.pop(ran, None) is None:
                    self._note("orphan-result", f"nothing was run as {ran!r}, of which a result came")
                    continue
            kept.append(block)
        return _with(message, kept), begun

    def _leave_out_unserved(self) -> None:
        """The user speaks: what the provider was running when it was interrupted will have no result any more."""
        for use, place in self.served.items():
            message = self.sent[place]
            assert message is not None
            why = f"what the provider ran as {use!r} has no result and was left out"
            self._note("unanswered-call", why, self.origins[place])
            blocks = tuple(block for block in message.blocks if use_of(block) != use)
            self.sent[place] = message.edit(blocks) if blocks else None
        self.served = {}

    def _take_results(self, message: Message) -> None:
        block = message.blocks[0]
        alone = type(block) is ToolResult and len(message.blocks) == 1 and not any(call.opaque for call in self.open)
        if alone and type(block) is ToolResult and (call := self._answered(block.call_id)):
            # By far the most are like this.
            paired = self._paired(block, call)
            self._send(message if paired is block else message.edit((paired,)))
        else:
            self._take_each_result(message)
        if self.held and not self.open:
            self._release()

    def _take_each_result(self, message: Message) -> None:
        answers: list[Block] = []
        others: list[Block] = []
        for block in message.blocks:
            given = _answers(block)
            if given is None:
                others.append(block)
                continue
            call = self._answered(given, opaque=type(block) is Opaque)
            if call is not None and self._answers_another_kind(block, call):
                self._note("orphan-result", f"what came for call {given!r} is no result of such a call")
                if call.opaque:
                    self._leave_out(call)
                    others.append(Text(ORPHAN))
                else:
                    self._send_stubs([call])
            elif call is not None:
                answers.append(self._paired(block, call))
            elif self.unseen:
                answers.append(block)
            else:
                others.append(Text(ORPHAN))
                self._note("orphan-result", f"no call {given!r} waits for a result")
        if others and not self.open:
            self._leave_out_unserved()
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

    def _answers_another_kind(self, block: Block, call: _Open) -> bool:
        """Whether a result is none of such a call: items that we do not model have results of their own (Responses)."""
        return not call.opaque if type(block) is Opaque else call.opaque and self.rules.results_anywhere

    def _answered(self, given: str, *, opaque: bool = False) -> _Open | None:
        """The call of that id, which waits no more; of two, the one of the kind that is answered."""
        places = [place for place, call in enumerate(self.open) if call.given == given]
        if not places:
            return None
        return self.open.pop(next((place for place in places if self.open[place].opaque == opaque), places[0]))

    def _paired(self, block: Block, call: _Open) -> Block:
        """The result as its call was sent."""
        if type(block) is not ToolResult:
            return block
        custom = call.custom if self.rules.custom_results else block.custom
        if call.sent == block.call_id and custom == block.custom:
            return block
        return msgspec.structs.replace(block, call_id=call.sent, custom=custom)

    def _close_step(self) -> None:
        """No result will come any more: stubs stand for those that are missing."""
        unanswered: list[_Open] = []
        for call in self.open:
            if call.opaque:
                self._note("unanswered-call", f"call {call.given!r} has no result and was left out", call.position)
                self._leave_out(call)
            else:
                self._note("missing-result", f"call {call.given!r} has no result", call.position)
                unanswered.append(call)
        self.open = []
        self._send_stubs(unanswered)
        self._release()

    def _send_stubs(self, calls: Sequence[_Open]) -> None:
        error = self.rules.results_in_user_messages
        stubs = [ToolResult(call.sent, (Text(INTERRUPTED),), error=error, custom=call.custom) for call in calls]
        now = self.position
        if stubs and self.rules.results_in_user_messages:
            self.position = calls[0].position
            self._send(Message(role="user", blocks=tuple(stubs)))
        elif stubs:
            for call, stub in zip(calls, stubs, strict=True):
                self.position = call.position
                self._send(Message(role="tool", blocks=(stub,)))
        self.position = now

    def _leave_out(self, call: _Open) -> None:
        message = self.sent[call.place]
        assert message is not None
        # Of twins with one id the first was answered first.
        place = max(p for p, b in enumerate(message.blocks) if type(b) is Opaque and b.opens == call.given)
        blocks = message.blocks[:place] + message.blocks[place + 1 :]
        self.sent[call.place] = message.edit(blocks) if blocks else None
        after = next((said for said in self.sent[call.place + 1 :] if said is not None), None)
        if not blocks and self.rules.thinking_leads and after is not None and after.role != "assistant":
            self._drop_reasoning(call.place)

    def _release(self) -> None:
        held, self.held = self.held, []
        if held:
            self._leave_out_unserved()
        now = self.position
        for position, message in held:
            self.position = position
            self._note("moved", "said while calls were open; sent after their results")
            self._send(message)
        self.position = now

    def _called(self, call: ToolCall, message: Message) -> ToolCall:
        """The call as it can be sent."""
        sent, name, arguments = self._unique(call.id, own=bool(message.source)), call.name, call.arguments
        if not name:
            name = UNNAMED
            self._note("unnamed-call", f"call {call.id!r} names no tool and is sent as a call of {UNNAMED!r}")
        # What came on another wire is written as an object all the same.
        if message.source and not self._is_object(arguments):
            assert self.rules.as_object is not None
            arguments = self.rules.as_object(call)
            self._note("arguments", f"call {call.id!r} came with what is no object, and is sent with one")
        same = (sent, name, arguments) == (call.id, call.name, call.arguments)
        return call if same else ToolCall(sent, name, arguments, call.custom)

    def _is_object(self, arguments: str) -> bool:
        """Whether arguments have the form that is asked for."""
        return self.rules.as_object is None or arguments[:1] == "{"

    def _send(self, message: Message) -> None:
        if self._stray is not None and (stray := self._stray(message)):
            if message.blocks or message.role != "assistant":
                self._note(stray.what, stray.why)
            message = message.edit(message.blocks)
        if self._unfussy and message.blocks:
            self.sent.append(message)
            self.origins.append(self.position)
            return
        message = self._without_blanks(self._signed(self._in_words(message)))
        if not message.blocks and message.role == "assistant":
            self._note("empty-message", "the assistant's message says nothing")
            return
        if not message.blocks and message.role == "user" and self.rules.refuses_empty_user:
            self._note("empty-message", "the user's message says nothing")
            message = message.edit((Text(EMPTY),))
        if self.rules.starts_with_user and not self.started and message.role != "system":
            # What leaves with its turn begins nothing: where it has gone the same message stands first.
            self.started = not all(map(stands_beside, message.blocks))
            if message.role == "assistant":
                self._note("first-message", "a conversation starts with a message of the user's")
                self._put(Message(role="user", blocks=(Text(BEGINS),)))
        self._put(message)

    def _put(self, message: Message) -> None:
        if self.rules.thinking_leads:
            if message.role != "assistant":
                self.unled = False
                self._drop_reasoning(len(self.sent))
                # What is said after the user's own words was led to by them.
                self.unled = self.unled and message.role != "user"
            elif _only_thinks(message):
                self.unled = False
            elif self.unled:
                message = self._unlinked(message)
            else:
                self.unled = any(type(block) is Text and block.text in TOMBSTONES for block in message.blocks)
        self.sent.append(message)
        self.origins.append(self.position)

    def _unlinked(self, message: Message) -> Message:
        """What the assistant said without the reasoning that led to it: without its id, which tells of that."""
        rules = self.rules
        assert rules.item_id is not None
        assert rules.without_id is not None
        if message.edited or any(map(_calls_its_own_way, message.blocks)) or not rules.item_id(message):
            return message
        self._note("unled-item", "an item whose reasoning is not sent goes without its id")
        left = rules.without_id(message)
        return Message(role="assistant", blocks=(Text(LEFT_OUT),)) if left.role == "meta" else left

    def _shows(self, block: ToolResult) -> bool:
        """Whether it is an error that holds more than words, where its provider takes no such."""
        return block.error and self.rules.errors_are_text and any(type(part) is not Text for part in block.content)

    def _in_words(self, message: Message) -> Message:
        """The message without errors that show something: what they show is worth more than that they are errors."""
        blocks = message.blocks
        if not any(type(block) is ToolResult and self._shows(block) for block in blocks):
            return message
        self._note("error-shows", "a result that is an error holds more than words, and is sent as any other result")
        return message.edit(
            tuple(
                msgspec.structs.replace(block, error=False)
                if type(block) is ToolResult and self._shows(block)
                else block
                for block in blocks
            )
        )

    def _without_blanks(self, message: Message) -> Message:
        # Beside thinking a blank text is a separator that must go back as it came.
        if not self._no_blanks or any(type(block) is Thinking for block in message.blocks):
            return message
        blocks = [self._without_blank_parts(block) for block in message.blocks if not is_blank(block)]
        if len(blocks) == len(message.blocks) and all(map(is_, blocks, message.blocks)):
            return message
        self._note("blank-text", "blank text was left out")
        return message.edit(tuple(blocks))

    def _without_blank_parts(self, block: Block) -> Block:
        if type(block) is not ToolResult or not any(map(is_blank, block.content)):
            return block
        return msgspec.structs.replace(block, content=tuple(part for part in block.content if not is_blank(part)))

    def _signed(self, message: Message) -> Message:
        """The message without thinking that nobody signed."""
        if not self.rules.signed_thinking or not any(map(is_unsigned, message.blocks)):
            return message
        self._note("unsigned-thinking", "thinking without its signature was left out")
        return message.edit(tuple(block for block in message.blocks if not is_unsigned(block)))

    def _is_free(self, call: str) -> bool:
        """Whether a call can be sent under the id that it came with."""
        forbidden = self.rules.id_forbidden
        return bool(call) and call not in self.ids and not (forbidden and re.search(forbidden, call))

    def _unique(self, given: str, *, own: bool) -> str:
        """The id that a call is sent under; of its provider's `own` ids the length is what it takes."""
        stem = re.sub(self.rules.id_forbidden, "_", given) if self.rules.id_forbidden else given
        longest = max(self.rules.id_longest, len(stem) if own else 0) or None
        sent = stem = stem[:longest] or "call"
        while sent in self.ids:
            self.ids[stem] += 1
            suffix = f"-{self.ids[stem]}"
            sent = stem[: longest and longest - len(suffix)] + suffix
        self.ids[sent] = 1
        if sent != given:
            self._note("renamed-id", f"call {given!r} is sent as {sent!r}: ids are unique and plain")
        return sent

    def _note(self, what: str, why: str, position: int | None = None) -> None:
        """A repair of the message at hand, unless another is named."""
        self.repairs.append(Repair(what=what, message=self.position if position is None else position, why=why))


def is_blank(block: Block) -> bool:
    """Whether it is words, and says nothing."""
    return type(block) is Text and not block.text.strip()


def is_unsigned(block: Block) -> bool:
    """Whether it is thinking without its provider's proof."""
    return type(block) is Thinking and not block.signature


def _only_thinks(message: Message) -> bool:
    return bool(message.blocks) and all(type(block) is Thinking for block in message.blocks)


def _calls_its_own_way(block: Block) -> bool:
    """Whether it is a call that we do not model, and so cannot say in another way."""
    return type(block) is Opaque and bool(block.opens)


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
