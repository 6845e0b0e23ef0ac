"""
Which events of a log stand: a rewind takes out what was said since its mark, an undo what an event did.

Both are events themselves and may be taken back in their turn. What is in force is a function
of the log alone, so a restart finds the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sash.core.event import Event, Kind
from sash.core.frame import Reason
from sash.thread.acts import Rewound, Undone, Vetoed, act_of

EDITS: frozenset[Kind] = frozenset({"rewind", "undo", "redact"})
"""What comes after one of these is not simply more of what was before it."""
DECIDING: frozenset[Kind] = frozenset({"rewind", "undo", "veto"})

COMMANDS: dict[Kind, Reason] = {"pin": "pin", "unpin": "unpin", "forget": "forget"}
"""What the user can take back also where it has led to no frame: a live turn was pinned, a new fact forgotten."""

_NEVER_OUT: frozenset[str] = frozenset({"configure", "overflow", "redact"})
"""A rewind brings back what was said, not what the thread was set up for or learned of its provider; nor redactions."""


class Gap(msgspec.Struct, frozen=True):
    """Events that a rewind has taken out."""

    after: int
    before: int
    mark: int

    def __contains__(self, seq: int) -> bool:
        return self.after < seq < self.before and seq != self.mark


class Edits(msgspec.Struct, frozen=True, kw_only=True):
    """What is in force of all rewinds, undos and vetoes up to some event."""

    gaps: tuple[Gap, ...] = ()
    undone: frozenset[int] = frozenset()
    vetoed: frozenset[int] = frozenset()

    def stands(self, event: Event) -> bool:
        """Whether an event still says anything."""
        return event.kind in _NEVER_OUT or not self.out(event.seq)

    def gaps_at(self, seq: int) -> tuple[tuple[int, int], ...]:
        """What rewinds up to some event have taken out, as a frame says it."""
        return tuple(sorted((gap.after, gap.before) for gap in self.gaps if gap.before <= seq))

    def upto(self, seq: int) -> Edits:
        """What of it concerns the events up to this one."""
        return Edits(
            gaps=tuple(gap for gap in self.gaps if gap.after < seq),
            undone=frozenset(undone for undone in self.undone if undone <= seq),
            vetoed=frozenset(vetoed for vetoed in self.vetoed if vetoed <= seq),
        )

    def out(self, seq: int) -> bool:
        """Whether a rewind has taken an event out."""
        return any(seq in gap for gap in self.gaps)


NO_EDITS = Edits()


def edits_of(events: Iterable[Event]) -> Edits:
    """What is in force after these events, of which only some kinds matter."""
    gaps: list[Gap] = []
    undone: set[int] = set()
    vetoed: set[int] = set()
    # From the newest: whatever takes an event back comes after it.
    for event in reversed([event for event in events if event.kind in DECIDING]):
        if event.seq in undone or any(event.seq in gap for gap in gaps):
            continue
        if event.kind == "rewind":
            act = act_of(event, Rewound)
            gaps.append(Gap(act.to, event.seq, act.mark))
        elif event.kind == "undo":
            undone.add(act_of(event, Undone).undoes)
        else:
            vetoed.add(act_of(event, Vetoed).at)
    return Edits(gaps=tuple(gaps), undone=frozenset(undone), vetoed=frozenset(vetoed))
