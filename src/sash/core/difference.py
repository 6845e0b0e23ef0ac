"""The difference of two requests: what entered, what left, what of the cache survived, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from sash.core.cost import ANTHROPIC, Piece, Prices, charge, shared_prefix
from sash.core.lines import aligned
from sash.core.message import Message, Role, ToolCall, ToolResult, identity
from sash.core.tokens import TokenCount, total
from sash.core.turn import title_of

Count = Callable[[Message], TokenCount]
"""What a message takes: a counter's `message`, or sizes that are known already."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is in one of two requests only, or not the same in both."""

    place: int
    """In the request that has it; of a changed message, in the second."""
    role: Role
    title: str
    tokens: TokenCount
    was: TokenCount | None = None
    """Of a changed message, what it took before."""
    by_sash: bool = False


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Two requests of a conversation, one after the other."""

    before: TokenCount
    after: TokenCount
    entered: tuple[Change, ...]
    left: tuple[Change, ...]
    changed: tuple[Change, ...]
    """The same messages saying less: shortened, or without their thinking."""
    alike: int
    """Messages at the beginning that are the same in both."""
    cached: TokenCount
    """What those take: so much of the provider's cache survives."""
    again: TokenCount
    """What is in both but stands behind the first difference, and is paid for again."""
    extra: float
    """What the second request costs beyond one that had only grown, in tokens at list price."""
    saves: float
    """What each later request costs less, in tokens at list price: what is not sent, as read from the cache."""

    @property
    def grew(self) -> bool:
        """Whether the second request goes on from all of the first, as it does between two frames."""
        return not self.left and not self.changed and not self.again.value

    @property
    def pays_after(self) -> int | None:
        """Requests until the difference has paid for itself; None: never."""
        if self.extra <= 0:
            return 0
        return math.ceil(self.extra / self.saves) if self.saves > 0 else None

    def __str__(self) -> str:
        """What stayed, what came and went, and what that costs; a line each."""
        rows = [
            ("cached", _messages(self.alike), str(self.cached), "the same at the beginning of both"),
            ("again", "", str(self.again), "in both, but behind the first difference: paid for again"),
            *(
                (name, _messages(len(changes)), str(total(change.tokens for change in changes)), why)
                for name, changes, why in (
                    ("entered", self.entered, "only in the second"),
                    ("left", self.left, "only in the first"),
                    ("changed", self.changed, "say less in the second"),
                )
                if changes
            ),
        ]
        listed = [row for row in rows if row[0] != "again" or self.again.value]
        return "\n".join((f"{self.before} before, {self.after} after", aligned(listed, right=(1, 2)), self._worth()))

    def _worth(self) -> str:
        if self.grew:
            return "it only grew: all of the first is cached"
        extra = f"costs {self.extra:,.0f} tokens at list price more than having only grown"
        if not self.pays_after:
            return f"{extra}, and never pays" if self.pays_after is None else "costs no more than having only grown"
        return f"{extra}, saves {self.saves:,.0f} with each later request: pays after {self.pays_after}"


def diff(
    before: Sequence[Message], after: Sequence[Message], count: Count, *, prices: Prices = ANTHROPIC, fixed: int = 0
) -> Difference:
    """
    What is different in a request from the one before it.

    Messages are the same when they mean the same to the model, wherever a client has put
    its `cache_control`. `fixed` tokens of system prompt and tools stand in front of both.
    """
    old = [Piece(identity(message), 0) for message in before]
    new = [Piece(identity(message), 0) for message in after]
    alike = shared_prefix(old, new)
    counts_before, counts_after = [count(message) for message in before], [count(message) for message in after]
    # From the end: of messages that say the same, it is the older one that left.
    same = _matched([piece.identity for piece in old[alike:]], [piece.identity for piece in new[alike:]], alike)
    gone = [place for place in range(alike, len(before)) if place not in same]
    come = [place for place in range(alike, len(after)) if place not in set(same.values())]
    replaced = _matched([_origin(before[place]) for place in gone], [_origin(after[place]) for place in come], 0)
    changed = {come[new_place]: gone[old_place] for old_place, new_place in replaced.items()}
    entered = [place for place in come if place not in changed]
    own = [place for place in entered if not after[place].written_by_sash]

    pieces_before = _sized(old, counts_before)
    only_grown = pieces_before + [Piece(new[place].identity, counts_after[place].value) for place in own]
    sent = charge(pieces_before, _sized(new, counts_after), fixed=fixed, smallest=prices.smallest)
    otherwise = charge(pieces_before, only_grown, fixed=fixed, smallest=prices.smallest)
    return Difference(
        before=total(counts_before),
        after=total(counts_after),
        entered=tuple(_change(after, counts_after, place) for place in entered),
        left=tuple(_change(before, counts_before, place) for place in gone if place not in changed.values()),
        changed=tuple(
            msgspec.structs.replace(_change(after, counts_after, place), was=counts_before[changed[place]])
            for place in sorted(changed)
        ),
        alike=alike,
        cached=total(counts_after[:alike]),
        again=total(counts_after[place] for place in same.values()),
        extra=sent.cost(prices) - otherwise.cost(prices),
        saves=(otherwise.tokens - sent.tokens) * prices.read,
    )


def _messages(count: int) -> str:
    return f"{count:,} {'message' if count == 1 else 'messages'}"


def _matched(before: Sequence[bytes], after: Sequence[bytes], start: int) -> dict[int, int]:
    """Places of the same things in two sequences, the last with the last; what has no name matches nothing."""
    places: dict[bytes, list[int]] = {}
    for place, name in enumerate(before, start):
        places.setdefault(name, []).append(place)
    found = {}
    for place in range(len(after) - 1, -1, -1):
        if after[place] and (candidates := places.get(after[place])):
            found[candidates.pop()] = place + start
    return found


def _origin(message: Message) -> bytes:
    """What a message was before it was shortened: the bytes it came as, or the calls it makes and answers."""
    if message.source:
        return message.source
    ids = [*message.opened(), *message.closed()]
    return msgspec.json.encode((message.role, ids)) if ids else b""


def _sized(pieces: Sequence[Piece], counts: Sequence[TokenCount]) -> list[Piece]:
    return [Piece(piece.identity, count.value) for piece, count in zip(pieces, counts, strict=True)]


def _change(messages: Sequence[Message], counts: Sequence[TokenCount], place: int) -> Change:
    message = messages[place]
    return Change(
        place=place,
        role=message.role,
        title=title_of(message) or _named(message),
        tokens=counts[place],
        by_sash=message.written_by_sash,
    )


def _named(message: Message) -> str:
    """A message without words by its calls and results."""
    called = [block.name for block in message.blocks if type(block) is ToolCall]
    if called:
        return f"called {', '.join(called)}"
    results = sum(type(block) is ToolResult for block in message.blocks)
    return f"{results} {'result' if results == 1 else 'results'}" if results else ""
