"""
Threads for asynchronous callers: the same verbs, awaited.

A thin wrapper, no second copy: each verb runs in a worker thread, where the database may wait
without holding the event loop up.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from sash.thread import Thread, open_thread

_PLAIN = frozenset({"name", "tenant", "wire", "id", "store", "on_frame", "before_slide"})
"""What is known without asking the store."""


class AsyncThread:
    """A `sash.Thread` whose verbs are awaited: `await thread.append(...)`, `await thread.request()`."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        """The thread itself."""

    def __repr__(self) -> str:
        return f"<AsyncThread on {self.thread!r}>"

    def __getattr__(self, name: str) -> Any:
        """A verb of the thread, or what is read from the store (`await thread.seq()`); the rest is there at once."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _PLAIN:
            return getattr(self.thread, name)
        verb = getattr(type(self.thread), name)
        if isinstance(verb, property):
            verb = verb.fget

        async def awaited(*given: Any, **named: Any) -> Any:
            return await asyncio.to_thread(verb, self.thread, *given, **named)

        return awaited

    async def __aenter__(self) -> AsyncThread:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.thread.close)


async def open(name: str, **given: Any) -> AsyncThread:  # noqa: A001  (it is `sash.open`, awaited)
    """`sash.open`, awaited; it takes the same."""
    return AsyncThread(await asyncio.to_thread(open_thread, name, **given))
