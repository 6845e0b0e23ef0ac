"""The client's side of an exchange: what goes to it, in order, with a sign of life while there is nothing to say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.types import Receive, Send

from sash.server.proxy.headers import Raw
from sash.server.proxy.refusals import Refusal

COMMENT = b": keep-alive\n\n"
"""A comment: every reader of event streams skips it."""
STREAM_HEADERS: list[Raw] = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


class Outlet:
    """Sends an answer. Knows whether its head has gone: until then everything may still be decided anew."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._said_at = 0.0
        self._seconds = 0.0
        self._head: Callable[[], list[Raw]] = list
        self.started = self.ended = False
        self.between_frames = True
        """Whether a comment may stand here: not inside a frame."""

    def stay_alive(self, seconds: float, head: Callable[[], list[Raw]]) -> None:
        """From now on a client that waits for a stream hears something every so many seconds."""
        self._seconds, self._head, self._said_at = seconds, head, self._loop.time()
        if self._timer is None and seconds > 0:
            self._timer = self._loop.call_later(seconds, self._look)

    async def start(self, status: int, headers: list[Raw]) -> None:
        """Send the head."""
        async with self._lock:
            await self._start(status, headers)

    async def write(self, part: bytes) -> None:
        """Send a part of the body."""
        async with self._lock:
            self._said_at = self._loop.time()
            await self._send({"type": "http.response.body", "body": part, "more_body": True})

    async def end(self, part: bytes = b"") -> None:
        """Send what is left, and that this was all."""
        async with self._lock:
            self.ended = True
            self.close()
            await self._send({"type": "http.response.body", "body": part, "more_body": False})

    async def refuse(self, refusal: Refusal, wire: str, headers: list[Raw]) -> None:
        """Answer with an error: as a status while that can be, else as the last event of the stream."""
        self.close()
        if self._beating is not None:
            # It may be sending the head right now.
            await self._beating
        if self.ended:
            return
        if self.started:
            await self.end((b"" if self.between_frames else b"\n\n") + refusal.frame(wire))
            return
        body = refusal.body(wire)
        length = (b"content-length", str(len(body)).encode())
        await self.start(refusal.status, [*refusal.headers(), *headers, length])
        await self.end(body)

    def close(self) -> None:
        """No more signs of life."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._seconds = 0.0

    async def _start(self, status: int, headers: list[Raw]) -> None:
        if not self.started:
            self.started = True
            self._said_at = self._loop.time()
            await self._send({"type": "http.response.start", "status": status, "headers": headers})

    def _look(self) -> None:
        self._timer = None
        if self._seconds <= 0:
            return
        silent = self._loop.time() - self._said_at
        if silent >= self._seconds and self.between_frames:
            self._beating = self._loop.create_task(self._beat())
            silent = 0.0
        self._timer = self._loop.call_later(max(0.01, self._seconds - silent), self._look)

    async def _beat(self) -> None:
        async with self._lock:
            if self.ended or not self.between_frames:
                return
            await self._start(200, [*STREAM_HEADERS, *self._head()])
            self._said_at = self._loop.time()
            await self._send({"type": "http.response.body", "body": COMMENT, "more_body": True})


async def until_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work, but give it up as soon as the client leaves; whether it was done to its end."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            return True
        return False
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
