"""
What the thread server costs: many streams at once with nothing lost, turns a second, and time added to an answer.

The floor is the echo provider asked directly, in the same process and the same run. Each turn is a
real HTTP request to a real server in a process of its own, on SQLite.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import httpx2
import msgspec

from bench.report import Report
from sash.providers import Echo

STREAMS = 200
WORDS = "a sash is the part of a window that slides while the frame around it stays put and holds the pane "
TURNS = 120
WRITERS = 16


class Streamed(NamedTuple):
    """One turn as a client saw it."""

    first_seconds: float
    seconds: float
    whole: bool
    """Every number from 1 on, and every word."""
    events: int


def run(report: Report) -> None:
    """Two tables: many at once, and one after the other."""
    quick = bool(os.environ.get("SASH_BENCH_QUICK"))
    crowd, alone = [], []
    floor = asyncio.run(_echo_alone(20 if quick else TURNS))
    for durability in ("full", "normal"):
        with TemporaryDirectory(prefix="sash-bench-") as folder, _served(Path(folder), durability) as url:
            many = asyncio.run(_together(url, 50 if quick else STREAMS))
            turns, seconds = asyncio.run(_turns_a_second(url, WRITERS, 3 if quick else 10))
            one = asyncio.run(_one_by_one(url, 20 if quick else TURNS))
        lost = sum(not turn.whole for turn in many)
        events = sum(turn.events for turn in many)
        waits = [turn.first_seconds * 1000 for turn in many]
        crowd.append(
            [
                durability,
                str(len(many)),
                str(lost),
                f"{events:,}",
                f"{median(waits):.0f}",
                f"{_p99(waits):.0f}",
                f"{turns / seconds:.0f}",
            ]
        )
        times = [turn.seconds * 1000 for turn in one]
        alone.append(
            [
                durability,
                f"{median(floor):.2f}",
                f"{median(times):.2f}",
                f"{median(times) - median(floor):.2f}",
                f"{_p99(times) - _p99(floor):.2f}",
            ]
        )
    report.table(
        "Streams at once, each with all of its events stored before they are sent (SQLite)",
        ["durability", "streams", "not whole", "events", "first event ms p50", "p99", "turns a second"],
        crowd,
        note=f"Turns a second: {WRITERS} clients, one short turn after the other; each is four durable writes.",
    )
    report.table(
        "One turn after the other, beside the echo provider alone",
        ["durability", "echo alone ms p50", "through the server ms p50", "added p50", "added p99"],
        alone,
        note=f"An answer of {len(WORDS.split())} words, from the first byte asked to the last event read.",
    )


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


@contextmanager
def _served(folder: Path, durability: str) -> Iterator[str]:
    store = f"sqlite:///{folder}/sash.db?durability={durability}"
    command = [sys.executable, "-m", "sash", "serve", "--port", "0", "--store", store, "--provider", "echo"]
    process = subprocess.Popen([*command, "--log-level", "error"], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield next(line for line in process.stderr if line.startswith("sash serves ")).split()[2]
    finally:
        process.terminate()
        process.communicate(timeout=60)


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        yield client


async def _thread(client: httpx2.AsyncClient) -> str:
    made = await client.post("/v1/threads", json={})
    name: str = made.json()["threadId"]
    return name


async def _turn(client: httpx2.AsyncClient, thread: str, words: str) -> Streamed:
    started = perf_counter()
    first, numbers, said = 0.0, [], ""
    async with client.stream("POST", f"/v1/threads/{thread}/turns", json={"input": words}) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                first = first or perf_counter() - started
                event = msgspec.json.decode(line[6:])
                numbers.append(event["seq"])
                if event["type"] == "message_delta":
                    said += event["text"]
    whole = said == words and numbers == list(range(1, len(numbers) + 1))
    return Streamed(first, perf_counter() - started, whole, len(numbers))


async def _together(url: str, count: int) -> list[Streamed]:
    async with _client(url) as client:
        threads = [await _thread(client) for _ in range(count)]
        return list(await asyncio.gather(*(_turn(client, thread, WORDS) for thread in threads)))


async def _turns_a_second(url: str, writers: int, each: int) -> tuple[int, float]:
    async def write(client: httpx2.AsyncClient) -> None:
        thread = await _thread(client)
        for number in range(each):
            done = await _turn(client, thread, f"turn {number}")
            assert done.whole

    async with _client(url) as client:
        started = perf_counter()
        await asyncio.gather(*(write(client) for _ in range(writers)))
        return writers * each, perf_counter() - started


async def _one_by_one(url: str, count: int) -> list[Streamed]:
    async with _client(url) as client:
        thread = await _thread(client)
        return [await _turn(client, thread, WORDS) for _ in range(count)]


async def _echo_alone(count: int) -> list[float]:
    """Milliseconds for each answer."""
    times, messages = [], []
    for _ in range(count):
        messages.append({"role": "user", "content": WORDS})
        started = perf_counter()
        async for _event in Echo().complete({"messages": messages}):
            pass
        times.append((perf_counter() - started) * 1000)
        messages.append({"role": "assistant", "content": WORDS})
    return times
