"""A process killed while it writes: what it was told is stored is stored, once, and nothing half."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sash.store import Store, open_store
from tests.store.building import thread_of
from tests.store.server import Server

WRITER = """
import sys
from sash.core.event import Event
from sash.store import Entry, open_store

store, tenant, thread = open_store(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seq = store.last_seq(tenant, thread)
while True:
    pair = tuple(Event(kind="message", body=str(seq + n).encode(), text=f"said {seq + n}") for n in (1, 2))
    seq = store.append(tenant, thread, Entry(events=pair), expected_seq=seq).last_seq
    print(seq, flush=True)
"""


def killed(store: Store, url: str, tenant: str, kills: int) -> None:
    thread = thread_of(store, tenant).id
    chance = random.Random(kills)
    for _ in range(kills):
        command = [sys.executable, "-c", WRITER, url, tenant, str(thread)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            told = [writer.stdout.readline() for _ in range(chance.randrange(1, 15))]
            writer.send_signal(signal.SIGKILL)
            # What it had said before it died counts too; a line cut off does not.
            told += [line for line in writer.stdout if line.endswith("\n")]
        acknowledged = int(told[-1])
        stored = [event.body for event in store.events(tenant, thread)]
        assert stored == [str(seq).encode() for seq in range(1, len(stored) + 1)]
        # The one append that was under way may have come through; no half of it may.
        assert len(stored) in (acknowledged, acknowledged + 2)
        assert len(store.search(tenant, "said", limit=10_000)) == len(stored)


def test_a_killed_writer_loses_nothing_that_was_acknowledged(scratch: Path, tenant: str) -> None:
    url = f"sqlite:///{scratch}/threads.db"
    store = open_store(url)
    killed(store, url, tenant, 5)
    assert store.health().problems == ()
    store.close()


def test_nor_does_one_on_postgresql(postgres: Server, tenant: str) -> None:
    store = open_store(postgres.app_url())
    killed(store, postgres.app_url(), tenant, 3)
    store.close()


@pytest.mark.soak
def test_writers_killed_many_times(tmp_path: Path, postgres: Server, tenant: str) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    store = open_store(url)
    killed(store, url, tenant, 150)
    store.close()
    store = open_store(postgres.app_url())
    killed(store, postgres.app_url(), tenant, 150)
    store.close()
