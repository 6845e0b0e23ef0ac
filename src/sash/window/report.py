"""What was done to a history to make a request of it, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sash.core.budget import Ledger
from sash.core.fold import Fold
from sash.core.frame import Frame, handle_of
from sash.core.request import OURS
from sash.core.sources import Source
from sash.core.tokens import TokenCount
from sash.wire import Repair


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a history, and why."""

    frame: Frame
    turns_in: tuple[int, ...]
    turns_out: tuple[int, ...]
    """Of a thread that was opened again, those that left since."""
    shortened: tuple[str, ...]
    """Handles of what the model sees only in part."""
    repairs: tuple[Repair, ...]
    ledger: Ledger
    """Who got what of the window."""
    before: TokenCount
    """What the history takes whole."""
    after: TokenCount
    """What is sent of it; the request as a whole, with system prompt, tools and digest, is `Fitted.tokens`."""
    ratio: float
    """How much of it was left out, 0 to 1."""
    fits: bool
    """False when history stands above its high mark all the same: what may not leave is larger."""
    window: int
    window_known: bool
    """False when nobody knows the model's window and a default stands in."""


def report_of(fold: Fold, repairs: Sequence[Repair], ledger: Ledger) -> Report:
    """What is to be said about a request of this fold."""
    left = sum(turn.tokens for turn in fold.past.evicted)
    before = fold.calibrated(left + sum(turn.whole_tokens for turn in fold.turns.values()), fold.exact)
    after = fold.calibrated(fold.tokens, fold.exact)
    return Report(
        frame=fold.frame,
        turns_in=tuple(fold.turns),
        turns_out=tuple(turn.number for turn in fold.past.evicted),
        shortened=tuple(_shortened(fold)),
        repairs=(*repairs, *_mended(fold)),
        ledger=ledger,
        before=before,
        after=after,
        ratio=1 - after.value / before.value if before.value else 0.0,
        fits=after.value <= fold.limits.high,
        window=fold.limits.window,
        window_known=fold.limits.window_known,
    )


def cut_sources(given: Sequence[Source], sent: Sequence[Source]) -> Iterator[Repair]:
    """A note for each source that is not sent whole."""
    whole = {(source.name, source.text) for source in sent}
    for source in given:
        if (source.name, source.text) not in whole:
            why = f"source {source.name!r} is over its budget: part of it, or all of it, was left out"
            yield Repair(what="cut-source", message=OURS, why=why)


def _shortened(fold: Fold) -> Iterator[str]:
    """Handles of what is shown in part: by the frame, or since it entered."""
    by_frame = {short.handle for short in fold.frame.shortened}
    for live in fold.window():
        for place, block in enumerate(live.message.blocks):
            handle = handle_of(live.position, place)
            if handle in by_frame or live.block(place) is not block:
                yield handle


def _mended(fold: Fold) -> Iterator[Repair]:
    for live in fold.window():
        if (live.came or live.message).edited:
            yield Repair(what="lone-surrogate", message=live.position, why="a lone surrogate is sent as U+FFFD")
