"""
What of a fold must survive a restart: one declared type.

Messages are in it by their position only, for the log has them; a checkpoint is small however
much was said. It is a shortcut and never the truth: folding the log again gives the same.
"""

from __future__ import annotations

import msgspec

from sash.core.facts import Fact, Facts
from sash.core.fold import Fold
from sash.core.frame import Frame, Reason
from sash.core.growth import Growth
from sash.core.kept import KeptMessage, Lookup, Resting
from sash.core.left import Left
from sash.core.limits import Limits
from sash.core.past import Past
from sash.core.policy import Policy
from sash.core.recall import Recalled
from sash.core.recalling import Input, Recalling
from sash.core.standing import Standing
from sash.core.summary import Summary
from sash.core.tokens import Counter
from sash.core.turn import Placing


class FoldState(msgspec.Struct, frozen=True, kw_only=True):
    """A fold between two messages, without what the log holds and without what the policy says."""

    frame: Frame
    placing: Placing
    system: tuple[KeptMessage, ...]
    turns: Resting
    digest: msgspec.Raw
    """Its JSON: it is needed at the next slide only."""
    summaries: tuple[Summary, ...] = ()
    pinned: tuple[int, ...]
    tokens: int
    exact: bool
    body: int
    factor: float
    beyond: float = 0.0
    suspended: bool
    closed: tuple[int, ...]
    requests: int
    added: int
    asked: int
    said_at: float | None
    due: tuple[Reason, int | None] | None
    standing: Standing
    """What stands for what left: put together once for each frame, and not at each start."""
    facts: tuple[Fact, ...] = ()
    said: int = 0
    input: tuple[int, int] | None = None
    """Position and number of what the user said last, where something may be recalled for it."""
    recalled: Recalled | None = None
    """What would not be found again for it."""

    @classmethod
    def of(cls, fold: Fold, *, digest: bool = True) -> FoldState:
        """The state of a fold; the digest may be left out where it is kept already."""
        heard, growth = fold.recalling.heard, fold.growth
        return cls(
            frame=fold.frame,
            placing=fold.placing.copy(),
            system=tuple(map(KeptMessage.of, fold.system)),
            turns=fold.resting or Resting.of(fold.turns.values()),
            digest=fold.left.written() if digest else msgspec.Raw(b"null"),
            summaries=fold.summaries,
            pinned=tuple(sorted(fold.pinned)),
            tokens=fold.tokens,
            exact=fold.exact,
            body=fold.body,
            factor=fold.factor,
            beyond=fold.beyond,
            suspended=fold.suspended,
            closed=tuple(growth.closed),
            requests=growth.requests,
            added=growth.added,
            asked=fold.asked,
            said_at=fold.said_at,
            due=fold.due,
            standing=fold.standing,
            facts=tuple(fold.facts),
            said=fold.said,
            input=None if heard is None else (heard.position, heard.number),
            recalled=fold.recalling.settled,
        )

    def fold(self, policy: Policy, limits: Limits, counter: Counter, lookup: Lookup) -> Fold:
        """The fold that had this state; of its past it knows the newest frame only."""
        fold = Fold(policy, limits, counter)
        fold.frame, fold.past = self.frame, Past([self.frame])
        fold.placing, fold.left = self.placing.copy(), Left(self.digest)
        fold.summaries = self.summaries
        came = lookup([kept.position for kept in self.system]) if self.system else ()
        fold.system = [kept.live(message) for kept, message in zip(self.system, came, strict=True)]
        fold.rest(self.turns, lookup)
        fold.pinned = frozenset(self.pinned)
        fold.tokens, fold.exact, fold.body = self.tokens, self.exact, self.body
        fold.whole_tokens = self.turns.whole_tokens
        fold.factor, fold.beyond = self.factor, self.beyond
        fold.suspended, fold.asked = self.suspended, self.asked
        fold.growth = Growth(self.closed, self.requests, self.added)
        fold.said_at, fold.due = self.said_at, self.due
        fold.standing = self.standing
        fold.kept_apart, fold.said = Facts(self.facts), self.said
        heard = None if self.input is None else Input(lookup(self.input[:1])[0], *self.input)
        fold.recalling = Recalling(heard, self.recalled)
        return fold

    def positions(self) -> list[int]:
        """Where the messages of the window stand in the log, in its order."""
        turns = [position for turn in self.turns.kept() for position in turn.positions()]
        return sorted([*(kept.position for kept in self.system), *turns])
