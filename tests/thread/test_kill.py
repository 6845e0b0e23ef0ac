"""A killed process loses nothing and changes nothing: the next request is the same, byte for byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.tree import ROOT
from tests.store.server import Server


def survives(url: str, kills: int, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.thread.killed", url, f"killed-{seed}", str(kills), str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1_500,
    )
    assert done.returncode == 0, done.stderr[-3_000:]


def test_a_thread_on_sqlite_goes_on_after_each_of_twenty_kills(scratch: Path) -> None:
    survives(f"sqlite:///{scratch}/killed.db", 20, 1)


def test_a_thread_on_postgresql_goes_on_after_each_of_twenty_kills(postgres: Server) -> None:
    survives(postgres.url(name=postgres.empty()), 20, 2)


@pytest.mark.soak
def test_a_thread_on_sqlite_goes_on_after_hundreds_of_kills(scratch: Path) -> None:
    for seed in range(10, 40):
        survives(f"sqlite:///{scratch}/killed-{seed}.db", 20, seed)


@pytest.mark.soak
def test_a_thread_on_postgresql_goes_on_after_hundreds_of_kills(postgres: Server) -> None:
    for seed in range(10, 25):
        survives(postgres.url(name=postgres.empty()), 20, seed)
