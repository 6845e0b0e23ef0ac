"""What a request is made of, by what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sash.core.message import Block, Document, Image, Message, Text, Thinking, ToolCall, ToolResult, is_by_sash
from sash.core.request import OURS
from sash.core.tokens import Counter, TokenCount, total
from sash.window.prepared import Prepared

BESIDE = ("system", "tools", "digest", "repairs")
"""Kinds that are no part of history."""
AROUND = "around messages"
"""What a provider adds to each, and to a request; a ledger has most of it with what it stands around."""
TOLD = "told as text"
"""Steps whose signed thinking lost its proof in the middle of a tool loop."""


def parts_of(sent: Prepared) -> dict[str, TokenCount]:
    """What a request is made of, the largest first: together, all that it takes."""
    if sent.wire == "flat":
        return {"prompt": sent.tokens}
    counter = sent.fold.counter
    messages = zip(sent.positions, (message for message, _ in sent.sent), strict=True)
    plain = sent.fold.frame.plain
    found = _by_kind(messages, counter, plain)
    found[AROUND] = [*found.get(AROUND, ()), TokenCount(counter.priming)]
    found["tools"] = [sent.report.ledger.row("tools").used]
    return _sorted(found, sent.tokens)


def parts_said(messages: Iterable[tuple[int, Message]], counter: Counter, used: TokenCount) -> dict[str, TokenCount]:
    """The same of messages of which no request can be made yet, each with its position in the log."""
    return _sorted(_by_kind(messages, counter, (0, 0)), used)


def _by_kind(
    messages: Iterable[tuple[int, Message]], counter: Counter, plain: tuple[int, int]
) -> dict[str, list[TokenCount]]:
    found: dict[str, list[TokenCount]] = {}
    for position, message in messages:
        for block in message.blocks:
            found.setdefault(_kind(block, message, position, plain), []).append(counter.block(block))
        found.setdefault(AROUND, []).append(counter.around(message))
    return found


def _sorted(found: Mapping[str, Iterable[TokenCount]], used: TokenCount) -> dict[str, TokenCount]:
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


def _kind(block: Block, message: Message, position: int, plain: tuple[int, int]) -> str:
    if message.role == "system":
        return "system"
    if position == OURS:
        return "digest"
    if is_by_sash(block):
        return TOLD if plain[0] <= position < plain[1] else "repairs"
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
