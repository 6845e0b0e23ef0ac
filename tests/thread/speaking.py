"""Threads in the domain's words, for the tests."""

from __future__ import annotations

from typing import Any

from sash.core.policy import Policy
from sash.store import MemoryStore, Store
from sash.thread import Thread, open_thread
from tests.builders import Call, Script, lines, words

SMALL = Policy(counter="chars4", history_tokens=1_000, window=20_000, pin_tokens=400)
"""A cap of a thousand tokens, counted by hand."""


def opened(store: Store | str | None = None, name: str = "t", **given: Any) -> Thread:
    """A thread with a small window."""
    return open_thread(name, store=MemoryStore() if store is None else store, **{"policy": SMALL, **given})


def say(thread: Thread, script: Script) -> None:
    """Each message of a script, one by one."""
    for item in script.said:
        thread.append(item, wire=script.wire)


def talk(thread: Thread, turns: int, *, ask: int = 50, answer: int = 50) -> None:
    """So many turns of a hundred tokens."""
    for _ in range(turns):
        thread.append({"role": "user", "content": words(ask)})
        thread.append({"role": "assistant", "content": words(answer)})


def work(thread: Thread, steps: int, *, result: int = 40) -> None:
    """A turn with so many steps."""
    say(thread, Script().user("do it"))
    for number in range(steps):
        say(thread, Script().assistant("", Call(f"c{thread.seq}.{number}")))
        call = thread.prepared().messages[-2]["tool_calls"][0]["id"]
        say(thread, Script().results((call, lines(result))))


def numbers(thread: Thread, state: str) -> list[int]:
    """The turns in that state."""
    return [turn.number for turn in thread.turns() if turn.state == state]
