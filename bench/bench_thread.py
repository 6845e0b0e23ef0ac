"""
What a thread costs: opening one and building its first request, and a turn appended through it, each beside a floor.

The floor of opening is a bare indexed read of the rows that stand in the window; that of appending is the bare driver
doing the same inserts. Aims: a turn within 2 times its floor; opening within 3 times its own, and the same for a
thread of 1,000 messages as for one of 1,000,000.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.bench_store import ROUNDS, TEXT, bare_sqlite
from bench.bench_window import quick
from bench.report import Report
from sash.core.policy import Policy
from sash.store import open_store
from sash.store.queries import statements
from sash.store.sqlite.connection import connect
from sash.thread import Thread, open_thread

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (1_000, 10_000)
STEP = 2_000
READS = 15
POLICY = Policy(history_tokens=20_000)


def run(report: Report) -> None:
    """Two tables: opening and appending."""
    with TemporaryDirectory(prefix="sash-bench-") as folder:
        opened = _opened(Path(folder), QUICK_SIZES if quick() else SIZES)
        appended = _appended(Path(folder))
    report.table(
        "Opening a thread on SQLite and building its first request",
        [
            "messages",
            "in the window",
            "bare read, ms",
            "opened, ms",
            "times the floor",
            "and its request, ms",
            "peak MB",
        ],
        opened,
        note="Medians. The floor: one indexed SELECT of the window's rows. Memory: a process that does only this.",
    )
    report.table(
        "A turn of 4 messages (5 kB) through a thread, durably",
        ["what", "ms, median", "times the floor"],
        appended,
        note="The floor: the bare driver, the same rows in the same tables, a transaction and fsync a turn.",
    )


def turn(number: int) -> list[dict[str, Any]]:
    """A question, a call, its result and an answer."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
    return [
        {"role": "user", "content": _text(number, 2)},
        {"role": "assistant", "content": _text(number, 3), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": _text(number, 40)},
        {"role": "assistant", "content": _text(number, 5)},
    ]


def _text(number: int, lines: int) -> str:
    return "".join(TEXT.format(line, number) for line in range(lines))


def first_request(url: str, name: str = "long") -> int:
    """Opens the thread and builds its request. How many messages are in it."""
    with open_thread(name, store=url) as thread:
        return len(thread.prepared().messages)


def _opened(place: Path, sizes: tuple[int, ...]) -> list[list[str]]:
    path = place / "long.db"
    url = f"sqlite:///{path}?durability=normal"
    rows = []
    said = 0
    for size in sizes:
        with open_thread("long", store=url, model="gpt-5", policy=POLICY) as thread:
            while said < size:
                turns = range(said // 4, min(said + STEP, size) // 4)
                # Short turns: it is the length of the log that matters here.
                thread.append([message for number in turns for message in _short(number)])
                said = 4 * turns.stop
            positions = thread.window.fold.state().positions()
            rows.append(_measured(path, url, thread, positions))
    return rows


def _short(number: int) -> list[dict[str, Any]]:
    call, result, answer = turn(number)[1:]
    short = {**result, "content": _text(number, 3)}
    return [{"role": "user", "content": f"question {number}"}, {**call, "content": None}, short, answer]


def _measured(path: Path, url: str, thread: Thread, positions: list[int]) -> list[str]:
    connection = connect(path, durability="normal", writer=False)
    asked = {"tenant": "", "thread": thread.id, "since": positions[0], "until": positions[-1] + 1, "limit": 1 << 40}
    sql = statements("sqlite")["events"]
    store = open_store(url)
    bare, opened, asks, read = [], [], [], []
    for _ in range(READS):
        start = perf_counter()
        read = connection.execute(sql, asked).fetchall()
        bare.append(perf_counter() - start)
        start = perf_counter()
        again = open_thread("long", store=store)
        opened.append(perf_counter() - start)
        again.prepared()
        asks.append(perf_counter() - start)
    store.close()
    connection.close()
    floor = median(bare)
    return [
        f"{thread.seq:,}",
        f"{len(read):,}",
        f"{floor * 1000:.2f}",
        f"{median(opened) * 1000:.2f}",
        f"{median(opened) / floor:.1f}",
        f"{median(asks) * 1000:.2f}",
        f"{_peak(url):.0f}",
    ]


def _appended(place: Path) -> list[list[str]]:
    path = place / "floor.db"
    store = open_store(f"sqlite:///{path}")
    floor = store.create("", "floor", b"").id
    store.close()
    connection = connect(path, durability="full", writer=True)
    bare = bare_sqlite(connection, floor)
    times: dict[str, list[float]] = {"apsw (the floor)": [], "a thread": []}
    with open_thread("t", store=f"sqlite:///{place}/turns.db", model="gpt-5", policy=POLICY) as thread:
        for number in range(ROUNDS):
            said = turn(number)
            start = perf_counter()
            bare(number)
            times["apsw (the floor)"].append(perf_counter() - start)
            start = perf_counter()
            thread.append(said)
            times["a thread"].append(perf_counter() - start)
    connection.close()
    least = median(times["apsw (the floor)"])
    return [[name, f"{median(taken) * 1000:.2f}", f"{median(taken) / least:.2f}"] for name, taken in times.items()]


_ONCE = """
import sys
from pathlib import Path
from bench.bench_thread import first_request
first_request(sys.argv[1])
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line))
"""


def _peak(url: str) -> float:
    """Megabytes that a process takes at the most which does nothing but this."""
    done = subprocess.run([sys.executable, "-c", _ONCE, url], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024
