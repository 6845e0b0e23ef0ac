"""Turns cut into passes that the summarizing model can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from sash.summarize.transcript import Caps, SaidTurn, cut, turn_text

_SHARES = (1.0, 0.5, 0.25, 0.1, 0.04)


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """Turns that are given to the model at once."""

    turns: tuple[SaidTurn, ...]
    text: str

    @property
    def first(self) -> int:
        """Number of its first turn."""
        return self.turns[0].number

    @property
    def last(self) -> int:
        """Number of its last turn."""
        return self.turns[-1].number


def passes_of(turns: Sequence[SaidTurn], *, room: int, count: Callable[[str], int]) -> list[Pass]:
    """
    All turns, in as few passes as there is room for.

    Every turn is in a pass: one that is too large alone is told more briefly, and only then cut.
    """
    passes: list[Pass] = []
    gathered: list[SaidTurn] = []
    texts: list[str] = []
    taken = 0

    def close() -> None:
        nonlocal gathered, texts, taken
        if gathered:
            passes.append(Pass(turns=tuple(gathered), text="\n".join(texts)))
            gathered, texts, taken = [], [], 0

    for turn in turns:
        text, tokens = _fitting(turn, room, count)
        if taken + tokens > room:
            close()
        gathered.append(turn)
        texts.append(text)
        taken += tokens
    close()
    return passes


def _fitting(turn: SaidTurn, room: int, count: Callable[[str], int]) -> tuple[str, int]:
    text, tokens = "", 0
    for share in _SHARES:
        text = turn_text(turn, Caps().scaled(share) if share < 1 else Caps())
        tokens = count(text)
        if tokens <= room:
            return text, tokens
    while tokens > room and len(text) > 200:
        # The marker may itself begin a line: every line of a cut text is quoted again.
        short = cut(text, max(150, int(len(text) * room / tokens * 0.9)))
        head, *rest = short.splitlines()
        text = "\n".join([head, *(row if row.startswith("| ") or row.endswith(":") else f"| {row}" for row in rest)])
        tokens = count(text)
    return text, tokens
