"""
What a policy costs where the provider caches prompts: sessions replayed request by request.

Cost is input only, at Anthropic's shape (cache write 1.25, read 0.1), as a share of what clipping to the cap after each
turn costs (seeds 000 and 003). They look only when a turn closes, so inside long turns they pass the cap (the peak);
clipping with the same ladder before each request stays under it. Sending less is always cheaper, so the share that
counts is the one at equal average context: each strategy's cap is scaled until it sends as much as the default does at
the full cap.

Aims, at equal context: the default at most 55 % of clipping on the synthetic session, and 70 % on real ones of clipping
that stays under the cap there too. Real sessions of agents are few and long turns: who looks only when a turn closes
passes the cap three times over and hardly breaks the cache at all. That row is shown without an aim, beside the least
that any policy could cost.
`SASH_BENCH_QUICK=1`, or `python -m bench.bench_cost --quick`: a fifth of the synthetic session, fewer real ones.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from statistics import linear_regression
from typing import Any, TypeVar

import msgspec

from bench.bench_window import quick
from bench.histories import SYSTEM, Said, turns
from bench.measuring import TooSlow, limited
from bench.peer_stores import peer_windows
from bench.report import Report
from bench.transcripts import sessions
from bench.windows import Clip, Floor, Sash, Shown, Window, chars4
from sash.core.cost import ANTHROPIC, Charge, Piece, account
from sash.core.policy import Policy

TURNS = 500
CAP = 100_000
FIXED_SHARE = 0.08
"""System prompt and tools, of the cap: 8k at 100k."""
REAL_CAPS = (8_000, 30_000, 100_000)
LONG = 1.5
"""A real session is replayed at a cap when it is this many times as long."""
AIM_SYNTHETIC, AIM_REAL = 0.55, 0.70
ALL, FEW = 100, 4
SEARCHES = 2
NEAR = 0.01
PEER_SECONDS = 100.0

CLIP = Clip.name
DEFAULT = "sash, the default"
LADDER = "clip with the same ladder, each request"

Make = Callable[[int], Window]
Found = TypeVar("Found")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions that are replayed together, at one cap."""

    name: str
    sessions: tuple[list[Said], ...]
    cap: int
    aim: float
    aim_of: str
    """The clipping that the aim speaks of."""
    strategies: int
    """How many of them are tried: all, or only the first few, which the aims speak of."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a strategy is charged for all sessions of a case."""

    requests: int
    charge: Charge
    breaks: int
    fixed: int
    peak: int
    """The largest history that was sent."""

    @property
    def average(self) -> float:
        """Tokens of history in a request."""
        return self.charge.tokens / self.requests - self.fixed

    @property
    def cost(self) -> float:
        """In tokens at list price."""
        return self.charge.cost(ANTHROPIC)


