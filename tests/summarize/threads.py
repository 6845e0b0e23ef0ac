"""Threads whose turns are worth a summary, and workers that write it."""

from __future__ import annotations

from typing import Any

from sash.core.policy import Policy
from sash.store import Store
from sash.summarize import Summarizer
from sash.thread import Thread, open_thread
from sash.thread.worker import Terms, Worked, Worker
from tests.scripted import Scripted
from tests.summarize.building import faithful

SMALL = Policy(counter="chars4", history_tokens=600, window=20_000, keep_share=0.5, min_turns=1, summary_tokens=1_500)
"""Turns leave soon, and there is room for what stands for them."""
SOON = Terms(turns=1, first_seconds=0.0, lease_seconds=60.0)


class Clock:
    """Time that goes by when somebody says so."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def opened(store: Store, tenant: str, name: str = "thread", **given: Any) -> Thread:
    return open_thread(name, store=store, tenant=tenant, **{"policy": SMALL, **given})


def chat(thread: Thread, turns: int, *, first: int = 1) -> None:
    """So many turns, each with something to remember."""
    for number in range(first, first + turns):
        value = f"value_{number} to {1000 + number} in conf/part{number}.toml"
        thread.append({"role": "user", "content": f"Please set {value}. {'Take care. ' * 10}"})
        thread.append({"role": "assistant", "content": f"I have set {value}. {'It went well. ' * 10}"})


def slid(store: Store, tenant: str, name: str = "thread", *, turns: int = 16) -> Thread:
    """A thread some of whose turns have left."""
    thread = opened(store, tenant, name)
    chat(thread, turns)
    assert thread.frames()[-1].boundary > 2
    return thread


def model() -> Scripted:
    return Scripted(answer=lambda question: faithful(question).replace(" is ", " to ").replace(", in", " in"))


def worker(store: Store, tenant: str | None, provider: Scripted | None = None, **given: Any) -> Worker:
    return Worker(
        store,
        Summarizer(provider or model()),
        tenant=tenant,
        **{"terms": SOON, **given},
    )


def worked(made: Worked | None) -> Worked:
    assert made is not None
    return made


def covered(store: Store, thread: Thread) -> int:
    return store.thread(thread.tenant, thread.id).covered
