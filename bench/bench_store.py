"""
What storing costs: a turn appended durably, and the window of a long thread read again, each beside the floor.

The floor is the bare driver doing the same inserts into the same tables, words cut beforehand, and a bare indexed
read of the same rows. Aims: an append within 2 times its floor; reading flat from 1,000 to 1,000,000 messages.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import apsw
import msgspec

from bench.report import Report
from sash.core.event import Event
from sash.core.frame import Frame
from sash.store import Entry, FrameRow, Store, open_store
from sash.store.queries import statements
from sash.store.sqlite.connection import connect
from sash.store.stored import Row, values_of
from sash.store.words import places, words

ROUNDS = 150
WRITERS = 16
CROWD_TURNS = 25
WINDOW = 200
"""Messages in the window that is read."""
READS = 30
SIZES = (1_000, 100_000, 1_000_000)
POSTGRES_SIZES = (1_000, 100_000)
UNCHANGED = {"expected": None, "boundary": None, "covered": None, "ahead": None}
"""What an append without a frame leaves as it is."""
TEXT = "The quick brown fox jumps over the lazy dog, line {} of what some tool said about src/module_{}.py.\n"


def run(report: Report) -> None:
    """Two tables: writing and reading."""
    with TemporaryDirectory(prefix="sash-bench-") as folder:
        place = Path(folder)
        appends = _sqlite_appends(place)
        reads = [row for size in SIZES for row in _sqlite_reads(place, size)]
        with _postgres() as url:
            if url is None:
                appends.append(["PostgreSQL: no server to be had", "", "", ""])
            else:
                appends += _postgres_appends(url)
                reads += [row for size in POSTGRES_SIZES for row in _postgres_reads(url, size)]
    report.table(
        "Appending a turn of 4 messages, durably",
        ["what", "ms, median", "times the floor", "turns a second"],
        appends,
        note="The floor: the bare driver, the same rows in the same tables, a transaction and fsync a turn.",
    )
    report.table(
        f"Opening a thread and reading its window of {WINDOW} messages",
        ["what", "ms, median", "times the floor", "peak memory, MB"],
        reads,
        note="The floor: one indexed SELECT of the same rows. Memory: a fresh process that opens and reads.",
    )


def _turn(number: int) -> tuple[Event, ...]:
    """A question, a call, its result and an answer: 5 kB, most of it the result's."""
    sizes = (("user", 2), ("assistant", 3), ("tool", 40), ("assistant", 5))
    events = []
    for role, lines in sizes:
        text = "".join(TEXT.format(line, number) for line in range(lines))
        body = msgspec.json.encode({"role": role, "content": text})
        events.append(
            Event(
                kind="message", body=body, wire="openai-chat", role=role, turn=number, tokens=len(text) // 4, text=text
            )
        )
    return tuple(events)


