"""Many processes, one store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sash.store import open_store
from tests.store import crowd
from tests.store.server import Server


def gathered(url: str, processes: int, appends: int) -> None:
    command = [sys.executable, str(crowd.__file__), url, str(processes), str(appends)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    store = open_store(url)
    thread = store.find("crowd", "shared")
    assert thread is not None
    bodies = [event.body.decode() for event in store.events("crowd", thread.id)]
    assert [event.seq for event in store.events("crowd", thread.id)] == list(range(1, processes * appends + 1))
    for number in range(processes):
        mine = [body for body in bodies if body.partition(".")[0] == str(number)]
        assert mine == [f"{number}.{n}" for n in range(appends)]
    assert len(store.search("crowd", "said", limit=1_000)) == min(1_000, processes * appends)
    assert store.health().problems == ()
    store.close()


@pytest.mark.parametrize("processes", [2, 16])
def test_processes_open_a_fresh_file_at_once_and_append_to_one_thread(scratch: Path, processes: int) -> None:
    gathered(f"sqlite:///{scratch}/shared.db", processes, 12)


def test_processes_open_a_fresh_postgresql_at_once_and_append_to_one_thread(postgres: Server) -> None:
    gathered(postgres.url(name=postgres.empty()), 16, 5)


@pytest.mark.soak
def test_a_crowd_for_longer(tmp_path: Path, postgres: Server) -> None:
    gathered(f"sqlite:///{tmp_path}/shared.db", 16, 300)
    gathered(postgres.url(name=postgres.empty()), 16, 300)
