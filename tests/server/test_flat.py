"""A server that has answered for a long time is no larger than one that has just begun."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

REQUESTS = 100_000
WARM = 20_000
STEP = 10_000
CLIENTS = 16
ROOM = 1.25
"""So much larger it may be: caches fill, and an allocator gives little back."""


def memory_of(process: int) -> int:
    """Kilobytes that are in use."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def descriptors_of(process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


async def ask(url: str, count: int) -> None:
    """Reads and turns as a chat makes them, from several clients at once; each thread is forgotten in the end."""

    async def one(client: httpx2.AsyncClient, each: int) -> None:
        done = 0
        while done < each:
            made = (await client.post("/v1/threads", json={"historyTokens": 2000, "policy": "best"})).json()
            place = f"/v1/threads/{made['threadId']}"
            for number in range(10):
                turn = await client.post(f"{place}/turns", json={"input": f"words {number} " * 40, "stream": False})
                assert turn.status_code == 200, turn.text
                for path in (place, f"{place}/history", f"{place}/explain", f"{place}/request", f"{place}/nothing"):
                    assert (await client.get(path)).status_code in (200, 404)
            assert (await client.delete(place)).status_code == 204
            done += 62

    async with httpx2.AsyncClient(base_url=url, timeout=120) as client:
        await asyncio.gather(*(one(client, count // CLIENTS) for _ in range(CLIENTS)))


@pytest.mark.soak
def test_memory_and_files_stay_flat_over_a_hundred_thousand_requests(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/sash.db?durability=normal"
    command = [sys.executable, "-m", "sash", "serve", "--port", "0", "--store", store, "--provider", "echo"]
    process = subprocess.Popen([*command, "--log-level", "error"], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(line for line in process.stderr if line.startswith("sash serves ")).split()[2]
        curve: dict[int, tuple[int, int]] = {}
        for asked in range(STEP, REQUESTS + 1, STEP):
            asyncio.run(ask(url, STEP))
            curve[asked] = memory_of(process.pid), descriptors_of(process.pid)
            sys.stderr.write(f"{asked:>9,} requests {curve[asked][0] / 1000:8.1f} MB {curve[asked][1]:5} files\n")
        begun = [curve[asked] for asked in curve if asked <= WARM]
        at_last, open_at_last = curve[REQUESTS]
        assert at_last < max(memory for memory, _ in begun) * ROOM
        assert open_at_last <= max(files for _, files in begun) + CLIENTS
    finally:
        process.terminate()
        process.communicate(timeout=60)