def _times(contenders: dict[str, Callable[[int], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each, taking turns so that a busy moment hits them all."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, work in contenders.items():
            start = perf_counter()
            work(number)
            times[name].append(perf_counter() - start)
    return {name: median(taken) for name, taken in times.items()}


def _crowd(store: Store, kind: str) -> float:
    """Turns a second when many append at once, each to a thread of its own."""
    threads = [store.create("", f"{kind} {number}", b"").id for number in range(WRITERS)]

    def write(thread: int) -> None:
        for turn in _TURNS[:CROWD_TURNS]:
            store.append("", thread, Entry(events=turn))

    start = perf_counter()
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, threads))
    return WRITERS * CROWD_TURNS / (perf_counter() - start)


def _appends(kind: str, store: Store, contenders: dict[str, Callable[[int], object]], floor: str) -> list[list[str]]:
    thread = store.create("", f"appended {kind}", b"").id
    contenders[f"sash on {kind}"] = lambda number: store.append("", thread, Entry(events=_TURNS[number]))
    taken = _times(contenders, ROUNDS)
    rows = [
        [name, f"{seconds * 1000:.2f}", f"{seconds / taken[floor]:.2f}", f"{1 / seconds:,.0f}"]
        for name, seconds in taken.items()
    ]
    rate = _crowd(store, kind)
    return [*rows, [f"sash on {kind}, {WRITERS} threads at once", "", "", f"{rate:,.0f}"]]


_TURNS = [_turn(number) for number in range(ROUNDS)]


def _rows_of(thread: int) -> list[list[dict[str, Any]]]:
    """All values that the floor binds, made beforehand."""
    at = {"tenant": "", "thread": thread}
    return [
        [values_of(event, at, seq=4 * number + place, made_us=1) for place, event in enumerate(turn, 1)]
        for number, turn in enumerate(_TURNS)
    ]


def _sqlite_appends(place: Path) -> list[list[str]]:
    rows: list[list[str]] = []
    for durability in ("full", "normal"):
        path = place / f"floor-{durability}.db"
        floor = open_store(f"sqlite:///{path}")
        thread = floor.create("", "floor", b"").id
        floor.close()
        connection = connect(path, durability="full" if durability == "full" else "normal", writer=True)
        store = open_store(f"sqlite:///{place}/{durability}.db?durability={durability}")
        bare = f"apsw ({durability}, the floor)"
        rows += _appends(f"SQLite ({durability})", store, {bare: bare_sqlite(connection, thread)}, bare)
        store.close()
        connection.close()
    return rows


def bare_sqlite(connection: apsw.Connection, thread: int) -> Callable[[int], object]:
    """The floor: the same rows in the same tables, by the driver alone."""
    sql = statements("sqlite")
    prepared = _rows_of(thread)
    where = " ".join(places("", thread))
    cut = [[" ".join(words(values["text"])) for values in turn] for turn in prepared]
    advance = {"tenant": "", "thread": thread, "count": 4, **UNCHANGED}

    def append(number: int) -> None:
        execute = connection.execute
        execute("BEGIN IMMEDIATE")
        execute(sql["advance"], advance).fetchall()
        for values, text in zip(prepared[number], cut[number], strict=True):
            execute(sql["add_event"], values)
            execute(sql["add_words"], {"place": where, "words": text})
        execute("COMMIT")

    return append


@contextmanager
def _postgres() -> Iterator[str | None]:
    """A real server with fsync on, as the tests start it."""
    try:
        from tests.store.server import NoServer, started
    except ModuleNotFoundError:
        yield None
        return
    try:
        server = started(durable=True)
        running = server.__enter__()
    except (NoServer, ModuleNotFoundError):
        yield None
        return
    try:
        yield running.app_url()
    finally:
        server.__exit__(None, None, None)


def _postgres_appends(url: str) -> list[list[str]]:
    import psycopg

    store = open_store(url)
    thread = store.create("", "floor", b"").id
    bare = "psycopg (the floor)"
    with psycopg.connect(url, autocommit=True) as connection:
        rows = _appends("PostgreSQL", store, {bare: _bare_postgres(connection, thread)}, bare)
    store.close()
    return rows


def _bare_postgres(connection: Any, thread: int) -> Callable[[int], object]:
    from sash.store.postgres.running import known

    sql = known()
    prepared = _rows_of(thread)
    where = places("", thread)
    cut = [
        [
            {"tenant": "", "thread": thread, "seq": values["seq"], "words": sorted({*words(values["text"]), *where})}
            for values in turn
        ]
        for turn in prepared
    ]
    advance = {"tenant": "", "thread": thread, "count": 4, **UNCHANGED}
    connection.execute("SELECT set_config('sash.tenant', '=', false)")

    def append(number: int) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(sql["advance"], advance).fetchall()
            cursor.executemany(sql["add_event"], prepared[number])
            cursor.executemany(sql["add_words"], cut[number])

    return append


def _grow(store: Store, size: int) -> int:
    """A thread of so many messages whose newest frame left a window of the last ones."""
    thread = store.create("", f"thread of {size}", b"").id
    # Short and without words, except for the window: it is the length of the log that matters here.
    old = Event(kind="message", body=b'{"role":"user","content":"' + b"x" * 150 + b'"}', role="user", turn=1)
    before, step = size - WINDOW, 5_000
    for start in range(0, before, step):
        store.append("", thread, Entry(events=(old,) * min(step, before - start)))
    frame = Frame(number=1, at=before, reason="high mark", boundary=2)
    row = FrameRow(number=1, after_seq=before, body=msgspec.json.encode(frame))
    window = tuple(event for number in range(WINDOW // 4) for event in _turn(number))
    store.append("", thread, Entry(events=window, frames=(row,), checkpoint=b"{}"))
    return thread


def read_window(store: Store, name: str) -> int:
    """What opening a thread asks of its store. How many messages it has to read."""
    thread = store.find("", name)
    assert thread is not None
    head = store.head("", thread.id)
    since = head.frame.after_seq if head.frame else 0
    return len(list(store.events("", thread.id, since=since, until=head.last_seq)))


def _reads(kind: str, store: Store, size: int, floor: Callable[[int], list[Row]], url: str) -> list[list[str]]:
    name = f"thread of {size}"
    assert read_window(store, name) == len(floor(0)) == WINDOW
    ours, bare = f"sash on {kind}, {size:,} messages", f"a bare read on {kind}, {size:,} messages"
    taken = _times({bare: floor, ours: lambda _: read_window(store, name)}, READS)
    return [
        [bare, f"{taken[bare] * 1000:.2f}", "1.00", ""],
        [ours, f"{taken[ours] * 1000:.2f}", f"{taken[ours] / taken[bare]:.2f}", f"{_peak(url, name):.0f}"],
    ]


def _sqlite_reads(place: Path, size: int) -> list[list[str]]:
    path = place / "long.db"
    url = f"sqlite:///{path}?durability=normal"
    store = open_store(url)
    thread = _grow(store, size)
    connection = connect(path, durability="normal", writer=False)
    asked = {"tenant": "", "thread": thread, "since": size - WINDOW, "until": size, "limit": WINDOW}
    sql = statements("sqlite")["events"]
    rows = _reads("SQLite", store, size, lambda _: list(connection.execute(sql, asked).fetchall()), url)
    connection.close()
    store.close()
    return rows


def _postgres_reads(url: str, size: int) -> list[list[str]]:
    import psycopg

    store = open_store(url)
    thread = _grow(store, size)
    asked = {"tenant": "", "thread": thread, "since": size - WINDOW, "until": size, "limit": WINDOW}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT set_config('sash.tenant', '=', false)")
        sql = _BARE_READ
        rows = _reads("PostgreSQL", store, size, lambda _: list(connection.execute(sql, asked, binary=True)), url)
    store.close()
    return rows


_BARE_READ = """
SELECT seq, kind, body, wire, role, turn, tokens, exact, counter, text, said_at, checksum FROM log
WHERE tenant = %(tenant)s AND thread = %(thread)s AND seq > %(since)s AND seq <= %(until)s ORDER BY seq LIMIT %(limit)s
"""

_READ_ONCE = """
import sys
from pathlib import Path
from bench.bench_store import open_store, read_window
store = open_store(sys.argv[1])
read_window(store, sys.argv[2])
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line))
store.close()
"""


def _peak(url: str, name: str) -> float:
    """Megabytes that a process takes at the most which does nothing but this."""
    command = [sys.executable, "-c", _READ_ONCE, url, name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024
