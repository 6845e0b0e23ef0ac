"""
Summaries by a model for conversations that pass: which one stands under which frame.

Nothing says which conversation a request belongs to, so everything is found by what was said: a frame by
a digest of all that led to it, a summary by a digest of the turns that it covers, both under the digest of the
caller's key. Which summary a frame stands with is decided when the frame is first seen, and kept: what is
written later waits for the next one, so that between two frames a request only grows, also after a restart.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from threading import Lock
from typing import Literal, Protocol

import msgspec

from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.summary import SUMMARY_SHARE, Summary
from sash.errors import StoreError
from sash.server.proxy.learned import Caller
from sash.server.proxy.links import Chain
from sash.server.proxy.preparing import Job, Preparing, Written
from sash.summarize import Summarizer

_log = logging.getLogger("sash")

MOST_NAMES = 128
"""Frames whose names are remembered: making one means to digest the whole history."""
MOST_NOTES = 1_024
LOOK_BACK = 4
"""Frames before a new one that are looked at for a summary."""
KEPT_SECONDS = 90 * 86_400.0
"""How long a summary is kept after it was written."""

Wait = Literal["left", "ahead"]
"""A summary of what has left, or of what is about to."""
Choose = Callable[[Fold, bytes], Summary | None]


class Notes(Protocol):
    """Where decisions and summaries are kept between two starts."""

    def note(self, tenant: str, name: str) -> bytes | None: ...
    def keep_note(self, tenant: str, name: str, body: bytes, *, forget_seconds: float) -> bytes: ...


class Decided(msgspec.Struct, frozen=True):
    """What a frame stands with; nothing where there is only the digest."""

    written: Written | None = None


# Made here: threads that learn a type at the same time crash.
_decided = msgspec.json.Decoder(Decided)


class Summaries:
    """Finds the summary for a frame, and has the next one prepared. Finding never waits for a model."""

    def __init__(self, summarizer: Summarizer, notes: Notes | None = None, *, tokens_per_hour: int = 1_000_000) -> None:
        """Without `notes` everything is remembered in this process only."""
        self._notes = notes
        self._known: OrderedDict[tuple[str, str], Decided] = OrderedDict()
        self._names: OrderedDict[tuple[Caller, int], tuple[Frame, str, Chain]] = OrderedDict()
        self._lock = Lock()
        self.preparing = Preparing(summarizer, self._wrote, tokens_per_hour=tokens_per_hour)

    def chooser(self, caller: Caller) -> Choose:
        """Says which summary stands for a caller's history under its newest frame."""

        def choose(fold: Fold, listed: bytes) -> Summary | None:
            chain, frame = Chain(listed), fold.frame
            name = self._named(caller, frame, chain)
            decided = self._read(caller, name)
            if decided is None:
                decided = self._keep(caller, name, Decided(self._inherited(caller, fold, chain)))
            written = decided.written
            return written.summary if written is not None and _holds(written, fold, chain) else None

        return choose

    def _inherited(self, caller: Caller, fold: Fold, chain: Chain) -> Written | None:
        """What was written while one of the last frames stood, or what that one stood with."""
        for frame in reversed(fold.past.frames[-1 - LOOK_BACK : -1]):
            name = _name_of(caller, frame, chain)
            waiting = [self._read(caller, _waiting(name, kind)) for kind in ("ahead", "left")]
            found = [one.written for one in waiting if one is not None and one.written is not None]
            held = [written for written in found if _holds(written, fold, chain)]
            if held:
                return max(held, key=lambda written: written.summary.end)
            decided = self._read(caller, name)
            if decided is not None:
                return decided.written
        return None

    def consider(self, caller: Caller, fold: Fold, listed: bytes, wire: str) -> None:
        """Have a summary prepared, in the background, where turns have left, or soon will, that none covers."""
        frame = fold.frame
        if frame.reason == "window" and frame.at == len(fold):
            # One request alone gives way: nobody will ever ask under this frame again.
            return
        least = fold.policy.summary_min_turns + 1
        standing = fold.summaries[-1] if fold.summaries else None
        covered = 0 if standing is None else standing.end
        soon = fold.taken > fold.limits.soft and len(fold.turns) > least
        if fold.placing.calls_open or not fold.limits.summary or (fold.frame.boundary - covered < least and not soon):
            return
        _, name, chain = self._name(caller, fold.frame, listed)
        previous = standing
        for kind in ("left", "ahead"):
            place = _waiting(name, kind)
            waiting = self._read(caller, place)
            if waiting is not None:
                if waiting.written is not None and _covers(waiting.written, chain):
                    previous = waiting.written.summary
                continue
            if self.preparing.is_busy_with(place):
                return
            if kind == "ahead" and not soon:
                return
            end = fold.frame.boundary if kind == "left" else _next_boundary(fold)
            if end - (0 if previous is None else previous.end) >= least:
                self.preparing.add(
                    Job(
                        place=place,
                        caller=caller,
                        conversation=f"{caller[1]} {chain.first.hex()}",
                        listed=listed,
                        wire=wire,
                        end=end,
                        previous=previous,
                        cap_tokens=int(fold.limits.summary * SUMMARY_SHARE),
                        tokens=_tokens_by_turn(fold),
                    )
                )
                return

    def close(self) -> None:
        """Let go of what is being written: it is due again with the next request."""
        self.preparing.stop()

    def _wrote(self, job: Job, written: Written) -> None:
        self._keep(job.caller, job.place, Decided(written))

    def _name(self, caller: Caller, frame: Frame, listed: bytes) -> tuple[Frame, str, Chain]:
        with self._lock:
            known = self._names.get((caller, id(frame)))
        if known is not None and known[0] is frame:
            return known
        chain = Chain(listed)
        self._named(caller, frame, chain)
        return frame, _name_of(caller, frame, chain), chain

    def _named(self, caller: Caller, frame: Frame, chain: Chain) -> str:
        name = _name_of(caller, frame, chain)
        with self._lock:
            self._names[caller, id(frame)] = (frame, name, chain)
            while len(self._names) > MOST_NAMES:
                self._names.popitem(last=False)
        return name

    def _read(self, caller: Caller, name: str) -> Decided | None:
        with self._lock:
            known = self._known.get((caller[0], name))
            if known is not None:
                self._known.move_to_end((caller[0], name))
                return known
        try:
            kept = self._notes.note(caller[0], name) if self._notes is not None else None
            decided = None if kept is None else _decided.decode(kept)
        except (StoreError, msgspec.DecodeError) as error:
            # The digest stands in every request: it goes without a summary too.
            _log.error("a summary could not be read: %s", type(error).__name__)
            return None
        if decided is not None:
            self._remember(caller, name, decided)
        return decided

    def _keep(self, caller: Caller, name: str, decided: Decided) -> Decided:
        """Keep a decision; where another process was first, its own."""
        try:
            if self._notes is not None:
                body = msgspec.json.encode(decided)
                kept = self._notes.keep_note(caller[0], name, body, forget_seconds=KEPT_SECONDS)
                decided = _decided.decode(kept)
        except (StoreError, msgspec.DecodeError) as error:
            _log.error("a summary could not be kept: %s", type(error).__name__)
        self._remember(caller, name, decided)
        return decided

    def _remember(self, caller: Caller, name: str, decided: Decided) -> None:
        with self._lock:
            self._known[caller[0], name] = decided
            self._known.move_to_end((caller[0], name))
            while len(self._known) > MOST_NOTES:
                self._known.popitem(last=False)


