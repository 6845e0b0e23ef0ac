"""What it costs to start: `import sash` and `sash --version` over a bare interpreter. Aim: at most 100 ms more."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from time import perf_counter

from bench.report import Report

ROUNDS = 15
PEER_ROUNDS = 3


def run(report: Report) -> None:
    """Time whole processes, the contenders taking turns so that a busy moment hits them all."""
    python = sys.executable
    contenders = {
        "python -c pass (the floor)": [python, "-c", "pass"],
        "import msgspec": [python, "-c", "import msgspec"],
        "import sash": [python, "-c", "import sash"],
        "sash --version": [python, "-m", "sash", "--version"],
        "sash --help": [python, "-m", "sash", "--help"],
    }
    seconds = _times(contenders, ROUNDS)
    seconds |= _times(
        {f"import {peer.module} ({peer.distribution} {peer.version})": [python, "-c", f"import {peer.module}"]
         for peer in report.peers},
        PEER_ROUNDS,
    )  # fmt: skip
    floor = median(seconds["python -c pass (the floor)"])
    report.table(
        "Starting",
        ["what", "ms, median", "ms over the floor", "runs"],
        [
            [name, f"{median(times) * 1000:.1f}", f"{(median(times) - floor) * 1000:+.1f}", str(len(times))]
            for name, times in seconds.items()
        ],
    )


def _times(contenders: dict[str, list[str]], rounds: int) -> dict[str, list[float]]:
    for command in contenders.values():
        # Once for nothing: the byte code is written and the files are in memory.
        _time(command)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, command in contenders.items():
            times[name].append(_time(command))
    return times


def _time(command: Sequence[str]) -> float:
    # As installed programs run: with byte code on disk, whatever this shell says.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return perf_counter() - start
