"""
A thread whose process is killed again and again; run as a program of its own.

`killed.py URL NAME KILLS SEED` prints what went wrong, or nothing. A warm process forks one that opens
the thread and goes on with a plan, and kills it with SIGKILL at a random moment. After each kill
the thread is opened again and compared with one that was never interrupted.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from sash.core.policy import Policy
from sash.store import MemoryStore, Store, open_store
from sash.thread import Thread, open_thread

POLICY = Policy(counter="chars4", history_tokens=600, window=8_000, pin_tokens=400)

Op = Callable[[Thread], object]


def says(item: dict[str, Any]) -> Op:
    return lambda thread: thread.append(item)


def reports(tokens: int) -> Op:
    return lambda thread: thread.record_usage({"prompt_tokens": tokens})


def remembers(text: str) -> Op:
    return lambda thread: thread.remember(text)


def plan() -> list[Op]:
    """What is said and commanded, each of it one event: the next thing to do is known by the number of events."""
    ops: list[Op] = []
    for turn in range(400):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        said: list[dict[str, Any]] = [
            {"role": "user", "content": f"question {turn} " + "word " * 20},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"line {turn}\n" * (turn % 9) * 12},
            {"role": "assistant", "content": f"answer {turn} " + "word " * 20},
        ]
        ops += map(says, said)
        ops.append(reports(300 + turn))
        if turn % 7 == 3:
            ops.append(lambda thread: thread.mark())
        if turn % 21 == 20:
            ops.append(lambda thread: thread.rewind())
        if turn % 11 == 5:
            ops.append(lambda thread: thread.compact())
        if turn % 13 == 6:
            ops.append(remembers(f"fact {turn}"))
    return ops


def handle(store: Store, name: str = "killed") -> Thread:
    return open_thread(name, store=store, policy=POLICY, system="Be brief.")


def go_on(url: str, name: str, acknowledge: int) -> None:
    """Opens the thread and goes on where it stands, telling of each thing that is stored."""
    store = open_store(url)
    thread, ops = handle(store, name), plan()
    while thread.seq < len(ops):
        ops[thread.seq](thread)
        os.write(acknowledge, b".")


def kill_after(url: str, name: str, acknowledged: int, pause: float) -> int:
    """How many things a process had acknowledged when it was killed."""
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        try:
            go_on(url, name, tells)
        finally:
            os._exit(1)
    os.close(tells)
    count = 0
    while count < acknowledged and (said := os.read(told, acknowledged - count)):
        count += len(said)
    time.sleep(pause)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while said := os.read(told, 1024):
        count += len(said)
    os.close(told)
    return count


def compared(url: str, name: str, known: int, reference: Thread) -> int:
    """The number of events that are stored, after everything about them was found right."""
    store = open_store(url)
    try:
        thread, ops = handle(store, name), plan()
        stored = thread.seq
        assert known <= stored <= known + 1, f"{known} were acknowledged and {stored} are stored"
        while reference.seq < stored:
            ops[reference.seq](reference)
        ours, theirs = list(thread.events()), list(reference.events())
        assert [event.body for event in ours] == [event.body for event in theirs], "the log is another one"
        if stored:
            assert thread.prepared().body == reference.prepared().body, f"another request after event {stored}"
        assert thread.frames() == reference.frames(), "other frames"
        assert thread._tail.current().checkpoint() == reference._tail.current().checkpoint(), "another state"
        return stored
    finally:
        store.close()


def main(url: str, name: str, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    reference, stored = handle(MemoryStore()), 0
    for _ in range(kills):
        before = stored
        done = kill_after(url, name, chance.randrange(1, 30), chance.choice([0.0, 0.0, 0.001, 0.004]))
        stored = compared(url, name, before + done, reference)
    assert len(reference.frames()) > 2, "it never slid"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
