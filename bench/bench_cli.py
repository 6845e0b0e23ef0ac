"""
What the first minute costs: `sash show` on a session of 4 MB, as Claude Code writes them.

Aims (issue 7): first output at most 0.5 s after what a bare interpreter takes, all of it within 2 s, below 150 MB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from bench.report import Report
from bench.transcripts import DATA

ROUNDS = 7
MEGABYTES = 4
COMMANDS = ("show", "context", "explain", "pressure", "replay")
_REPORTER = """
import os, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
import resource
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Took(NamedTuple):
    """One run of a command."""

    first: float
    """Seconds until something was printed."""
    whole: float


def run(report: Report) -> None:
    """A table for a made session, and for the largest real one where there are any."""
    with tempfile.TemporaryDirectory() as folder:
        sessions = {"made": _made(Path(folder) / "session.jsonl")}
        real = sorted((DATA / "claude-code").glob("*.jsonl"), key=lambda path: path.stat().st_size)
        if real:
            sessions["real"] = real[-1]
        for name, path in sessions.items():
            _table(report, name, path)


def _table(report: Report, name: str, path: Path) -> None:
    python = sys.executable
    commands = {f"sash {command}": [python, "-m", "sash", command, str(path)] for command in COMMANDS}
    contenders = {"python -c 'print()' (the floor)": [python, "-c", "print()"], **commands}
    took: dict[str, list[Took]] = {what: [] for what in contenders}
    for command in contenders.values():
        _time(command)
    for _ in range(ROUNDS):
        for what, command in contenders.items():
            took[what].append(_time(command))
    floor = min(one.first for one in took["python -c 'print()' (the floor)"])
    report.table(
        f"Commands on a session of {path.stat().st_size / 1e6:.1f} MB ({name})",
        ["what", "first output, best", "over the floor", "all of it, best", "median", "peak RSS"],
        [
            [
                what,
                f"{min(one.first for one in runs) * 1000:.0f} ms",
                f"{(min(one.first for one in runs) - floor) * 1000:+.0f} ms",
                f"{min(one.whole for one in runs) * 1000:.0f} ms",
                f"{median(one.whole for one in runs) * 1000:.0f} ms",
                f"{_memory(contenders[what]):.0f} MB",
            ]
            for what, runs in took.items()
        ],
        note="aims for sash show: first output +500 ms, all of it 2,000 ms, 150 MB",
    )


def _time(command: list[str]) -> Took:
    # As installed programs run: with byte code on disk, whatever this shell says.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = perf_counter() - start
        process.stdout.read()
    assert process.returncode == 0, command
    return Took(first, perf_counter() - start)


def _memory(command: list[str]) -> float:
    done = subprocess.run([sys.executable, "-c", _REPORTER, *command], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1000


def _made(path: Path) -> Path:
    """Turns of a coding agent: three files read in each, four kB each."""
    body = "\n".join(f"{line:4}  value_{line} = compute({line}, 'some argument')" for line in range(90))
    with path.open("w") as file:
        number = 0
        while file.tell() < MEGABYTES * 1_000_000:
            number += 1
            file.write(_line(number, 0, "user", {"role": "user", "content": f"Request {number}: look at these files"}))
            for place in range(1, 4):
                call = {"type": "tool_use", "id": f"t{number}.{place}", "name": "Read", "input": {"file_path": "a.py"}}
                file.write(_line(number, 2 * place - 1, "assistant", _spoken(f"m{number}.{place}", [call])))
                result = {"type": "tool_result", "tool_use_id": f"t{number}.{place}", "content": f"{number}\n{body}"}
                file.write(_line(number, 2 * place, "user", {"role": "user", "content": [result]}))
            file.write(_line(number, 9, "assistant", _spoken(f"m{number}", [{"type": "text", "text": "Seen."}])))
    return path


def _spoken(name: str, content: list[object]) -> dict[str, object]:
    return {"id": name, "role": "assistant", "model": "claude-sonnet-4-5", "content": content}


def _line(number: int, place: int, kind: str, message: object) -> str:
    line = {"type": kind, "uuid": f"{number}.{place}", "parentUuid": None, "sessionId": "s", "message": message}
    return json.dumps(line) + "\n"
