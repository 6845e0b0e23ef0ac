"""Workers killed at any point, while somebody goes on talking: nothing is lost, nothing is doubled."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sash.store import Store, open_store
from sash.thread import Thread
from tests.store import server
from tests.summarize.threads import chat, model, opened, worker

ROOT = Path(__file__).parents[2]


@contextmanager
def started(url: str, tenant: str, seconds: float) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.summarize.killed_worker", url, tenant, str(seconds)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        process.stdout.close()


def check_chain(store: Store, thread: Thread) -> None:
    """Each revision was made from the one before it, covers more than it, and no turn is told twice or not at all."""
    revisions = thread.summaries()
    assert [summary.parent for summary in revisions] == [0, *(summary.seq for summary in revisions[:-1])]
    ends = [summary.end for summary in revisions]
    assert ends == sorted(set(ends))
    row = store.thread(thread.tenant, thread.id)
    assert ends[-1] == row.covered >= max(row.boundary, row.ahead)
    for number in range(1, ends[-1]):
        assert revisions[-1].text.count(f"conf/part{number}.toml") == 1
    assert thread.verify().problems == ()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_workers_that_are_killed_lose_nothing_and_double_nothing(
    kind: str, scratch: Path, tenant: str, request: pytest.FixtureRequest
) -> None:
    if kind == "postgres":
        running: server.Server = request.getfixturevalue("postgres")
        url = running.app_url()
    else:
        url = f"sqlite:///{scratch}/threads.db"
    store, chance = open_store(url), random.Random(7)
    try:
        thread = opened(store, tenant)
        chat(thread, 6)
        said = 6
        with started(url, tenant, 0.02) as steady:
            for _ in range(4):
                with started(url, tenant, chance.choice([0.0, 0.05, 0.3])):
                    chat(thread, 3, first=said + 1)
                    said += 3
                    time.sleep(chance.uniform(0.0, 0.3))
            steady.send_signal(signal.SIGSTOP)
            chat(thread, 3, first=said + 1)
            time.sleep(0.4)
            last = worker(store, tenant, model())
            while last.once() is not None:
                pass
            # It was asleep for longer than its lease, and wakes up.
            steady.send_signal(signal.SIGCONT)
            time.sleep(0.3)
        while last.once() is not None:
            pass
        check_chain(store, thread)
        assert [turn.number for turn in thread.turns()] == list(range(1, said + 4))
    finally:
        store.close()
