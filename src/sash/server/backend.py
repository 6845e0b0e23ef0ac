"""What the routes of one server work on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from sash.core.turn import TITLE_LENGTH
from sash.providers import Local, Provider
from sash.server.answering import Answering
from sash.server.handles import Handles, id_of
from sash.server.keys import Doorkeeper
from sash.server.metrics import Level, Metrics
from sash.server.pressing import Glance, Glances, glance_at
from sash.server.proxy import Passed, Proxy, Summaries
from sash.server.runner import Runner
from sash.server.setup import ServerSetup, within
from sash.server.tracing import Tracing
from sash.store import Store, ThreadRow, open_store
from sash.thread import Thread
from sash.thread.worker import Terms, Worker
from sash.window import Prepared

T = TypeVar("T")

THREADS = 64
"""Calls into the store that may be under way at once."""


FIRST_TURNS = 20
"""Among these a thread without a title finds one."""


class Backend:
    """Store, keys, provider, running turns, numbers: one of each for all requests of a process."""

    def __init__(self, setup: ServerSetup, store: Store | None = None) -> None:
        self.answering = Answering(setup)
        self.setup = setup = within(setup, self.answering.window)
        self.store = open_store(setup.store, to_write=True) if store is None else store
        self.worker = self._worker()
        self.handles = Handles(self.store, self.worker)
        self.metrics = Metrics()
        self.tracing = Tracing()
        self.doorkeeper = Doorkeeper(self.store, owner_key=os.environ.get("SASH_API_KEY", ""))
        usual = self.answering.usual
        self.proxy = Proxy(
            setup.proxy,
            store=self.store,
            shelf=self.store,
            summaries=self._summaries(),
            local=usual if isinstance(usual, Local) else None,
            on_passed=self._note,
        )
        self.runner = Runner(self)
        self._glances = Glances(lambda row: glance_at(self.handles.of(row)))
        self.draining = False
        """Whether it has been told to stop: what runs may end, nothing new begins."""
        self.when_running: Callable[[], None] | None = None
        """Told once requests can be answered."""
        self.now, self.clock = time.time, time.perf_counter
        self._limiter: anyio.CapacityLimiter | None = None
        started = time.time()
        self.metrics.ask(Level("sash_started_seconds", "When the process started"), lambda: started)

    def _worker(self) -> Worker | None:
        """Who writes summaries of threads, where somebody is to."""
        setup = self.setup
        if not setup.summarizer:
            return None
        turns = setup.policy.summary_min_turns + 1
        terms = Terms(turns=turns, tokens_per_hour=setup.summary_tokens_per_hour)
        return Worker(self.store, self.answering.summarizer(setup.summarizer, setup.policy), terms=terms)

    def _summaries(self) -> Summaries | None:
        """The same for conversations that pass. A summarizer of its own: each writes one thing at a time."""
        setup = self.setup
        if not setup.summarizer:
            return None
        summarizer = self.answering.summarizer(setup.summarizer, setup.policy)
        return Summaries(summarizer, self.store, tokens_per_hour=setup.summary_tokens_per_hour)

    async def call(self, work: Callable[[], T]) -> T:
        """Run something that waits for a disk or a database, in a thread of its own."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    def _note(self, passed: Passed) -> None:
        """Count what went through the proxy."""
        kind = "anthropic" if passed.wire == "anthropic" else "openai"
        self.metrics.overhead.take(passed.overhead_seconds, "proxy")
        for name, tokens in (
            ("read", passed.usage.context),
            ("cached", passed.usage.cached or None),
            ("written", passed.usage.output),
        ):
            if tokens is not None:
                self.metrics.tokens.add(kind, name, by=tokens)
        if passed.status >= 500:
            self.metrics.upstream_errors.add(kind, str(passed.status))

    def id_of_thread(self, thread: Thread) -> str:
        """As clients know it."""
        return id_of(ThreadRow(id=thread.id, tenant=thread.tenant, name=thread.name))

    def wire_of(self, thread: Thread) -> str:
        """How its requests are written: one prompt of text where its policy says so, as seed 004 has it."""
        return "flat" if thread.setup.policy.flat else self.answering.usual.wire

    def request_of(self, prepared: Prepared, provider: Provider) -> Mapping[str, Any]:
        """The request as the provider takes it; a flat prompt is said by the user."""
        if prepared.wire != "flat":
            return prepared.request
        assert provider.wire in ("openai-chat", "anthropic")
        return {"messages": [{"role": "user", "content": prepared.request["prompt"]}]}

    def glance(self, row: ThreadRow) -> Glance:
        """What a list shows of a thread."""
        return self._glances.at(row)

    def drop(self, row: ThreadRow) -> None:
        """A thread is gone: nothing of it stays in memory."""
        self.handles.drop(row)
        self._glances.drop(row)

    def troubles(self, tenant: str) -> dict[int, str]:
        """The threads whose summaries fail, and why."""
        return {trouble.thread: trouble.error for trouble in self.store.troubles(tenant)}

    def entitle(self, thread: Thread, row: ThreadRow) -> None:
        """Call a thread without a title by its first words."""
        if not row.title and not self.store.thread(row.tenant, row.id).title:
            titles = [turn.title for turn in thread.turns(before=FIRST_TURNS) if turn.number > 0 and turn.title]
            if titles:
                self.store.put_title(row.tenant, row.id, titles[0][:TITLE_LENGTH])

    async def drain(self) -> None:
        """Let running turns end by themselves for a while, then end them."""
        await self.runner.drain(self.setup.drain_seconds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From the first request to the last."""
        await self.call(self.runner.recovery.recover)
        sweeping = asyncio.create_task(self.runner.recovery.sweep())
        if self.worker is not None:
            self.worker.start()
        if self.when_running is not None:
            self.when_running()
        try:
            yield
        finally:
            sweeping.cancel()
            # Whatever ends us, turns are stored as interrupted and the store is closed in order.
            with anyio.CancelScope(shield=True):
                await self.proxy.close()
                if self.worker is not None:
                    await anyio.to_thread.run_sync(self.worker.stop)
                await self.runner.end_all("interrupted")
                await self.answering.close()
                await anyio.to_thread.run_sync(self.store.close)
