"""Why each turn and each result is in the window, out of it or shortened, and how to get it back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

import msgspec

from sash.core.because import because
from sash.core.explanation import (
    ExplainedFrame,
    ExplainedResult,
    ExplainedSummary,
    ExplainedTurn,
    Explanation,
    ResultState,
)
from sash.core.fold import Fold
from sash.core.frame import Frame, handle_of
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Block, Message, ToolCall, ToolResult
from sash.core.past import Evicted, Past
from sash.core.priority import SEED, SIGNALS, scores_of, superseded
from sash.core.remedy import more_history, more_room
from sash.core.shown import in_short
from sash.core.tokens import NO_TOKENS, TokenCount
from sash.core.turn import group


def explain(fold: Fold, log: Sequence[Message] = (), *, past: Past | None = None, stored: bool = True) -> Explanation:
    """
    Why everything is where it is.

    A fold keeps of evicted turns only that they left, in its `past`; one that comes from a
    checkpoint does not even know that, and the store tells it. With the whole `log` at hand
    their results are explained one by one too. Only what is `stored` can be pinned or undone.
    """
    view = _View(fold, log, past or fold.past, stored=stored)
    return Explanation(
        boundary=fold.frame.boundary,
        frame=fold.frame.number,
        tokens=fold.total,
        high=fold.limits.high,
        low=fold.limits.low,
        turns=tuple(sorted(view.turns(), key=lambda turn: turn.number)),
        results=tuple(view.results()),
        frames=tuple(view.frames()),
        summaries=tuple(view.summaries()),
        suspended=fold.suspended,
        recalled=found.hits if (found := fold.recalled()) is not None else (),
    )


class _View:
    """A fold being explained."""

    def __init__(self, fold: Fold, log: Sequence[Message], past: Past, *, stored: bool) -> None:
        self.fold, self.log, self.past, self.stored = fold, log, past, stored
        turns = list(fold.turns.values())
        self.current = turns[-1].number if turns else 0
        self.newest = {turn.number for turn in turns[-fold.policy.min_turns :]}
        self.stale = superseded(turns)
        signals = SEED if fold.policy.order == "priority" else SIGNALS
        self.scores = scores_of(turns, len(fold), len(fold.system), signals)
        self.by_number = {frame.number: frame for frame in past.frames}
        self.shortened = {short.handle: short for short in fold.frame.shortened}
        self.carried_since = _since(past.frames, lambda frame: frame.carried)
        self.digested_since = _since(past.frames, lambda frame: [steps.turn for steps in frame.digested])
        self.shortened_since = _since(past.frames, lambda frame: [short.handle for short in frame.shortened])
        self.whole = {left.number: left.tokens for left in (*past.evicted, *past.rewound)}
        self.whole |= {number: turn.whole_tokens for number, turn in fold.turns.items()}
        self.shares = _shares(fold)
        self.left_at = self._left_at()
        self.back_since = self._back_since()

    def count(self, tokens: int, exact: bool) -> TokenCount:
        """As the marks count it."""
        return self.fold.calibrated(tokens, exact)

    # Turns.

    def summaries(self) -> Iterator[ExplainedSummary]:
        for summary in self.fold.summaries:
            yield ExplainedSummary(
                revision=summary.seq,
                in_force=summary.seq == self.fold.frame.summary,
                first=summary.first,
                end=summary.end,
                by=summary.by,
                model=summary.model,
                generation=summary.generation,
                lines=summary.lines,
                removed=summary.removed,
                lost=summary.lost,
                tokens=self.fold.counter.text(summary.told()),
            )

    def turns(self) -> Iterator[ExplainedTurn]:
        for left in self.past.evicted:
            yield self._evicted(left)
        for gone in self.past.rewound:
            yield self._rewound(gone)
        for turn in self.fold.turns.values():
            yield self._in_window(turn)

    def _evicted(self, left: Evicted) -> ExplainedTurn:
        tokens = self.count(left.tokens, self.fold.exact)
        return ExplainedTurn(
            number=left.number,
            title=left.title,
            messages=left.messages,
            tokens=tokens,
            whole=tokens,
            state="evicted",
            reason=f"it left at frame {left.frame}: {self._because(left.frame)}",
            since=left.frame,
            back=(*self._pin(left.number), *self._ways_back(left.frame)),
        )

    def _rewound(self, gone: Evicted) -> ExplainedTurn:
        tokens = self.count(gone.tokens, self.fold.exact)
        return ExplainedTurn(
            number=gone.number,
            title=gone.title,
            messages=gone.messages,
            tokens=tokens,
            whole=tokens,
            state="rewound",
            reason=f"the thread was rewound at frame {gone.frame}",
            since=gone.frame,
            back=("undo",) if gone.frame == self.fold.frame.number else (),
        )

    def _in_window(self, turn: LiveTurn) -> ExplainedTurn:
        exact = all(live.size.exact for live in turn.messages())
        tokens = TokenCount(self.shares[turn.number], exact and self.fold.factor == 1.0)
        carried = turn.number in self.carried_since
        missing = list(self._what_is_missing(turn))
        return ExplainedTurn(
            number=turn.number,
            title=turn.title,
            messages=len(turn),
            tokens=tokens,
            whole=tokens + self.count(turn.whole_tokens - turn.tokens, exact),
            state="carried" if carried else "live",
            reason="; ".join([self._why_it_stays(turn, carried), *missing]),
            since=self.carried_since.get(turn.number, 0),
            back=self._ways_back(self.digested_since.get(turn.number, self.fold.frame.number)) if missing else (),
            digested_steps=turn.digested,
            priority=self.scores[turn.number],
            pinned=turn.number in self.fold.pinned,
        )

    def _why_it_stays(self, turn: LiveTurn, carried: bool) -> str:
        policy = self.fold.policy
        if turn.number == self.current:
            return "the current turn always stays"
        if turn.number in self.fold.pinned:
            return "it is pinned"
        if policy.keep_first and turn.number == 1:
            return "the first turn stays as long as anything does"
        if carried:
            return f"it is kept for its priority, {self.scores[turn.number].value}"
        if turn.number in self.newest:
            return f"the newest {policy.min_turns} turns leave last"
        if (frame := self.back_since.get(turn.number)) is not None:
            return f"it had left, and came back at frame {frame}: {self._because(frame)}"
        if self.fold.suspended and self.fold.over_high():
            return "since an undo nothing leaves until the window is full, or somebody compacts"
        if policy.recent_turns:
            return f"the policy keeps the newest {policy.recent_turns} turns before the current one"
        return "history was not full enough for it to leave"

    def _what_is_missing(self, turn: LiveTurn) -> Iterator[str]:
        frame = self.fold.frame
        if turn.digested:
            yield f"a digest stands for its first {turn.digested} steps"
        positions = {live.position for live in turn.messages()}
        entered = sum(live.came is not None for live in turn.messages())
        if short := sum(block.message in positions for block in frame.shortened) + entered:
            yield f"{short} of its blocks {'is' if short == 1 else 'are'} shortened"
        if any(live.size.signed and live.position < frame.unsigned_before for live in turn.messages()):
            yield "its signed thinking is left out, for what was said before it has changed"
        if any(frame.plain[0] <= position < frame.plain[1] for position in positions):
            yield "its calls are told as text"

    # Results.

    def results(self) -> Iterator[ExplainedResult]:
        evicted = {turn.number: turn for turn in group(self.log)}
        for left in sorted(self.past.evicted, key=lambda left: left.number):
            if left.number in evicted:
                positions = evicted[left.number].messages
                for place, block, tool in _results((position, self.log[position]) for position in positions):
                    yield self._evicted_result(left, place, block, tool)
        for turn in self.fold.turns.values():
            lives = {live.position: live for live in (*turn.opening, *chain.from_iterable(turn.steps))}
            digested = {live.position for step in turn.steps[: turn.digested] for live in step}
            for place, _, tool in _results((position, live.message) for position, live in lives.items()):
                live = lives[place[0]]
                fate = self._digested(turn) if live.position in digested else self._fate(live, place[1])
                yield ExplainedResult(
                    handle=handle_of(*place),
                    turn=turn.number,
                    tool=tool,
                    state=fate.state,
                    shown=fate.shown,
                    whole=self._counted(live.block(place[1])),
                    superseded=place in self.stale,
                    reason=fate.reason,
                    since=fate.since,
                    back=() if fate.state == "whole" else (f"expand {handle_of(*place)}", *self._ways_back(fate.since)),
                )

    def _evicted_result(self, left: Evicted, place: tuple[int, int], block: ToolResult, tool: str) -> ExplainedResult:
        return ExplainedResult(
            handle=handle_of(*place),
            turn=left.number,
            tool=tool,
            state="evicted",
            shown=NO_TOKENS,
            whole=self._counted(block),
            reason=f"it left with turn {left.number} at frame {left.frame}: {self._because(left.frame)}",
            since=left.frame,
            back=(f"expand {handle_of(*place)}", *self._pin(left.number), *self._ways_back(left.frame)),
        )

    def _digested(self, turn: LiveTurn) -> _Fate:
        since = self.digested_since[turn.number]
        return _Fate("digested", NO_TOKENS, since, f"a digest stands for its step: {self._because(since)}")

    def _fate(self, live: LiveMessage, place: int) -> _Fate:
        handle = handle_of(live.position, place)
        short = self.shortened.get(handle)
        if short is not None:
            since = self.shortened_since[handle]
            shown = self._counted(in_short(live, place, short.keep))
            return _Fate("shortened", shown, since, f"shortened at frame {since}: {self._because(since)}")
        if live.message.blocks[place] != live.block(place):
            shown = self._counted(live.message.blocks[place])
            return _Fate("shortened", shown, 0, "shortened as it came in, being over `record_over_tokens`")
        return _Fate("whole", self._counted(live.block(place)), 0, "the model sees all of it")

    def _counted(self, block: Block) -> TokenCount:
        count = self.fold.counter.block(block)
        return self.count(count.value, count.exact)

    # Frames.

    def frames(self) -> Iterator[ExplainedFrame]:
        before: frozenset[str] = frozenset()
        told: dict[int, int] = {}
        unsigned = 0
        for frame in self.past.frames:
            digested = {steps.turn: steps.steps for steps in frame.digested}
            short = frozenset(block.handle for block in frame.shortened)
            yield ExplainedFrame(
                number=frame.number,
                rule=frame.reason,
                reason=self._because(frame.number),
                slid=frame.slid,
                at=frame.at,
                boundary=frame.boundary,
                evicted=tuple(self.left_at[frame.number]),
                left=self.count(
                    sum(self.whole.get(number, 0) for number in self.left_at[frame.number]), self.fold.exact
                ),
                shortened=len(short - before),
                digested_steps=sum(max(0, steps - told.get(turn, 0)) for turn, steps in digested.items()),
                unsigned=frame.unsigned_before > unsigned,
                tokens_before=self.count(frame.tokens_before, self.fold.exact),
                tokens=self.count(frame.tokens, self.fold.exact),
                freed=self.count(frame.freed, self.fold.exact),
                fits=frame.fits,
            )
            before, told, unsigned = short, digested, frame.unsigned_before

    def _left_at(self) -> dict[int, list[int]]:
        """The turns that left at each frame, also those that something has brought back since."""
        rewound = {gone.number: gone.frame for gone in self.past.rewound}
        known = sorted(self.whole)
        found: dict[int, list[int]] = {}
        boundary, carried = 0, frozenset[int]()
        for frame in self.past.frames:
            staying = frozenset(frame.carried)
            passed = known[bisect_left(known, boundary) : bisect_left(known, frame.boundary)]
            dropped = {number for number in carried - staying if number < min(boundary, frame.boundary)}
            found[frame.number] = [
                number
                for number in sorted({*passed, *dropped} - staying)
                # What a rewind had taken out before was in no window.
                if rewound.get(number, frame.number) >= frame.number
            ]
            boundary, carried = frame.boundary, staying
        return found

    def _back_since(self) -> dict[int, int]:
        """
        The frame with which a turn came back that had left, of those that are in the window again.

        Of some there is none: a log that is counted in another way than before may be folded to fewer slides.
        """
        last = {number: frame for frame, gone in self.left_at.items() for number in gone if number in self.fold.turns}
        back: dict[int, int] = {}
        for frame in reversed(self.past.frames):
            for number, left in last.items():
                if frame.number > left and (frame.boundary <= number or number in frame.carried):
                    back[number] = frame.number
        return back

    def _because(self, number: int) -> str:
        return because(self.by_number[number], undone=self.past.undone.get(number, ""))

    def _pin(self, number: int) -> tuple[str, ...]:
        return (f"pin {number}",) if self.stored else ()

    def _ways_back(self, number: int) -> tuple[str, ...]:
        """
        What would bring back what a frame took out.

        Of what is stored, the newest frame can simply be undone, and a larger window admits nothing again; what is not
        is folded anew each time.
        """
        if not number:
            return ()
        if self.stored:
            return ("undo",) if number == self.fold.frame.number else ()
        match self.by_number[number].reason:
            case "bytes":
                return ("raise `body_bytes`",)
            case "recent turns":
                return ("raise `recent_turns`",)
            case "window":
                return (more_room(self.fold.limits),)
        return (more_history(self.fold.limits),)


Kept = TypeVar("Kept", int, str)


def _since(frames: Iterable[Frame], kept: Callable[[Frame], Iterable[Kept]]) -> dict[Kept, int]:
    """
    Since which frame something has been so, for all that is so now.

    What was undone and done again counts from the second time.
    """
    since: dict[Kept, int] = {}
    for frame in frames:
        since = {thing: since.get(thing, frame.number) for thing in kept(frame)}
    return since


def _shares(fold: Fold) -> dict[int, int]:
    """What each turn in the window takes of what history takes: a report speaks of all together, and they add up."""
    shares: dict[int, int] = {}
    whole, before, counted = fold.total.value, 0, 0
    for number, turn in fold.turns.items():
        counted += turn.tokens
        upto = (whole * counted * 2 + fold.tokens) // (2 * fold.tokens) if fold.tokens else 0
        shares[number], before = upto - before, upto
    return shares


class _Fate(msgspec.Struct, frozen=True):
    """What became of a result."""

    state: ResultState
    shown: TokenCount
    since: int
    reason: str


def _results(messages: Iterable[tuple[int, Message]]) -> Iterator[tuple[tuple[int, int], ToolResult, str]]:
    """Each result with its place and the name of the tool that was called."""
    tools: dict[str, str] = {}
    for position, message in messages:
        for place, block in enumerate(message.blocks):
            if type(block) is ToolCall:
                tools[block.id] = block.name
            elif type(block) is ToolResult:
                yield (position, place), block, tools.get(block.call_id, "")
