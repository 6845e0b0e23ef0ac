"""Sources beside the conversation, each within what the ledger gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from sash.core.budget import Ledger, SourceName
from sash.core.message import by_sash
from sash.core.tokens import NO_TOKENS, Counter, TokenCount
from sash.errors import InvalidArgument

_KNOWN: Mapping[str, SourceName] = {"skills": "skills", "knowledge": "knowledge", "cross-thread": "cross-thread"}

_CUT = by_sash("the rest of it did not fit")


class Source(msgspec.Struct, frozen=True):
    """Text from outside the conversation: a skill, an article, what another thread found."""

    name: str
    """`skills`, `knowledge`, `cross-thread`; or one of your own: the model reads it, and `knowledge` pays."""
    text: str
    stable: bool = True
    """It stands at the head and stays; otherwise it stands with the current input."""

    def __post_init__(self) -> None:
        for field, kind, wanted in (("name", str, "text"), ("text", str, "text"), ("stable", bool, "True or False")):
            if not isinstance(value := getattr(self, field), kind):
                raise InvalidArgument(field, value, wanted)

    @property
    def kind(self) -> SourceName:
        """The line of the ledger that pays for it; what has no line of its own is knowledge."""
        return _KNOWN.get(self.name, "knowledge")


def asked_by(sources: Sequence[Source], counter: Counter) -> dict[SourceName, TokenCount]:
    """What the sources would take if all of them were sent whole."""
    asked: dict[SourceName, TokenCount] = {}
    for source in sources:
        asked[source.kind] = asked.get(source.kind, NO_TOKENS) + counter.text(source.text)
    return asked


def cut_to(
    sources: Sequence[Source], ledger: Ledger, counter: Counter, *, taken: Mapping[SourceName, TokenCount] | None = None
) -> tuple[Source, ...]:
    """
    The sources within what the ledger gives them, less what others of their kind have `taken`.

    The first ones are whole, the one that is over is cut at a line's end.
    """
    left = {row.source: row.given - (taken or {}).get(row.source, NO_TOKENS).value for row in ledger.rows}
    whole: list[Source] = []
    for source in sources:
        room, tokens = left[source.kind], counter.text(source.text).value
        text = source.text if tokens <= room else _cut(source.text, room, counter)
        left[source.kind] -= min(tokens, room)
        if text:
            whole.append(msgspec.structs.replace(source, text=text))
    return tuple(whole)


def _cut(text: str, most: int, counter: Counter) -> str:
    """As much of its beginning as fits and a word that there was more: whole lines, characters where none fits."""

    def fits(piece: str) -> bool:
        return counter.text(f"{piece}\n{_CUT}").value <= most

    lines = text.split("\n")
    kept = _most(len(lines), lambda count: fits("\n".join(lines[:count])))
    if kept:
        return "\n".join([*lines[:kept], _CUT])
    kept = _most(len(text), lambda count: fits(text[:count]))
    return f"{text[:kept]}\n{_CUT}" if kept else ""


def _most(high: int, fits: Callable[[int], bool]) -> int:
    """The largest number that fits, found by halving."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
