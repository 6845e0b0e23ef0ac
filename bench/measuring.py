"""
A contender grown to one size after the other, its turns timed at each; stopped where it takes too long.

Turns are timed by the clock on the wall, the limit counts processor time: a busy machine stops nobody early.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from statistics import fmean, median
from time import perf_counter
from types import FrameType
from typing import Any

import msgspec

from bench.histories import SYSTEM, Said
from bench.windows import Window, faults

LOADED = 1_000
"""Messages of a history that was there before, given at once."""
SLOW = 0.1
"""Seconds: whoever takes this long for a turn is not tried with more."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A contender at one length of history."""

    messages: int
    first: float
    """Seconds of the first request after so much was loaded."""
    turns: tuple[float, ...]
    """Seconds of each turn: its messages taken in, the window looked at, the request built."""
    orphans: float
    """Share of the requests."""
    over_cap: float
    lost_system: float

    @property
    def p50(self) -> float:
        """The usual turn."""
        return median(self.turns)

    @property
    def mean(self) -> float:
        """All turns, with the few in which the window slides."""
        return fmean(self.turns)


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What one contender gave, and why there is no more of it."""

    name: str
    keeps_history: bool
    at: dict[int, Measured]
    stopped: str = ""


class TooSlow(BaseException):
    """The time limit has passed. Not an Exception: some peers catch those and go on."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `TooSlow` inside the block when it takes more time of the processor."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def up_to_each_request(turns: Sequence[Sequence[Said]]) -> list[list[Said]]:
    """
    The messages between two first requests of a turn: what a turn left, and the next thing the user says.

    A window is looked at before a request, so a turn is timed from one such moment to the next.
    """
    pieces: list[list[Said]] = []
    piece: list[Said] = []
    for said in chain.from_iterable(turns):
        piece.append(said)
        if said["role"] == "user":
            pieces.append(piece)
            piece = []
    return pieces


def measure(
    window: Window, pieces: Sequence[list[Said]], lengths: Sequence[int], *, turns: int, seconds: float
) -> Course:
    """Grow it to each length and time so many turns there; `seconds` is the limit for one length."""
    course: dict[int, Measured] = {}
    stopped = ""
    runner = asyncio.Runner()
    given, at = 0, 0
    runner.run(window.load(window.native(SYSTEM)))
    for length in lengths:
        load: list[Any] = []
        while given < length:
            piece = pieces[at % len(pieces)]
            load += chain.from_iterable(map(window.native, piece))
            given, at = given + len(piece), at + 1
        timed = [list(chain.from_iterable(map(window.native, pieces[(at + n) % len(pieces)]))) for n in range(turns)]
        at += turns
        given += sum(len(pieces[n % len(pieces)]) for n in range(at - turns, at))
        try:
            with limited(seconds):
                course[length] = runner.run(_at(window, load, timed, length))
        except TooSlow:
            stopped = f"over {seconds:.0f} s at {length:,}"
            break
        if length != lengths[-1] and course[length].mean > SLOW:
            stopped = f"{course[length].mean:.1f} s a turn at {length:,}"
            break
    if not stopped.startswith("over"):
        runner.run(window.close())
    runner.close()
    return Course(name=window.name, keeps_history=window.keeps_history, at=course, stopped=stopped)


async def _at(window: Window, load: Sequence[Any], timed: Sequence[Sequence[Any]], length: int) -> Measured:
    # In pieces: a store may take only so many at once.
    for first_of in range(0, len(load), LOADED):
        await window.add(load[first_of : first_of + LOADED])
    # The messages that wait to be given are ours: the collector need not walk through them in somebody's turn.
    gc.collect()
    gc.freeze()
    start = perf_counter()
    await window.request()
    first = perf_counter() - start
    seconds, found = [], []
    for messages in timed:
        start = perf_counter()
        await window.add(messages)
        request = await window.request()
        seconds.append(perf_counter() - start)
        found.append(faults([window.shown(sent) for sent in request], window.cap))
    gc.unfreeze()
    share = [fmean(map(float, column)) for column in zip(*found, strict=True)]
    return Measured(
        messages=length,
        first=first,
        turns=tuple(seconds),
        orphans=share[0],
        over_cap=share[1],
        lost_system=share[2],
    )
