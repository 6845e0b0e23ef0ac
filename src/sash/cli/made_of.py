"""What the next request is made of, by what it is, and the largest results in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from sash.cli.spoken import about_call
from sash.cli.subject import Subject
from sash.core.frame import handle_of
from sash.core.message import Block, Document, Image, Message, Text, Thinking, ToolCall, ToolResult, is_by_sash
from sash.core.request import OURS
from sash.core.tokens import TokenCount, total
from sash.window import Prepared

LARGEST = 5
"""So many of the largest results are named."""
BESIDE = ("system", "tools", "digest", "repairs")
"""Kinds that are no part of history."""


AROUND = "around messages"
"""What a provider adds to each, and to a request; the table of sources has most of it with what it stands around."""


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
    if sent is not None and sent.wire == "flat":
        return {"prompt": sent.tokens}
    found: dict[str, list[TokenCount]] = {}
    for position, message in _messages(it, sent):
        for block in message.blocks:
            found.setdefault(_kind(block, message, position), []).append(it.counter.block(block))
        found.setdefault(AROUND, []).append(it.counter.around(message))
    if sent is not None:
        found[AROUND] = [*found.get(AROUND, ()), TokenCount(it.counter.priming)]
        found["tools"] = [sent.report.ledger.row("tools").used]
    counted = _within({name: total(counts) for name, counts in found.items()}, used)
    return dict(sorted(counted.items(), key=lambda item: -item[1].value))


def _within(counted: Mapping[str, TokenCount], used: TokenCount) -> dict[str, TokenCount]:
    """The counts as the marks count them: what a provider reported corrects history, in each kind alike."""
    beside = sum(count.value for name, count in counted.items() if name in BESIDE)
    said, whole = sum(count.value for count in counted.values()) - beside, max(0, used.value - beside)
    told: dict[str, TokenCount] = {}
    done = shown = 0
    for name, count in counted.items():
        if name in BESIDE or said == whole:
            told[name] = count
            continue
        # Of the running sum, so that roundings do not add up.
        done += count.value
        upto = round(done * whole / said) if said else 0
        told[name], shown = TokenCount(upto - shown, exact=False), upto
    return told


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


def _kind(block: Block, message: Message, position: int) -> str:
    if message.role == "system":
        return "system"
    if position == OURS:
        return "digest"
    if is_by_sash(block):
        return "repairs"
    match block:
        case Text():
            return message.role
        case Thinking():
            return "thinking"
        case ToolCall():
            return "calls"
        case ToolResult():
            return "results"
        case Image() | Document():
            return "images"
    return "other"
