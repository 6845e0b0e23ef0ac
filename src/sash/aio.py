"""
Threads for asynchronous callers: the same verbs, awaited.

A thin wrapper, no second copy: each verb runs in a worker thread, where the database may wait
without holding the event loop up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from sash.thread import Thread, open_thread

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_PLAIN = frozenset({"name", "tenant", "wire", "id", "store", "on_frame", "before_slide"})
"""What is known without asking the store; the last two can be set."""


def _awaited(
    verb: Callable[Concatenate[Thread, Given], Answer],
) -> Callable[Concatenate[AsyncThread, Given], Coroutine[Any, Any, Answer]]:
    @wraps(verb)
    async def awaited(self: AsyncThread, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        return await asyncio.to_thread(verb, self.thread, *given, **named)

    return awaited


class AsyncThread:
    """A `sash.Thread` whose verbs are awaited: `await thread.append(...)`, `await thread.request()`."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        """The thread itself."""

    def __repr__(self) -> str:
        return f"<AsyncThread on {self.thread!r}>"

    def __getattr__(self, name: str) -> Any:
        """What is there at once: the thread's name, its store, its hooks."""
        if name in _PLAIN:
            return getattr(self.thread, name)
        raise AttributeError(name)

    def __setattr__(self, name: str, value: object) -> None:
        # A hook that is set here is the thread's, or it would never be called.
        object.__setattr__(self.thread if name in _PLAIN else self, name, value)

    append = _awaited(Thread.append)
    take = _awaited(Thread.take)
    record_usage = _awaited(Thread.record_usage)
    record_overflow = _awaited(Thread.record_overflow)
    request = _awaited(Thread.request)
    prepared = _awaited(Thread.prepared)

    turns = _awaited(Thread.turns)
    explain = _awaited(Thread.explain)
    context = _awaited(Thread.context)
    pressure = _awaited(Thread.pressure)
    frames = _awaited(Thread.frames)
    events = _awaited(Thread.events)
    said = _awaited(Thread.said)
    standing = _awaited(Thread.standing)
    verify = _awaited(Thread.verify)

    compact = _awaited(Thread.compact)
    undo = _awaited(Thread.undo)
    pin = _awaited(Thread.pin)
    unpin = _awaited(Thread.unpin)
    mark = _awaited(Thread.mark)
    marks = _awaited(Thread.marks)
    rewind = _awaited(Thread.rewind)
    configure = _awaited(Thread.configure)
    redact = _awaited(Thread.redact)
    delete = _awaited(Thread.delete)

    remember = _awaited(Thread.remember)
    forget = _awaited(Thread.forget)
    facts = _awaited(Thread.facts)
    expand = _awaited(Thread.expand)
    answer = _awaited(Thread.answer)
    search = _awaited(Thread.search)

    summaries = _awaited(Thread.summaries)
    summarize = _awaited(Thread.summarize)
    edit_summary = _awaited(Thread.edit_summary)
    revert_summary = _awaited(Thread.revert_summary)
    trouble = _awaited(Thread.trouble)
    retry_summary = _awaited(Thread.retry_summary)

    close = _awaited(Thread.close)

    async def seq(self) -> int:
        """Number of its newest event."""
        return await asyncio.to_thread(lambda: self.thread.seq)

    async def fork(self, name: str | None = None, *, at: int | None = None) -> AsyncThread:
        """A new thread that goes on from here, or from right after some event; see `Thread.fork`."""
        return AsyncThread(await asyncio.to_thread(self.thread.fork, name, at=at))

    async def __aenter__(self) -> AsyncThread:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _opened(
    door: Callable[Given, Thread],
) -> Callable[Given, Coroutine[Any, Any, AsyncThread]]:
    async def opened(*given: Given.args, **named: Given.kwargs) -> AsyncThread:
        """`sash.open`, awaited; it takes the same."""
        return AsyncThread(await asyncio.to_thread(door, *given, **named))

    return opened


open = _opened(open_thread)  # noqa: A001  (it is `sash.open`, awaited)
