"""
How many tokens each source of a request may have, and who gives way to whom.

Two moments, so that nothing that changes with each request moves the head of the window:
the stable sources settle among themselves when a frame is made; the volatile ones then
live on what those left. What is settled at a frame never depends on a volatile source.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, get_args

import msgspec

from sash.core.stated import Stated, no_such_field
from sash.core.tokens import NO_TOKENS, TokenCount, total
from sash.errors import InvalidPolicy

SourceName = Literal[
    "system",
    "tools",
    "skills",
    "knowledge",
    "cross-thread",
    "facts",
    "summary",
    "history",
    "recalled",
    "input",
    "reserve",
]
SOURCES: tuple[SourceName, ...] = get_args(SourceName)
"""In the order of a request."""

PRECEDENCE: tuple[SourceName, ...] = (
    "system",
    "tools",
    "input",
    "facts",
    "summary",
    "history",
    "skills",
    "knowledge",
    "cross-thread",
    "recalled",
)
"""
Who is served first when there is something to borrow. Read backwards: who lends first and who is cut first.

The reserve is not among them: the answer's room is neither lent nor borrowed.
"""

VOLATILE: frozenset[SourceName] = frozenset({"recalled", "input"})
"""Change with each input, so they neither lend to nor borrow from history."""

WHOLE: frozenset[SourceName] = frozenset({"system", "tools", "input"})
"""Sent whole or not at all: for them others give way, down to their floors."""

LARGEST = 100_000_000
"""Tokens. More is no window of any model but a slip of the keyboard."""


class Allotment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=Stated):
    """What one source may have. Left empty, it has only what others leave."""

    share: float | None = None
    """Of the window."""
    tokens: int | None = None
    """Instead of a share."""
    floor: int = 0
    """It is never cut below this while the floors of all fit."""
    ceiling: int | None = None
    """It never gets more than this, borrowed tokens among them."""

    def size(self, window: int) -> int:
        """Tokens of a window that are its own, before anybody lends or gives way."""
        # A hair more: 0.29 x 100 is 28.999999999999996, and 29 % of 100 tokens are 29.
        own = math.floor(window * (self.share or 0.0) + 1e-6) if self.tokens is None else self.tokens
        return self.within(max(own, self.floor))

    def within(self, tokens: int) -> int:
        """So many tokens, or its ceiling."""
        return tokens if self.ceiling is None else min(tokens, self.ceiling)


NOTHING = Allotment()


class Budget(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"cross_thread": "cross-thread"},
    metaclass=Stated,
):
    """What each source may have of a window. What nobody was allotted is there for whoever asks, in order."""

    system: Allotment = NOTHING
    tools: Allotment = NOTHING
    skills: Allotment = NOTHING
    knowledge: Allotment = NOTHING
    cross_thread: Allotment = NOTHING
    facts: Allotment = NOTHING
    summary: Allotment = NOTHING
    history: Allotment = NOTHING
    recalled: Allotment = NOTHING
    input: Allotment = NOTHING
    reserve: Allotment = NOTHING
    """Left free for the answer."""

    def __post_init__(self) -> None:
        for name in SOURCES:
            _check_allotment(f"budget.{name}", self.of(name))
        shares = {name: share for name in SOURCES if (share := self.of(name).share)}
        if sum(shares.values()) > 1 + 1e-9:
            listed = ", ".join(f"{name} {share:g}" for name, share in shares.items())
            raise InvalidPolicy("budget", round(sum(shares.values()), 9), f"shares that add up to at most 1 ({listed})")

    @classmethod
    def priority(cls) -> Budget:
        """Seed 001's allocation, made for a window of 200,000: 45 % for the answer, 30 % for history."""
        return cls(
            system=Allotment(share=0.05),
            skills=Allotment(share=0.03),
            knowledge=Allotment(share=0.03),
            cross_thread=Allotment(share=0.02),
            summary=Allotment(share=0.10),
            history=Allotment(share=0.30),
            input=Allotment(share=0.02),
            reserve=Allotment(share=0.45),
        )

    def of(self, source: SourceName) -> Allotment:
        """The allotment of one source."""
        allotment: Allotment = getattr(self, source.replace("-", "_"))
        return allotment

    def check(self, window: int) -> None:
        """Refuses a budget that allots more than that window."""
        sizes = {name: self.of(name).size(window) for name in SOURCES}
        if (allotted := sum(sizes.values())) > window:
            listed = ", ".join(f"{name} {tokens:,}" for name, tokens in sizes.items() if tokens)
            raise InvalidPolicy("budget", allotted, f"at most the window of {window:,} tokens in all ({listed})")

    def allot(self, window: int) -> dict[SourceName, int]:
        """
        Each source's own tokens of that window.

        A window too small for them (a thread can move to a smaller model) cuts in the stated
        order: down to the floors first, below them only when not even the floors fit.
        """
        sizes = {name: self.of(name).size(window) for name in SOURCES}
        over = sum(sizes.values()) - window
        for floors in (True, False):
            for name in (*reversed(PRECEDENCE), "reserve"):
                floor = min(self.of(name).floor, sizes[name]) if floors else 0
                cut = max(0, min(over, sizes[name] - floor))
                sizes[name] -= cut
                over -= cut
        return sizes


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One source's line of the ledger. `allotted + borrowed = given + lent +` what stays unused."""

    source: SourceName
    allotted: int
    """Its own."""
    asked: TokenCount
    given: int
    """What it may use of what it asked for."""
    used: TokenCount
    """What it does use; `given` until the request is laid out."""
    lent: int = 0
    borrowed: int = 0

    @property
    def cut(self) -> int:
        """Asked for and not given."""
        return self.asked.value - self.given


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """Who got what of the window, and from whom. Shown by `explain` and on the page."""

    window: int
    rows: tuple[Row, ...]
    """In the order of a request."""

    @property
    def given(self) -> int:
        """All that was given, the answer's reserve among it."""
        return sum(row.given for row in self.rows)

    @property
    def used(self) -> TokenCount:
        """What the request takes; the reserve is for the answer and not in it."""
        return total(row.used for row in self.rows if row.source != "reserve")

    def row(self, source: SourceName) -> Row:
        """The line of one source."""
        return self.rows[SOURCES.index(source)]

    def within(self, tokens: int) -> Ledger:
        """
        The same ledger, whose lines take no more than this together.

        What is not sent of a history, since no provider would take it, is no part of any line: taken
        off history first, of which it nearly always was.
        """
        over = max(0, self.used.value - tokens)
        used: dict[SourceName, TokenCount] = {row.source: row.used for row in self.rows if row.source != "reserve"}
        sources: tuple[SourceName, ...] = ("history", *used)
        for source in sources:
            less = min(over, used[source].value)
            used[source] = TokenCount(used[source].value - less, used[source].exact)
            over -= less
        return self.laid_out(used)

    def reserving(self, tokens: int) -> Ledger:
        """The same ledger, of which this much is really left free: it may have been settled with a step more."""
        row = msgspec.structs.replace(
            self.row("reserve"), given=tokens, asked=TokenCount(tokens), used=TokenCount(tokens)
        )
        return msgspec.structs.replace(self, rows=(*self.rows[:-1], row))

    def laid_out(self, used: Mapping[SourceName, TokenCount]) -> Ledger:
        """The same ledger with what the sources take in the request as it is sent; those left out take nothing."""
        rows = [
            row if row.source == "reserve" else msgspec.structs.replace(row, used=used.get(row.source, NO_TOKENS))
            for row in self.rows
        ]
        return msgspec.structs.replace(self, rows=tuple(rows))