def strategies() -> dict[str, Make]:
    """Ours, by name: the reference first, then the default."""
    default: dict[str, Make] = {
        CLIP: Clip,
        DEFAULT: lambda cap: Sash(cap, Policy(history_tokens=cap)),
        "sash, adaptive": lambda cap: Sash(cap, Policy(history_tokens=cap, adaptive=True)),
        LADDER: _keeping(1.0),
        Floor.name: Floor,
    }
    shares = {f"keep_share={share}": _keeping(share) for share in (0.8, 0.7, 0.5)}
    presets: dict[str, Make] = {
        "Policy.sliding()": lambda cap: Sash(cap, Policy.sliding(cap)),
        "Policy.priority()": lambda cap: Sash(cap, Policy.priority(int(cap * 2.5))),
        "Policy.threshold()": lambda cap: Sash(cap, _without_allowance(Policy.threshold(int(cap / 0.8)))),
        "Policy.recent()": lambda cap: Sash(cap, Policy.recent(turns=max(1, cap // 10_000))),
    }
    return default | shares | presets


def _keeping(share: float) -> Make:
    return lambda cap: Sash(cap, Policy(history_tokens=cap, keep_share=share))


def _without_allowance(policy: Policy) -> Policy:
    """The fixed part is added to every strategy's cost here, so no allowance is made for it."""
    return msgspec.structs.replace(policy, fixed_tokens=0)


def run(report: Report) -> None:
    """A table for each case, and the aims."""
    aims: list[list[str]] = []
    peers: dict[str, Make] = {kind.name: kind for kind in peer_windows([peer.distribution for peer in report.peers])}
    for case in _cases():
        made = dict(islice(strategies().items(), case.strategies))
        aims += _case(report, case, made | (peers if len(case.sessions) == 1 else {}))
    report.table(
        "Aims of the cost: the default at equal average context",
        ["", "of", "at most", "measured", "the least possible", ""],
        aims,
        note="clipping at that average: from a line through five caps near it, because its cost jumps from cap to cap; "
        "the least possible: so much context with no break at all, every message written to the cache once",
    )


def _cases() -> list[Case]:
    length = TURNS // 5 if quick() else TURNS
    synthetic = [said for turn in islice(turns(seed=11), length) for said in turn]
    cases = [
        Case(name="synthetic session", sessions=(synthetic,), cap=CAP, aim=AIM_SYNTHETIC, aim_of=CLIP, strategies=ALL)
    ]
    known = sessions()
    largest = known.get("pi-mono-large-session")
    if largest is not None:
        cases.append(
            Case(
                name="pi-mono-large-session", sessions=(largest,), cap=CAP, aim=AIM_REAL, aim_of=LADDER, strategies=ALL
            )
        )
    for cap in REAL_CAPS[1:2] if quick() else REAL_CAPS:
        long = tuple(session for session in known.values() if sum(map(chars4, session)) > LONG * cap)
        if long:
            name = f"{len(long)} real sessions"
            cases.append(Case(name=name, sessions=long, cap=cap, aim=AIM_REAL, aim_of=LADDER, strategies=FEW))
    return cases


def _case(report: Report, case: Case, made: dict[str, Make]) -> list[list[str]]:
    known = {name: _replay(made[name], case, case.cap) for name in (CLIP, DEFAULT)}
    clipped, default = known[CLIP], known[DEFAULT]
    target = default.average
    references = {name: _cost_near(made[name], case, target) for name in (CLIP, LADDER)}
    equal = references[CLIP]
    rows = []
    for name, make in made.items():
        outcome = known.get(name) or _in_time(_replay, make, case, case.cap)
        if outcome is None:
            rows.append([name, f"stopped after {PEER_SECONDS:.0f} s", *[""] * 5])
            continue
        cost = references.get(name) or _in_time(_at_average, make, case, target, outcome)
        rows.append(
            [
                name,
                f"{outcome.average:,.0f}",
                f"{outcome.peak:,}",
                f"{100 * outcome.charge.cached_share:.1f} %",
                f"{outcome.breaks}",
                f"{outcome.cost / clipped.cost:.3f}",
                f"{cost / equal:.3f}" if cost else "not found" if cost == 0 else "stopped",
            ]
        )
    report.table(
        f"Cost: {case.name}, {default.requests:,} requests, cap {case.cap:,}",
        ["", "average live", "peak", "cached", "breaks", "cost", "at equal average"],
        rows,
        note=f"of clipping = 1.00; equal average: {target:,.0f} tokens of history in a request",
    )
    aims = []
    least = _least(case, default)
    for name, cost in references.items():
        share = default.cost / cost
        title = f"{case.name}, cap {case.cap:,}"
        aim, met = (f"{case.aim:.2f}", "met" if share <= case.aim else "MISSED") if name == case.aim_of else ("", "")
        aims.append([title, name, aim, f"{share:.3f}", f"{least / cost:.3f}", met])
    return aims


def _least(case: Case, default: Outcome) -> float:
    """What so much context costs where nothing is ever paid for twice: every message is written to the cache once."""
    new = sum(default.fixed + sum(map(chars4, session)) for session in case.sessions)
    return ANTHROPIC.read * (default.charge.tokens - new) + ANTHROPIC.write * new


def _in_time(replay: Callable[..., Found], *given: Any) -> Found | None:
    """What a replay gives, or None when a slow peer takes too long."""
    try:
        with limited(PEER_SECONDS):
            return replay(*given)
    except TooSlow:
        return None


def _cost_near(make: Make, case: Case, target: float) -> float:
    """What a strategy costs when it sends so much on average, from a line through caps around the right one."""
    cap = float(case.cap)
    for _ in range(2):
        cap *= target / _replay(make, case, round(cap)).average
    runs = [_replay(make, case, round(cap * near)) for near in (0.96, 0.98, 1.0, 1.02, 1.04)]
    line = linear_regression([run.average for run in runs], [run.cost for run in runs])
    return line.intercept + line.slope * target


def _at_average(make: Make, case: Case, target: float, first: Outcome) -> float:
    """The strategy's cost with its cap scaled until it sends so much, or 0 when no cap does it."""
    cap, now = float(case.cap), first
    for _ in range(SEARCHES):
        if abs(now.average / target - 1) < NEAR:
            break
        cap *= target / now.average
        now = _replay(make, case, max(1_000, round(cap)))
    if abs(now.average / target - 1) >= 3 * NEAR:
        return 0.0
    # What is still between them is small, and cost goes with what is sent.
    return now.cost * (target + now.fixed) / (now.average + now.fixed)


def _replay(make: Make, case: Case, cap: int) -> Outcome:
    """Every session from its beginning, a request before each answer."""
    fixed = int(case.cap * FIXED_SHARE)
    count = breaks = peak = 0
    charge = Charge()
    with asyncio.Runner() as runner:
        for session in case.sessions:
            window = make(cap)
            requests = runner.run(_requests(window, session))
            runner.run(window.close())
            charged = account(requests, fixed=fixed)
            count, breaks, charge = count + charged.requests, breaks + charged.breaks, charge + charged.charge
            peak = max(peak, *(sum(piece.tokens for piece in request) for request in requests))
    return Outcome(requests=count, charge=charge, breaks=breaks, fixed=fixed, peak=peak)


async def _requests(window: Window, session: Sequence[Said]) -> list[list[Piece]]:
    """What was sent each time, without the system prompt: it is the fixed part, which everybody sends."""
    pieces: dict[Shown, Piece] = {}
    sent: list[list[Piece]] = []
    await window.load(window.native(SYSTEM))
    role = ""
    for said in session:
        if said["role"] == "assistant" and role not in {"", "assistant"}:
            request = []
            for message in await window.request():
                shown = window.shown(message)
                if shown.role == "system":
                    continue
                piece = pieces.get(shown)
                if piece is None:
                    piece = pieces[shown] = Piece(str(len(pieces)).encode(), shown.tokens)
                request.append(piece)
            sent.append(request)
        await window.add(window.native(said))
        role = said["role"]
    return sent


if __name__ == "__main__":
    if "--quick" in sys.argv:
        os.environ["SASH_BENCH_QUICK"] = "1"
    run(Report())
