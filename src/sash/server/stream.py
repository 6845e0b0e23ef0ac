"""A response that goes on for as long as there is something to tell, and notices at once when nobody listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PING_SECONDS = 15.0
PING = b": ping\n\n"
HEADERS = {
    "cache-control": "no-store",
    # Something in between that collects output would turn a stream into one late answer.
    "x-accel-buffering": "no",
}


class EventStream(Response):
    """Server-sent events."""

    media_type = "text/event-stream"

    def __init__(
        self,
        chunks: AsyncGenerator[bytes],
        *,
        left: Callable[[], None] | None = None,
        headers: dict[str, str] | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        super().__init__(None, 200, {**HEADERS, **(headers or {}), "content-type": "text/event-stream"})
        del self.headers["content-length"]
        self._chunks, self._left, self._ping = chunks, left, ping_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Send until there is no more, or nobody is there."""
        listening = asyncio.create_task(gone(receive))
        sending = asyncio.create_task(self._send(send))
        try:
            await asyncio.wait((listening, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (listening, sending):
                task.cancel()
            await asyncio.gather(listening, sending, return_exceptions=True)
            await self._chunks.aclose()
            if self._left is not None:
                self._left()
        if sending.done() and not sending.cancelled() and (error := sending.exception()) is not None:
            if isinstance(error, OSError):
                return
            raise error

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        chunks = self._chunks.__aiter__()
        waiting: asyncio.Task[bytes] | None = None
        try:
            while True:
                if waiting is None:
                    waiting = asyncio.ensure_future(chunks.__anext__())
                done, _ = await asyncio.wait((waiting,), timeout=self._ping)
                if not done:
                    await send({"type": "http.response.body", "body": PING, "more_body": True})
                    continue
                try:
                    chunk = waiting.result()
                except StopAsyncIteration:
                    break
                waiting = None
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            if waiting is not None:
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def gone(receive: Receive) -> None:
    """Returns when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