def settle(
    budget: Budget,
    asked: Mapping[SourceName, TokenCount],
    window: int,
    *,
    volatile: Collection[SourceName] = VOLATILE,
) -> Ledger:
    """
    Gives each source what it asks for, as far as the window goes.

    A source that asks less than its own lends the rest, floor or not. Tokens that nobody
    was allotted are borrowed first, then those of the least important lender. History asks
    for its high mark, not for its size of the moment: it grows until the next frame. The
    reserve is given whole, whatever is asked.
    """
    settlement = _Settlement(budget, asked, window)
    stable = [name for name in PRECEDENCE if name not in volatile]
    settlement.serve(stable, lenders=stable)
    settlement.give_way(stable, others=PRECEDENCE)
    changing = [name for name in PRECEDENCE if name in volatile]
    settlement.serve(changing, lenders=[*(name for name in stable if name != "history"), *changing])
    settlement.give_way(changing, others=changing)
    return settlement.ledger()


class _Settlement:
    """A ledger being made."""

    def __init__(self, budget: Budget, asked: Mapping[SourceName, TokenCount], window: int) -> None:
        self.budget, self.window = budget, window
        for name in asked:
            if name not in SOURCES:
                raise InvalidPolicy("source", name, f"one of {', '.join(map(repr, SOURCES))}")
        self.asked = {name: count if (count := asked.get(name, NO_TOKENS)).value > 0 else NO_TOKENS for name in SOURCES}
        self.own = budget.allot(window)
        self.unclaimed = window - sum(self.own.values())
        self.given = dict.fromkeys(SOURCES, 0)
        self.lent = dict.fromkeys(SOURCES, 0)
        self.borrowed = dict.fromkeys(SOURCES, 0)

    def serve(self, names: Iterable[SourceName], *, lenders: Collection[SourceName]) -> None:
        """Each its own first; then, in order, what others leave."""
        names = tuple(names)
        for name in names:
            self.given[name] = min(self.asked[name].value, self.own[name] - self.lent[name])
        for name in names:
            self._borrow_unclaimed(name)
            for lender in reversed(tuple(lenders)):
                self._move(lender, name, self.own[lender] - self.given[lender] - self.lent[lender])

    def give_way(self, names: Iterable[SourceName], *, others: Collection[SourceName]) -> None:
        """What goes whole and lacks tokens takes them from the others, the first to be cut first."""
        for name in names:
            if name not in WHOLE:
                continue
            for other in reversed(tuple(others)):
                if other in WHOLE:
                    continue
                floor = min(self.budget.of(other).floor, self.own[other])
                kept = self.own[other] - self.lent[other] + self.borrowed[other]
                taken = self._move(other, name, kept - floor)
                self.given[other] = min(self.given[other], kept - taken)

    def _borrow_unclaimed(self, name: SourceName) -> None:
        tokens = min(self._lacks(name), self.unclaimed)
        self.unclaimed -= tokens
        self.given[name] += tokens
        self.borrowed[name] += tokens

    def _move(self, lender: SourceName, borrower: SourceName, most: int) -> int:
        tokens = max(0, min(most, self._lacks(borrower)))
        self.lent[lender] += tokens
        self.given[borrower] += tokens
        self.borrowed[borrower] += tokens
        return tokens

    def _lacks(self, name: SourceName) -> int:
        return max(0, self.budget.of(name).within(self.asked[name].value) - self.given[name])

    def ledger(self) -> Ledger:
        reserve = self.own["reserve"]
        self.given["reserve"], self.asked["reserve"] = reserve, TokenCount(reserve)
        rows = [
            Row(
                source=name,
                allotted=self.own[name],
                asked=self.asked[name],
                given=self.given[name],
                used=TokenCount(self.given[name], self.asked[name].exact),
                lent=self.lent[name],
                borrowed=self.borrowed[name],
            )
            for name in SOURCES
        ]
        return Ledger(window=self.window, rows=tuple(rows))


