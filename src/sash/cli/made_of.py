"""What the next request is made of, by what it is, and the largest results in it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sash.cli.spoken import about_call
from sash.cli.subject import Subject
from sash.core.frame import handle_of
from sash.core.message import Message, ToolCall, ToolResult
from sash.core.tokens import TokenCount
from sash.window import Prepared, parts_of, parts_said

LARGEST = 5
"""So many of the largest results are named."""


class LargestResult(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's result that takes much of the window."""

    handle: str
    """Names it for `sash expand`."""
    tool: str
    about: str
    """The file, command or question that the tool was called with."""
    tokens: TokenCount


def by_kind(it: Subject, used: TokenCount) -> dict[str, TokenCount]:
    """What the next request is made of, the largest first: together, all that is `used`."""
    sent = it.upcoming()
    return parts_of(sent) if sent is not None else parts_said(it.in_window(), it.counter, used)


def largest_results(it: Subject) -> tuple[LargestResult, ...]:
    """The largest results that are sent, with what they are results of."""
    calls: dict[str, ToolCall] = {}
    found: list[LargestResult] = []
    given = dict(it.in_window())
    for position, message in _messages(it, it.upcoming()):
        for block in message.blocks:
            if type(block) is ToolCall:
                calls[block.id] = block
            elif type(block) is ToolResult and (place := _place(block, given.get(position))) is not None:
                call = calls.get(block.call_id)
                found.append(
                    LargestResult(
                        handle=handle_of(position, place),
                        tool=call.name if call is not None else "",
                        about=about_call(call.arguments) if call is not None else "",
                        tokens=it.counter.block(block),
                    )
                )
    return tuple(sorted(found, key=lambda result: -result.tokens.value)[:LARGEST])


def _place(result: ToolResult, given: Message | None) -> int | None:
    """Where a result stands in its message, whatever id a repair gave it; None of one that nobody gave."""
    for place, block in enumerate(given.blocks if given is not None else ()):
        if type(block) is ToolResult and block.content == result.content:
            return place
    return None


def _messages(it: Subject, sent: Prepared | None) -> Iterator[tuple[int, Message]]:
    """All that is sent, each message with its position in the log; where nothing can be sent yet, all that would be."""
    if sent is None:
        yield from it.in_window()
    else:
        yield from zip(sent.positions, (message for message, _ in sent.sent), strict=True)
