"""
What a turn costs as the history grows: append it, look at the window, build the request.

Aims (issue 4): flat in the length of the history, within four times the floor, faster than every peer that keeps the
history; `sash.fit` on a history grown by one turn in 3 ms (1,000 messages) and 25 ms (10,000 messages, 17 MB), and for
the first time within ten times parsing the same bytes: by Python's own `json`, as a caller would, and by msgspec, which
is faster than any caller's parser.

The floor adds numbers and slices a list. A second one stands beside it that also pairs calls and results, checks ids
and keeps each message's JSON and place: what a caller of ours sees of a request. In nobody's turn are the bytes of the
whole body, or its messages as plain objects: a table of its own says what those take. To whoever sends it a request is
its bytes, so floor and ours are also timed in turns up to those.

`SASH_BENCH_QUICK=1`, or `python -m bench.bench_window --quick`: shorter histories.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import chain, count, islice, pairwise
from statistics import fmean, median
from time import perf_counter
from typing import Any

import msgspec

from bench.histories import SYSTEM, Said, json_list, turns_of
from bench.measuring import Course, Measured, measure, up_to_each_request
from bench.peer_stores import peer_windows
from bench.report import Report
from bench.windows import WIRE, CheckedFloor, Floor, Sash, SashFit
from sash.core.policy import Policy
from sash.core.size import size_of
from sash.fitting import fit

CAP = 100_000
LENGTHS = (100, 1_000, 10_000, 100_000)
OURS_ONLY = 1_000_000
TURNS, PEER_TURNS = 200, 25
OUR_SECONDS, PEER_SECONDS = 90.0, 20.0
MILLION_SECONDS = 1_200.0
"""Growing to a million messages takes ten thousand slides."""
FIT_LENGTHS = (1_000, 10_000)


def quick() -> bool:
    """Whether only a short run was asked for."""
    return bool(os.environ.get("SASH_BENCH_QUICK"))


def run(report: Report) -> None:
    """Time a turn for everybody, then `sash.fit`, then say which aims were met."""
    lengths = LENGTHS[:-1] if quick() else LENGTHS
    pieces = up_to_each_request(turns_of(lengths[-1] + 4_000))
    courses = [
        measure(Floor(CAP), pieces, lengths, turns=TURNS, seconds=OUR_SECONDS),
        _ours(pieces, lengths),
        measure(CheckedFloor(CAP), pieces, lengths, turns=TURNS, seconds=OUR_SECONDS),
        measure(SashFit(CAP), pieces, lengths, turns=PEER_TURNS, seconds=PEER_SECONDS),
    ]
    for kind in peer_windows([peer.distribution for peer in report.peers]):
        courses.append(measure(kind(CAP), pieces, lengths, turns=PEER_TURNS, seconds=PEER_SECONDS))
        gc.collect()
    _times(report, courses)
    _faults(report, courses)
    _breakdown(report, pieces)
    _asked(report, pieces)
    sent = _sent(report, pieces)
    fits = _fits(report)
    _aims(report, courses, sent, fits)


def _ours(pieces: Sequence[list[Said]], lengths: Sequence[int]) -> Course:
    """The fold alone is also grown to a million messages, the same ones over and over."""
    window = _Replayed(CAP)
    most = lengths if quick() else (*lengths, OURS_ONLY)
    return measure(window, pieces, most, turns=TURNS, seconds=OUR_SECONDS if quick() else MILLION_SECONDS)


class _Replayed(Sash):
    """Reads each message once, however often it comes."""

    def __init__(self, cap: int, policy: Policy | None = None) -> None:
        super().__init__(cap, policy)
        self._read: dict[int, list[Any]] = {}

    def native(self, said: Said) -> list[Any]:
        """The same message again, where it was read before; its call ids then come again too, far apart."""
        known = self._read.get(id(said))
        if known is None:
            known = self._read[id(said)] = super().native(said)
        return known


def _times(report: Report, courses: Sequence[Course]) -> None:
    ours = courses[1]
    lengths = sorted({length for course in courses for length in course.at})
    ways: dict[str, Callable[[Measured], float]] = {
        "p50": lambda measured: measured.p50,
        "mean, slides included": lambda measured: measured.mean,
    }
    for title, of in ways.items():
        rows = []
        for course in courses:
            cells = [_milliseconds(of(course.at[length])) if length in course.at else "" for length in lengths]
            both = [length for length in (10_000, 1_000, 100) if length in course.at and length in ours.at]
            ratio = f"{of(course.at[both[0]]) / of(ours.at[both[0]]):,.3g}" if both else ""
            keeps = "yes" if course.keeps_history else "no"
            rows.append([course.name, *cells, ratio, keeps, course.stopped])
        report.table(
            f"A turn with N messages already there: append, look at the window, build the request. ms, {title}",
            ["", *(f"N={length:,}" for length in lengths), "times ours", "keeps history", "stopped"],
            rows,
            note=f"cap {CAP:,} tokens, chars / 4 for all; ours: at N=10,000, or as far as it got",
        )


def _faults(report: Report, courses: Sequence[Course]) -> None:
    rows = []
    for course in courses:
        known = list(course.at.values())
        if not known:
            continue
        longest = known[-1]
        shares = [
            fmean(measured.orphans for measured in known),
            fmean(measured.over_cap for measured in known),
            fmean(measured.lost_system for measured in known),
        ]
        first = f"{longest.first * 1000:,.1f} at {longest.messages:,}"
        rows.append([course.name, *(f"{100 * share:.0f} %" for share in shares), first])
    report.table(
        "What was wrong with those requests, and the first request after loading",
        ["", "with orphans", "over the cap", "without system prompt", "first request, ms"],
        rows,
        note="over the cap: messages of the conversation only, without what a contender adds to it",
    )


def _breakdown(report: Report, pieces: Sequence[list[Said]]) -> None:
    """Where our time goes."""
    window = Sash(CAP)
    parts: dict[str, list[float]] = {"count": [], "fold": [], "request": []}
    slides: list[float] = []
    for piece in pieces[:400]:
        messages = list(chain.from_iterable(map(window.native, piece)))
        frame = window.fold.frame
        marks = [perf_counter()]
        sizes = [size_of(message, window.counter) for message in messages]
        marks.append(perf_counter())
        for message, size in zip(messages, sizes, strict=True):
            window.fold.add(message, size)
        marks.append(perf_counter())
        assert window.window.prepared(WIRE).sent
        marks.append(perf_counter())
        if window.fold.frame is not frame:
            slides.append(marks[3] - marks[1])
        for times, (start, end) in zip(parts.values(), pairwise(marks), strict=True):
            times.append(end - start)
    rows = [[name, _milliseconds(median(times)), _milliseconds(fmean(times))] for name, times in parts.items()]
    rows.append([f"fold and request with a slide ({len(slides)} of 400)", _milliseconds(median(slides)), ""])
    report.table("Where our turn goes, ms", ["", "p50", "mean"], rows)


def _asked(report: Report, pieces: Sequence[list[Said]]) -> None:
    """What a request takes beside the turn, when somebody asks for all of it."""
    window = Sash(CAP)
    times: dict[str, list[float]] = {
        "its bytes: `body`": [],
        "the same JSON joined, and no more": [],
        "plain objects: `messages`": [],
        "the same JSON parsed, and no more": [],
    }
    size = 0
    for piece in pieces[:400]:
        for message in chain.from_iterable(map(window.native, piece)):
            window.window.add(message)
        prepared = window.window.prepared(WIRE)
        body, joined, messages, parsed = times.values()
        body.append(_seconds(lambda asked: asked.body, prepared))
        written = [*prepared.made.written()]
        joined.append(_seconds(b",".join, written))
        messages.append(_seconds(lambda asked: asked.messages, prepared))
        parsed.append(_seconds(msgspec.json.decode, prepared.fields[prepared.field]))
        size += len(prepared.body)
    report.table(
        "What a request takes beside the turn when somebody asks for it, ms",
        ["", "p50", "mean"],
        [[name, _milliseconds(median(seconds)), _milliseconds(fmean(seconds))] for name, seconds in times.items()],
        note=f"bodies of {size / 400 / 1e6:.2f} MB on average",
    )


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Ours over the floor."""

    p50: float
    mean: float


