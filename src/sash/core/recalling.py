"""What a fold recalls for an input: of all that had left the window when it came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from sash.core.message import Message
from sash.core.recall import Memory, Ranked, Recalled, Remembered, asked_in, rank, recalled
from sash.core.told import Room

if TYPE_CHECKING:
    from sash.core.fold import Fold


class Input(msgspec.Struct, frozen=True):
    """What the user said last, where something may be recalled for it."""

    message: Message
    position: int
    """In the log."""
    number: int
    """Messages that were said before it."""


class Recalling:
    """What is recalled for the newest input: found once, and the same as long as its turn lasts."""

    def __init__(self, heard: Input | None = None, settled: Recalled | None = None) -> None:
        self.heard = heard
        self._found = settled
        self._final = settled is not None
        """What it was found in is changing."""

    def may_find(self, memory: Memory | None) -> bool:
        """Whether something may stand beside the newest input that was said before."""
        return self._found is not None or (self.heard is not None and memory is not None)

    def found(self, fold: Fold) -> Recalled | None:
        """What bears on the newest input of all that had left when it came."""
        if self._found is None and self.heard is not None and fold.memory is not None:
            self._found = _recalled_for(fold, self.heard, fold.memory)
        return self._found

    def settle(self, fold: Fold) -> None:
        """What is recalled for an input never depends on what leaves, or changes, after it."""
        self._final = self.found(fold) is not None

    @property
    def settled(self) -> Recalled | None:
        """What would not be found again."""
        return self._found if self._final else None

    def copy(self) -> Recalling:
        """What is recalled in a fold that goes on by itself."""
        twin = Recalling(self.heard, self._found)
        twin._final = self._final  # its own kind
        return twin


def _recalled_for(fold: Fold, heard: Input, memory: Memory) -> Recalled:
    """What bears on an input; never what the window shows."""
    # As of this fold: the log may tell of a rewind that comes later, or not yet that one is taken back.
    memory = memory.without(fold.frame.rewound)
    asked, at = asked_in(heard.message), heard.position
    shown = {live.position for live in fold.window()}

    def left(position: int) -> bool:
        return position < at and position not in shown

    postings = [posting for posting in memory.postings(asked.all_terms) if left(posting.position)]
    if not postings:
        return Recalled(at=at)

    def remember(ranked: Sequence[Ranked]) -> dict[int, Remembered]:
        return {number: said for number, said in memory.remember(ranked).items() if left(said.position)}

    room = Room(fold.policy.recall_tokens, lambda text: fold.counter.text(text).value)
    return recalled(asked, rank(asked, postings, total=heard.number), remember, room, at=at)
