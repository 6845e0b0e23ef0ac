"""
What a thread costs: opening one and building its first request, going back in it, and a turn appended through it.

Opening stands beside two floors: a bare indexed read of the rows that are in the window, and the same read with each
body decoded and the request encoded again by Python's own `json`, which is the least that anybody does who sends them.
All of them have a connection that is open. The floors know where the window is; opening finds the thread by its name,
reads its setup and its newest state, and then the bodies of what is sent, and gives the bytes of the request.
The floor of appending is the bare driver doing the same inserts. Aims: a turn within 2 times its floor; opening within
3 times its own, and the same for a thread of 1,000 messages as for one of 1,000,000.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any

from bench.bench_store import ROUNDS, TEXT, bare_sqlite
from bench.bench_window import quick
from bench.peer_stores import LlamaIndexMemory, OpenAIAgentsSession
from bench.report import Report
from sash.core.policy import Policy
from sash.core.state import FoldState
from sash.store import open_store
from sash.store.queries import statements
from sash.store.sqlite.connection import connect
from sash.thread import Thread, open_thread

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (1_000, 10_000)
LONG = 100_000
"""Messages of the thread in which is gone back."""
STEP = 2_000
READS = 25
PEER_SIZES = (1_000, 10_000)
BEHIND = 16
"""Messages since the newest state was written: about as many as there are at the worst."""
POLICY = Policy(history_tokens=20_000)
Kept = type[OpenAIAgentsSession] | type[LlamaIndexMemory]
"""A peer that keeps a session in a file."""


def run(report: Report) -> None:
    """Three tables: opening, going back and appending."""
    sizes: tuple[int, ...] = QUICK_SIZES if quick() else SIZES
    if limit := int(os.environ.get("SASH_BENCH_MESSAGES", "0")):
        sizes = tuple(size for size in sizes if size <= limit)
    with TemporaryDirectory(prefix="sash-bench-") as folder:
        opened, back = _opened(Path(folder), sizes)
        appended = _appended(Path(folder))
        beside = _beside(report, Path(folder))
    report.table(
        "Opening a thread on SQLite and building its first request",
        [
            "messages",
            "in the window",
            "bare read, ms",
            "read and json, ms",
            "opened, ms",
            "with its request, ms",
            "times the bare read",
            "times read and json",
            "after a turn more, ms",
            f"{BEHIND} behind, ms",
            "peak MB",
        ],
        opened,
        note=(
            f"Processor time, the best of {READS}, taking turns. Bare: one indexed read of the window's rows, all of "
            "each, on a connection that is open. Opened: from the thread's name to a handle, on a store that is open; "
            "with its request: to the bytes that are sent. A turn more, or so many messages behind: they came since "
            "its state was last written, which is done with each frame and after 16 events or an eighth of the window, "
            "and are folded first. "
            "Memory: a process that does only this."
        ),
    )
    if beside:
        report.table(
            "A session on disk, opened anew, and what it would send",
            ["", *(f"{size:,} messages, ms" for size in PEER_SIZES)],
            beside,
            note="The best of 10, from the file's name on, a new connection each time. At one cap: the peers limit "
            "what they send by items (OpenAI Agents) or tokens (LlamaIndex).",
        )
    report.table(
        f"Going back in a thread of {min(LONG, sizes[-1]):,} messages",
        ["what", "ms", "reads"],
        back,
        note="Processor time, the best of 3. Between: from the newest checkpoint before it, at most 8,192 events.",
    )
    report.table(
        "A turn of 4 messages (5 kB) through a thread, durably",
        ["what", "ms, median", "times the floor"],
        appended,
        note="The floor: the bare driver, the same rows in the same tables, a transaction and fsync a turn.",
    )


def _beside(report: Report, place: Path) -> list[list[str]]:
    """The peers that keep a session in SQLite, and ours opened as they are."""
    known = {peer.distribution for peer in report.peers}
    kinds: dict[str, Kept] = {"openai-agents": OpenAIAgentsSession, "llama-index-core": LlamaIndexMemory}
    peers = [kind for name, kind in kinds.items() if name in known]
    rows = [["sash"], *([kind.name] for kind in peers)] if peers else []
    for size in PEER_SIZES if peers else ():
        said = [message for number in range(size // 4) for message in _short(number)]
        url = f"sqlite:///{place}/ours-{size}.db"
        with open_thread("long", store=url, model="gpt-5", policy=POLICY) as thread:
            thread.append(said)
        rows[0].append(_best_of_ten(lambda url=url: first_request(url)))  # type: ignore[misc]  # a default keeps a loop's value
        with asyncio.Runner() as runner:
            for row, kind in zip(rows[1:], peers, strict=True):
                path = place / f"{row[0].partition(' ')[0]}-{size}.db"
                loading = kind(POLICY.history_tokens, path)
                runner.run(loading.load([item for message in said for item in loading.native(message)]))
                runner.run(loading.close())

                def asked(kind: Kept = kind, path: Path = path) -> None:
                    opened = kind(POLICY.history_tokens, path)
                    assert runner.run(opened.request())
                    runner.run(opened.close())

                row.append(_best_of_ten(asked))
    return rows


def _best_of_ten(act: Callable[[], object]) -> str:
    taken = []
    for _ in range(10):
        start = perf_counter()
        act()
        taken.append(perf_counter() - start)
    return f"{min(taken) * 1000:.2f}"


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


def _opened(place: Path, sizes: tuple[int, ...]) -> tuple[list[list[str]], list[list[str]]]:
    path = place / "long.db"
    url = f"sqlite:///{path}?durability=normal"
    rows: list[list[str]] = []
    back: list[list[str]] = []
    said = 0
    for size in sizes:
        with open_thread("long", store=url, model="gpt-5", policy=POLICY) as thread:
            while said < size:
                turns = range(said // 4, min(said + STEP, size) // 4)
                # Short turns: it is the length of the log that matters here.
                thread.append([message for number in turns for message in _short(number)])
                said = 4 * turns.stop
            positions = FoldState.of(thread.window.fold).positions()
            rows.append(_measured(path, url, thread, positions))
            if size == min(LONG, sizes[-1]):
                back = _gone_back(thread)
    return rows, back


def _gone_back(thread: Thread) -> list[list[str]]:
    """Each on a fork of its own, so that the thread stays as it is."""
    last = thread.seq

    def command(act: Callable[[Thread], object]) -> float:
        taken = []
        for _ in range(3):
            fork = thread.fork()
            fork.mark("here")
            for number in range(10):
                fork.append(_short(number))
            start = thread_time()
            act(fork)
            taken.append(thread_time() - start)
            fork.store.delete(fork.tenant, fork.id)
        return min(taken)

    def told(name: str, act: Callable[[Thread], object], reads: str) -> list[str]:
        return [name, f"{command(act) * 1000:.1f}", reads]

    near, between, since = "the window", "what lies between", "the log since the message"
    return [
        told("request(at=) of a moment ago", lambda fork: fork.request(at=last), between),
        told("request(at=) of the middle", lambda fork: fork.request(at=last // 2), between),
        told("undo", lambda fork: fork.undo(), between),
        told("rewind to a mark of a moment ago", lambda fork: fork.rewind("here"), between),
        told("fork", lambda fork: fork.fork(), between),
        told("fork(at=) of the middle", lambda fork: fork.fork(at=last // 2), between),
        told("redact a message of a moment ago", lambda fork: fork.redact(fork.seq - 3), since),
        told("pin a turn of the middle", lambda fork: fork.pin(last // 8), "the window and that turn"),
        told("search", lambda fork: fork.search("question 77"), "the index"),
        told("context()", lambda fork: fork.context(), near),
        told("turns(limit=50)", lambda fork: fork.turns(limit=50), "those turns, and all frames"),
        told("turns()", lambda fork: fork.turns(), "the whole log"),
    ]


def _short(number: int) -> list[dict[str, Any]]:
    call, result, answer = turn(number)[1:]
    short = {**result, "content": _text(number, 3)}
    return [{"role": "user", "content": f"question {number}"}, {**call, "content": None}, short, answer]


def _measured(path: Path, url: str, thread: Thread, positions: list[int]) -> list[str]:
    connection = connect(path, durability="normal", writer=False)
    asked = {"tenant": "", "thread": thread.id, "since": positions[0], "until": positions[-1] + 1, "limit": 1 << 40}
    sql = statements("sqlite")["events"]
    store = open_store(url)
    behind, after = _behind(thread, BEHIND), _behind(thread, 4)
    times: dict[str, list[float]] = {}
    read = connection.execute(sql, asked).fetchall()

    def timed(name: str, act: Callable[[], object]) -> object:
        start = thread_time()
        given = act()
        times.setdefault(name, []).append(thread_time() - start)
        return given

    def decoded() -> str:
        return json.dumps({"messages": [json.loads(row[2]) for row in connection.execute(sql, asked)]})

    for _ in range(READS):
        timed("bare", lambda: connection.execute(sql, asked).fetchall())
        timed("json", decoded)
        start = thread_time()
        again = timed("opened", lambda: open_thread("long", store=store))
        assert isinstance(again, Thread)
        assert again.prepared().body
        times.setdefault("asked", []).append(thread_time() - start)
        timed("after", lambda: open_thread(after, store=store).prepared().body)
        timed("behind", lambda: open_thread(behind, store=store).prepared().body)
    store.close()
    connection.close()
    for name in (after, behind):
        fork = thread.store.find(thread.tenant, name)
        assert fork is not None
        thread.store.delete(thread.tenant, fork.id)
    best = {name: min(taken) for name, taken in times.items()}
    return [
        f"{thread.seq:,}",
        f"{len(read):,}",
        *(f"{best[name] * 1000:.2f}" for name in ("bare", "json", "opened", "asked")),
        f"{best['asked'] / best['bare']:.1f}",
        f"{best['asked'] / best['json']:.1f}",
        *(f"{best[name] * 1000:.2f}" for name in ("after", "behind")),
        f"{_peak(url):.0f}",
    ]


def _behind(thread: Thread, messages: int) -> str:
    """A fork in which so much was said since its state was written, but not so much that it was written again."""
    fork = thread.fork()
    seq = fork.seq
    number = 0
    while fork.seq < seq + messages:
        fork.append(_short(number))
        number += 1
        if fork.store.head(fork.tenant, fork.id).checkpoint_seq > seq:
            seq = fork.seq
    return fork.name


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