def _sent(report: Report, pieces: Sequence[list[Said]]) -> Ratio:
    """A turn up to the bytes that are sent, ours and the floor's in turns: neither alone has the cache."""
    ours, floor = Sash(CAP), Floor(CAP)
    times: dict[str, list[float]] = {floor.name: [], ours.name: []}
    given = [(piece, list(chain.from_iterable(map(ours.native, piece)))) for piece in pieces[:SENT_TURNS]]
    # As in `measure`: the messages that wait are nobody's turn.
    gc.collect()
    gc.freeze()
    with asyncio.Runner() as runner:
        for window in (ours, floor):
            runner.run(window.add(window.native(SYSTEM)))
        for piece, native in given:
            start = perf_counter()
            runner.run(floor.add(piece))
            written = msgspec.json.encode({"messages": runner.run(floor.request())})
            times[floor.name].append(perf_counter() - start)
            start = perf_counter()
            runner.run(ours.add(native))
            body = ours.window.prepared(WIRE).body
            times[ours.name].append(perf_counter() - start)
            assert written
            assert body
    gc.unfreeze()
    report.table(
        "A turn up to the bytes that are sent: append, look at the window, write the body. ms",
        ["", "p50", "mean, slides included"],
        [[name, _milliseconds(median(taken)), _milliseconds(fmean(taken))] for name, taken in times.items()],
        note=f"the first {SENT_TURNS} turns of a history, each timed for both before the next; the floor by msgspec",
    )
    theirs, mine = times.values()
    return Ratio(p50=median(mine) / median(theirs), mean=fmean(mine) / fmean(theirs))


SENT_TURNS = 700


class Fits(msgspec.Struct, frozen=True, kw_only=True):
    """`sash.fit` at one length, in seconds."""

    messages: int
    parse: float
    """Python's own `json` reading the same bytes."""
    decode: float
    """msgspec reading them."""
    cold: float
    warm_body: float
    """The history as JSON, grown by a turn."""
    warm_list: float
    """The history as a list of dicts, grown by a turn."""


