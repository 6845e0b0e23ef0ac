"""What was done to a history to make a request of it, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from sash.core.budget import Ledger
from sash.core.calibration import corrected
from sash.core.fold import Fold
from sash.core.frame import Frame, handle_of
from sash.core.limits import Limits
from sash.core.live import LiveMessage
from sash.core.past import Evicted
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
    unsent: int
    """What of the turns in the window is not sent: left out by repairs, or without a place in a flat prompt."""
    ratio: float
    """How much of it was left out, 0 to 1."""
    fits: bool
    """
    False when history stands above its high mark; the request is within the window all the same.

    What may not leave is larger: the user's own words, pins, the newest turns of a policy that shortens
    none (`threshold`, `sliding`). Or it may not leave yet: while a call is open, and where the policy
    looks only when a turn closes (`sliding`).
    """
    window: int
    window_known: bool
    """False when nobody knows the model's window and a default stands in."""
    recorded: bool = True
    """
    False when this one request had to give way further than the window: more stands beside the history than was
    allowed for, or a call is open. Its frame is its own, and the next request goes on from the frame before it.
    """


class Moment(msgspec.Struct, frozen=True, gc=False):
    """What a report is made of, as it was when the request was made."""

    frame: Frame
    limits: Limits
    turns: tuple[int, ...]
    evicted: Sequence[Evicted]
    """Grows with the log: only the first `gone` of them had left."""
    gone: int
    whole_tokens: int
    """Of the turns in the window, as they came."""
    tokens: int
    """Of the turns in the window, as they are shown."""
    exact: bool
    factor: float
    beyond: float

    @classmethod
    def of(cls, fold: Fold) -> Moment:
        """What is so at this moment."""
        evicted = fold.past.evicted
        return cls(
            fold.frame,
            fold.limits,
            fold.numbers,
            evicted,
            len(evicted),
            fold.whole_tokens,
            fold.tokens,
            fold.exact,
            fold.factor,
            fold.beyond,
        )

    @property
    def history(self) -> TokenCount:
        """What history takes, as it is shown."""
        return self.calibrated(self.tokens)

    def calibrated(self, tokens: int) -> TokenCount:
        """So many counted tokens as the marks count them."""
        if self.factor == 1.0 and not self.beyond:
            return TokenCount(tokens, self.exact)
        return TokenCount(corrected(tokens, self.factor, self.beyond), self.exact and self.factor == 1.0)


def report_of(moment: Moment, repairs: Sequence[Repair], shortened: Sequence[str], ledger: Ledger) -> Report:
    """What is to be said about a request; the ledger tells what of it takes how much as it is sent."""
    left = moment.evicted[: moment.gone]
    before = moment.calibrated(sum(turn.tokens for turn in left) + moment.whole_tokens)
    shown = moment.history
    sent = ledger.row("history").used
    after = shown if shown.value <= sent.value else sent
    return Report(
        frame=moment.frame,
        turns_in=moment.turns,
        turns_out=tuple(sorted(turn.number for turn in left)),
        shortened=tuple(shortened),
        repairs=tuple(repairs),
        ledger=ledger,
        before=before,
        after=after,
        unsent=shown.value - after.value,
        ratio=1 - after.value / before.value if before.value else 0.0,
        fits=shown.value <= moment.limits.high,
        window=moment.limits.window,
        window_known=moment.limits.window_known,
    )


def cut_sources(given: Sequence[Source], sent: Sequence[Source]) -> Iterator[Repair]:
    """A note for each source that is not sent whole."""
    whole = {(source.name, source.text) for source in sent}
    for source in given:
        if (source.name, source.text) not in whole:
            why = f"source {source.name!r} is over its budget: part of it, or all of it, was left out"
            yield Repair(what="cut-source", message=OURS, why=why)


def mended(positions: Iterable[int]) -> Iterator[Repair]:
    """A note for each message that held a lone surrogate."""
    for position in positions:
        yield Repair(what="lone-surrogate", message=position, why="a lone surrogate is sent as U+FFFD")


def shortened_of(live: LiveMessage, by_frame: Collection[str]) -> Iterator[str]:
    """Handles of what is shown of a message in part: by the frame, or since it entered."""
    for place, block in enumerate(live.message.blocks):
        handle = handle_of(live.position, place)
        if handle in by_frame or live.block(place) is not block:
            yield handle
