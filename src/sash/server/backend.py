"""What the routes of one server work on."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.to_thread

from sash.server.keys import Doorkeeper
from sash.server.metrics import Metrics
from sash.server.proxy import Passed, Proxy
from sash.server.setup import ServerSetup
from sash.store import Store, open_store

T = TypeVar("T")

THREADS = 64
"""Calls into the store that may be under way at once."""


class Backend:
    """Store, keys, numbers: one of each for all requests of a process."""

    def __init__(self, setup: ServerSetup, store: Store | None = None) -> None:
        self.setup = setup
        self.store = open_store(setup.store) if store is None else store
        self.metrics = Metrics()
        self.doorkeeper = Doorkeeper(self.store, owner_key=os.environ.get("SASH_API_KEY", ""))
        self.proxy = Proxy(setup.proxy, on_passed=self._note)
        self.draining = False
        """Whether it has been told to stop: what runs may end, nothing new begins."""
        self.when_running: Callable[[], None] | None = None
        """Told once requests can be answered."""
        self._limiter: anyio.CapacityLimiter | None = None

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

    async def drain(self) -> None:
        """Let running turns end by themselves for a while, then end them."""
        await anyio.sleep(self.setup.drain_seconds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From the first request to the last."""
        if self.when_running is not None:
            self.when_running()
        try:
            yield
        finally:
            # Whatever ends us, the store is closed in order.
            with anyio.CancelScope(shield=True):
                await self.proxy.close()
                await anyio.to_thread.run_sync(self.store.close)
