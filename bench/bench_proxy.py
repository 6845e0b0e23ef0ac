"""What the proxy adds: to a request, to the first word of a stream, and what one process carries."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import ExitStack

from bench.report import Report
from bench.wired import (
    Line,
    Proxied,
    history,
    litellm_proxy,
    processor_seconds,
    provider,
    resident_megabytes,
    sash_proxy,
    spread,
)

QUICK = bool(os.environ.get("SASH_BENCH_QUICK"))
ROUNDS = {4_000: 60 if QUICK else 400, 380_000: 15 if QUICK else 100}
SECONDS = 2.0 if QUICK else 6.0
AT_ONCE = 16
_NAMES = {4_000: "4 kB", 380_000: "400 kB"}


def run(report: Report) -> None:
    """Direct and proxied requests, one after the other in one run."""
    with ExitStack() as stack:
        direct = stack.enter_context(provider())
        there = [direct, stack.enter_context(sash_proxy(direct))]
        note = ""
        if os.environ.get("SASH_BENCH_LITELLM") or any(peer.distribution == "litellm" for peer in report.peers):
            try:
                there.append(stack.enter_context(litellm_proxy(direct)))
            except (RuntimeError, FileNotFoundError) as error:
                note = f"LiteLLM's proxy could not be measured: {error}; see SASH_BENCH_LITELLM in bench/wired.py. "
        idle = {to.name: resident_megabytes(to.pid) for to in there}
        rows = asyncio.run(_measure(there))
    table = []
    for to in there:
        row = rows[to.name]
        table.append([to.name, *row, "-" if to is direct else f"{idle[to.name]:.0f}"])
    columns = ["to"]
    for size in ROUNDS:
        columns += [f"{_NAMES[size]} p50 ms", "p99 ms"]
    columns += ["first word p50 ms", "p99 ms", "requests/s", "CPU ms each", "idle MB"]
    report.table(
        "A request through a proxy, and what it adds to one that goes to the provider directly",
        columns,
        table,
        note=note
        + "Interleaved, over connections that stay open. The histories grow by one question each time. "
        + f"Requests/s: {AT_ONCE} at once, 4 kB, one process. Proxies: what they add to the row above.",
    )


async def _measure(there: list[Proxied]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {to.name: [] for to in there}
    for size, rounds in ROUNDS.items():
        await _compare(there, rows, size, rounds, stream=False)
    await _compare(there, rows, 4_000, ROUNDS[4_000] // 2, stream=True)
    for to in there:
        before = processor_seconds(to.pid)
        count = await _throughput(to)
        each = (processor_seconds(to.pid) - before) / count * 1_000
        rows[to.name] += [f"{count / SECONDS:,.0f}", f"{each:.2f}"]
    return rows


async def _compare(there: list[Proxied], rows: dict[str, list[str]], size: int, rounds: int, *, stream: bool) -> None:
    """Each round asks everybody the same, in turn."""
    lines = {to.name: Line(to) for to in there}
    seconds: dict[str, list[float]] = {to.name: [] for to in there}
    for number in range(-5, rounds):
        body = _body(size, number, stream=stream)
        for name, line in lines.items():
            first, last = await line.ask(body)
            if number >= 0:
                seconds[name].append(first if stream else last)
    floor = spread(seconds[there[0].name])
    for to in there:
        taken = spread(seconds[to.name])
        if to is there[0]:
            rows[to.name] += [f"{taken.p50:.2f}", f"{taken.p99:.2f}"]
        else:
            rows[to.name] += [f"+{taken.p50 - floor.p50:.2f}", f"+{taken.p99 - floor.p99:.2f}"]
    for line in lines.values():
        line.close()


async def _throughput(to: Proxied) -> int:
    """How many requests were answered."""
    bodies = [_body(4_000, number, stream=False) for number in range(50)]
    end = time.perf_counter() + SECONDS

    async def keep_asking(place: int) -> int:
        line, done = Line(to), 0
        while time.perf_counter() < end:
            await line.ask(bodies[(place + done) % len(bodies)])
            done += 1
        line.close()
        return done

    return sum(await asyncio.gather(*map(keep_asking, range(AT_ONCE))))


def _body(size: int, last: int, *, stream: bool) -> bytes:
    sent = {"model": "gpt-4o", "messages": history(size, last)} | ({"stream": True} if stream else {})
    return json.dumps(sent).encode()