def _fits(report: Report) -> list[Fits]:
    measured, rows = [], []
    for counter in ("chars4", ""):
        for length in FIT_LENGTHS:
            policy = Policy(counter=counter)
            fits = _fit_times(length, policy)
            measured.append(fits)
            rows.append(
                [
                    f"{length:,} messages, {counter or 'the estimator'}",
                    _milliseconds(fits.parse),
                    _milliseconds(fits.decode),
                    _milliseconds(fits.cold),
                    f"{fits.cold / fits.parse:.1f} / {fits.cold / fits.decode:.1f}",
                    _milliseconds(fits.warm_body),
                    _milliseconds(fits.warm_list),
                ]
            )
    report.table(
        "sash.fit, ms",
        ["", "json", "msgspec", "the first time", "times parsing", "grown by a turn, as JSON", "as a list of dicts"],
        rows,
        note="median; json and msgspec: parsing the same bytes; a list of dicts has to be written as JSON first",
    )
    return measured


def _fit_times(length: int, policy: Policy) -> Fits:
    # Another history each time: nothing of it has been seen before.
    seeds = count(1_000 * length + 100 * len(policy.counter))
    parse, decode, cold = [], [], []
    for seed in islice(seeds, 3 if length > FIT_LENGTHS[0] else 7):
        body = json_list(list(chain.from_iterable(turns_of(length, seed=seed))))
        parse.append(_seconds(json.loads, body))
        decode.append(_seconds(msgspec.json.decode, body))
        cold.append(_seconds(lambda given: fit(given, wire=WIRE, policy=policy).body, body))
    return Fits(
        messages=length,
        parse=median(parse),
        decode=median(decode),
        cold=median(cold),
        warm_body=_warm(length, next(seeds), json_list, lambda given: fit(given, wire=WIRE, policy=policy).body),
        warm_list=_warm(length, next(seeds), list, lambda given: fit(given, wire=WIRE, policy=policy).messages),
    )


def _warm(length: int, seed: int, given: Callable[[list[Said]], Any], call: Callable[[Any], object]) -> float:
    """Seconds of a call on a history that has grown by a turn since the last one."""
    history: list[Said] = []
    times = []
    for piece in up_to_each_request(turns_of(length + 150, seed=seed)):
        history += piece
        if len(history) >= length:
            times.append(_seconds(call, given(history)))
    # The first call is the one that learns the history.
    return median(times[1:])


def _seconds(call: Callable[[Any], object], given: Any) -> float:
    start = perf_counter()
    call(given)
    return perf_counter() - start


def _aims(report: Report, courses: Sequence[Course], sent: Ratio, fits: Sequence[Fits]) -> None:
    floor, ours, checked = (course.at for course in courses[:3])
    longest = max(ours)
    at = 10_000
    rows = [
        _aim("flat: p50 at the longest over p50 at 1,000", 2.0, ours[longest].p50 / ours[1_000].p50),
        _aim("flat: mean at the longest over mean at 1,000", 2.0, ours[longest].mean / ours[1_000].mean),
        _aim("p50 over the floor's", 4.0, ours[at].p50 / floor[at].p50),
        _aim("mean over the floor's", 4.0, ours[at].mean / floor[at].mean),
        _aim("p50 over that of the floor that pairs, checks and keeps JSON", 4.0, ours[at].p50 / checked[at].p50),
        _aim("p50 up to the bytes that are sent, over the floor's", 4.0, sent.p50),
        _aim("mean up to the bytes that are sent, over the floor's", 4.0, sent.mean),
    ]
    for course in courses[4:]:
        known = [length for length in (10_000, 1_000, 100) if length in course.at]
        if course.keeps_history and known:
            rows.append(_aim(f"p50 over that of {course.name}", 1.0, ours[known[0]].p50 / course.at[known[0]].p50))
    for measured, most in zip(fits, (3.0, 25.0, 3.0, 25.0), strict=True):
        counter = "chars4" if fits.index(measured) < len(FIT_LENGTHS) else "estimator"
        title = f"sash.fit, {measured.messages:,}, {counter}"
        rows.append(_aim(f"{title}: ms, grown by a turn, as JSON", most, measured.warm_body * 1000))
        rows.append(_aim(f"{title}: ms, grown by a turn, as a list", most, measured.warm_list * 1000))
        rows.append(_aim(f"{title}: first time over parsing by json", 10.0, measured.cold / measured.parse))
        rows.append(_aim(f"{title}: first time over parsing by msgspec", 10.0, measured.cold / measured.decode))
    report.table("Aims of the window", ["", "at most", "measured", ""], rows)


def _aim(title: str, most: float, measured: float) -> list[str]:
    return [title, f"{most:g}", f"{measured:,.2f}", "met" if measured <= most else "MISSED"]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.3f}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"


if __name__ == "__main__":
    if "--quick" in sys.argv:
        os.environ["SASH_BENCH_QUICK"] = "1"
    run(Report())