def _name_of(caller: Caller, frame: Frame, chain: Chain) -> str:
    """A frame by whose it is and all that led to it; before the first slide by how the conversation began."""
    led = chain.until(frame.at) if frame.number else chain.first
    said = f"{caller[1]} {frame.number} {frame.at} {frame.boundary} {led.hex()}"
    return blake2b(said.encode(), digest_size=16, person=b"sash-frame").hexdigest()


def _waiting(name: str, kind: str) -> str:
    return f"{name}-{kind}"


def _covers(written: Written, chain: Chain) -> bool:
    """Whether what it covers is what was said here."""
    return chain.until(written.length).hex() == written.link


def _holds(written: Written, fold: Fold, chain: Chain) -> bool:
    """Whether it may stand: for turns that have all left, that were these, and within what is reserved."""
    if written.summary.end > fold.frame.boundary or not _covers(written, chain):
        return False
    return fold.counter.text(written.summary.told()).value <= fold.limits.summary


def _next_boundary(fold: Fold) -> int:
    planned = fold.plan("high mark")
    return fold.frame.boundary if planned is None else planned.frame.boundary


def _tokens_by_turn(fold: Fold) -> dict[int, int]:
    gone = {turn.number: turn.tokens for turn in fold.past.evicted}
    return gone | {turn.number: turn.whole_tokens for turn in fold.turns.values()}