def budget_from(table: Mapping[str, object]) -> Budget:
    """A budget from settings: a table of sources, each a table of `share` or `tokens`, `floor` and `ceiling`."""
    allotments: dict[str, Allotment] = {}
    for name, entry in table.items():
        source = name.replace("_", "-")
        if source not in SOURCES:
            raise no_such_field(name, entry, of="a budget", fields=SOURCES, under="budget.")
        if not isinstance(entry, Mapping):
            raise InvalidPolicy(f"budget.{name}", entry, "a table of share or tokens, floor and ceiling")
        for field, value in entry.items():
            if field not in Allotment.__struct_fields__:
                fields, under = Allotment.__struct_fields__, f"budget.{name}."
                raise no_such_field(field, value, of="a source", fields=fields, under=under)
        allotments[source.replace("-", "_")] = Allotment(**entry)
    return Budget(**allotments)


def whole_number(field: str, value: object, *, least: int = 0, most: int = LARGEST) -> int:
    """The value, when it is a size that somebody can have meant."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidPolicy(field, value, f"a whole number from {least:,} to {most:,}")
    return value


def share_of(field: str, value: object, *, zero: bool = False) -> float:
    """The value, when it is a share."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or not (value or zero):  # type: ignore[operator]  # a number, as just seen
        raise InvalidPolicy(field, value, f"a share {'from' if zero else 'above'} 0 and at most 1")
    return float(value)  # type: ignore[arg-type]  # likewise


def _check_allotment(field: str, allotment: object) -> None:
    if not isinstance(allotment, Allotment):
        raise InvalidPolicy(field, allotment, "an Allotment")
    floor = whole_number(f"{field}.floor", allotment.floor)
    if allotment.share is not None:
        share_of(f"{field}.share", allotment.share, zero=True)
        if allotment.tokens is not None:
            raise InvalidPolicy(
                f"{field}.tokens", allotment.tokens, "nothing while there is a share: say one of the two"
            )
    if allotment.tokens is not None and whole_number(f"{field}.tokens", allotment.tokens) < floor:
        raise InvalidPolicy(f"{field}.tokens", allotment.tokens, f"at least its floor of {floor:,}")
    if allotment.ceiling is not None:
        ceiling = whole_number(f"{field}.ceiling", allotment.ceiling)
        if ceiling < max(floor, allotment.tokens or 0):
            raise InvalidPolicy(f"{field}.ceiling", ceiling, "at least its floor and its tokens")
