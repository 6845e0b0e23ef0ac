"""
Would the provider take it? The last look at every outgoing request.

Written apart from `repair` on purpose: it looks at what is about to be sent and knows
nothing of how it came to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sash.core.message import Message, Opaque, Text, Thinking, ToolCall, ToolResult
from sash.wire.repair import Rules


class Problem(msgspec.Struct, frozen=True):
    """One thing a provider would refuse."""

    message: int
    """Its position in the request."""
    what: str


def check(messages: Sequence[Message], rules: Rules) -> tuple[Problem, ...]:
    """Everything the provider would refuse; empty for a valid request."""
    start = next((place for place, message in enumerate(messages) if message.role != "system"), len(messages))
    spoken = list(enumerate(messages))[start:]
    problems = [*_unique_ids(messages), *_contents(spoken, rules)]
    if rules.starts_with_user and not spoken:
        problems.append(Problem(start, "no message besides the system prompt"))
    if rules.starts_with_user and spoken and spoken[0][1].role != "user":
        problems.append(Problem(start, "the first message is not the user's"))
    if rules.results_anywhere:
        problems += _loose_pairs(spoken, rules)
    else:
        problems += _joined_pairs(spoken) if rules.joins_runs else _strict_pairs(spoken)
    return tuple(problems)


def _unique_ids(messages: Sequence[Message]) -> Iterator[Problem]:
    ids: set[str] = set()
    for place, message in enumerate(messages):
        for block in message.blocks:
            if type(block) is ToolCall:
                if block.id in ids:
                    yield Problem(place, f"call id {block.id!r} is not unique")
                ids.add(block.id)


def _contents(spoken: Sequence[tuple[int, Message]], rules: Rules) -> Iterator[Problem]:
    for place, message in spoken:
        if message.role == "meta":
            yield Problem(place, "metadata is never sent")
        if not message.blocks and (
            message.role == "assistant" or (message.role == "user" and rules.refuses_empty_user)
        ):
            yield Problem(place, "the message is empty")
        signed = any(type(block) is Thinking for block in message.blocks)
        for block in message.blocks:
            if type(block) is Text and rules.refuses_blank_text and not block.text.strip() and not signed:
                yield Problem(place, "a text is blank")
            elif type(block) is ToolCall and message.role != "assistant":
                yield Problem(place, f"a call in a message of the {message.role}'s")
            elif type(block) is ToolResult and message.role == "assistant":
                yield Problem(place, "a result in a message of the assistant's")


def _strict_pairs(spoken: Sequence[tuple[int, Message]]) -> Iterator[Problem]:
    """Right after an assistant's calls come their results, nothing between."""
    waiting: list[str] = []
    for place, message in spoken:
        closed = list(message.closed())
        for call in closed:
            if call in waiting:
                waiting.remove(call)
            else:
                yield Problem(place, f"result of {call!r}, which no call before it asked for")
        if not closed and waiting:
            yield Problem(place, f"no result of {', '.join(waiting)} before the next message")
            waiting = []
        waiting += message.opened()
    if waiting:
        yield Problem(len(spoken), f"no result of {', '.join(waiting)} at the end")


def _joined_pairs(spoken: Sequence[tuple[int, Message]]) -> Iterator[Problem]:
    """Calls of one run of the assistant's messages are answered at the start of the next run."""
    waiting: list[str] = []
    answering = words = False
    for place, message in spoken:
        if message.role == "assistant":
            if answering and waiting:
                yield Problem(place, f"no result of {', '.join(waiting)} before the assistant goes on")
                waiting = []
            waiting += message.opened()
            answering = words = False
            continue
        answering = True
        for block in message.blocks:
            call = block.call_id if type(block) is ToolResult else block.closes if type(block) is Opaque else ""
            if not call:
                words = True
                continue
            if call not in waiting:
                yield Problem(place, f"result of {call!r}, which no call just before it asked for")
                continue
            waiting.remove(call)
            if words:
                yield Problem(place, f"result of {call!r} stands after other blocks")
    if waiting:
        yield Problem(len(spoken), f"no result of {', '.join(waiting)} at the end")


def _loose_pairs(spoken: Sequence[tuple[int, Message]], rules: Rules) -> Iterator[Problem]:
    """Every call has its result somewhere after it, every result its call before it."""
    waiting: list[str] = []
    unseen = False
    for place, message in spoken:
        for call in message.closed():
            if call in waiting:
                waiting.remove(call)
            elif not unseen:
                yield Problem(place, f"result of {call!r}, which no call before it asked for")
        unseen = unseen or any(type(block) is Opaque and block.kind in rules.unseen for block in message.blocks)
        waiting += message.opened()
    if waiting:
        yield Problem(len(spoken), f"no result of {', '.join(waiting)} anywhere")
