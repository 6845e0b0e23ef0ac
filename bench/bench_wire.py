"""Reading and grouping a body, beside the bare decoding of the same bytes."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bench.report import Report
from sash.core.turn import group
from sash.wire import prepare, read, write_fields

WIRES = ("openai-chat", "anthropic", "openai-responses")
MESSAGES = 10_000
ROUNDS = 5


def run(report: Report) -> None:
    """Print MB/s of both, per wire, from one run."""
    rows = []
    for name, wire, bodies in _measured():
        size = sum(map(len, bodies)) / 1e6
        decoding = _seconds(bodies, msgspec.json.decode)
        reading = _seconds(bodies, partial(_grouped, wire))
        speeds = [f"{size / decoding:,.0f}", f"{size / reading:,.0f}", f"{decoding / reading:.2f}"]
        rows.append([f"{name}, {wire}", f"{size:.1f}", *speeds])
    columns = ["history", "MB", "msgspec.json.decode MB/s", "read + group MB/s", "share"]
    report.table("Reading a request", columns, rows, note="best of five, one process; aim: a third of bare decoding")


def _measured() -> list[tuple[str, str, list[bytes]]]:
    chats = {"agent": [_agent_history()], "tau-bench": _tau_bench()}
    return [(name, wire, [_body(h, wire) for h in given]) for name, given in chats.items() if given for wire in WIRES]


def _body(history: list[dict[str, Any]], wire: str) -> bytes:
    sent = prepare(read(history, "openai-chat").messages, wire)
    fields = write_fields(sent.messages, (), wire)
    return json.dumps({"model": "m", **{name: json.loads(value) for name, value in fields.items()}}).encode()


def _agent_history() -> list[dict[str, Any]]:
    """About 1.7 kB a message: a turn asks once, then twenty steps of a call and its result."""
    draw = random.Random(1)
    words = 'the quick brown file src/main.py def foo(x):\n    return x + 1 "quoted" error'.split(" ")

    def text(size: int) -> str:
        return " ".join(draw.choices(words, k=size // 6))

    history: list[dict[str, Any]] = []
    while len(history) < MESSAGES:
        history.append({"role": "user", "content": text(400)})
        for _ in range(20):
            name = f"call_{len(history):08d}"
            arguments = json.dumps({"path": f"src/f{len(history)}.py", "content": text(600)})
            call = {"id": name, "type": "function", "function": {"name": "write", "arguments": arguments}}
            history.append({"role": "assistant", "content": text(300), "tool_calls": [call]})
            history.append({"role": "tool", "tool_call_id": name, "content": text(2_400)})
    return history


def _tau_bench() -> list[list[dict[str, Any]]]:
    real = Path(os.environ.get("SASH_DATA") or Path(__file__).parents[2] / "shared" / "data")
    paths = sorted((real / "openai").glob("*.json"))
    return [run["traj"] for path in paths for run in json.loads(path.read_bytes())]


def _grouped(wire: str, body: bytes) -> object:
    return group(read(body, wire).messages)


def _seconds(bodies: list[bytes], work: Callable[[bytes], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for body in bodies:
            work(body)
        best = min(best, time.perf_counter() - start)
    return best
