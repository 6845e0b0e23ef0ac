"""What a fold recalls for an input: of all that had left the window when it came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class Search:
    """
    What is looked for when an input came, among all that had left by then.

    It is made when somebody asks: most inputs of a log that is folded at once are never asked about. All folds that
    go on from the input share it, since what is found depends on the log up to the input alone.
    """

    def __init__(self, heard: Input, found: Recalled | None = None) -> None:
        self.heard = heard
        self._found = found
        self._begun: Callable[[], Recalled] | None = None

    def begin(self, fold: Fold) -> None:
        """Keeps what it is to be made of, as it is in this fold."""
        if self._begun is None and self._found is None and fold.memory is not None:
            self._begun = _searching(fold, self.heard, fold.memory)

    def found(self) -> Recalled | None:
        """What bears on the input; None where there is nothing to look in."""
        if self._found is None and self._begun is not None:
            self._found, self._begun = self._begun(), None
        return self._found


class Recalling:
    """What is recalled for the newest input: found once, and the same as long as its turn lasts."""

    def __init__(self, heard: Input | None = None, settled: Recalled | None = None) -> None:
        self._search = None if heard is None else Search(heard, settled)
        self._final = settled is not None
        """What it was found in is changing."""

    @property
    def heard(self) -> Input | None:
        """What the user said last, where something may be recalled for it."""
        return None if self._search is None else self._search.heard

    def may_find(self, memory: Memory | None) -> bool:
        """Whether something may stand beside the newest input that was said before."""
        return self._search is not None and (self._final or memory is not None)

    def found(self, fold: Fold) -> Recalled | None:
        """What bears on the newest input of all that had left when it came."""
        if self._search is None:
            return None
        self._search.begin(fold)
        return self._search.found()

    def settle(self, fold: Fold) -> None:
        """What is recalled for an input never depends on what leaves, or changes, after it."""
        if self._search is not None and fold.memory is not None:
            self._search.begin(fold)
            self._final = True

    @property
    def settled(self) -> Recalled | None:
        """What would not be found again."""
        return self._search.found() if self._search is not None and self._final else None

    def copy(self) -> Recalling:
        """What is recalled in a fold that goes on by itself."""
        twin = Recalling()
        twin._search, twin._final = self._search, self._final  # its own kind
        return twin


def _searching(fold: Fold, heard: Input, memory: Memory) -> Callable[[], Recalled]:
    """The search for what bears on an input; never for what the window shows."""
    # As of this fold: the log may tell of a rewind that comes later, or not yet that one is taken back.
    memory, counter, tokens = memory.without(fold.frame.rewound), fold.counter, fold.policy.recall_tokens
    at = heard.position
    shown = {live.position for live in fold.window()}

    def left(position: int) -> bool:
        return position < at and position not in shown

    def remember(ranked: Sequence[Ranked]) -> dict[int, Remembered]:
        return {number: said for number, said in memory.remember(ranked).items() if left(said.position)}

    def search() -> Recalled:
        asked = asked_in(heard.message)
        postings = [posting for posting in memory.postings(asked.all_terms) if left(posting.position)]
        if not postings:
            return Recalled(at=at)
        room = Room(tokens, lambda text: counter.text(text).value)
        return recalled(asked, rank(asked, postings, total=heard.number), remember, room, at=at)

    return search
