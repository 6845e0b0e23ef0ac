"""What a fold recalls for an input: of all that had left the window when it came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sash.core.message import Message
from sash.core.recall import Memory, Ranked, Recalled, Remembered, asked_in, rank, recalled
from sash.core.told import Room

if TYPE_CHECKING:
    from sash.core.fold import Fold


def recalled_for(fold: Fold, message: Message, at: int, number: int, memory: Memory) -> Recalled:
    """What bears on the input at a position, the message of that number; never what the window shows."""
    asked = asked_in(message)
    shown = {live.position for live in fold.window()}

    def left(position: int) -> bool:
        return position < at and position not in shown

    postings = [posting for posting in memory.postings(asked.all_terms) if left(posting.position)]
    if not postings:
        return Recalled(at=at)

    def remember(ranked: Sequence[Ranked]) -> dict[int, Remembered]:
        return {said.number: said for said in memory.remember(ranked).values() if left(said.position)}

    room = Room(fold.policy.recall_tokens, lambda text: fold.counter.text(text).value)
    return recalled(asked, rank(asked, postings, total=number), remember, room, at=at)
