"""A provider that does as it is told: real HTTP on loopback, every fault of a real one."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Literal, NamedTuple

Ending = Literal["close", "reset", "torn", "stall"]
"""How an answer ends: as it should; with a reset; in the middle of a chunk; not at all."""


class Reply(NamedTuple):
    """What the next request is answered with."""

    chunks: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = {"content-type": "text/event-stream"}
    ending: Ending = "close"
    gap_seconds: float = 0.0
    """Between two chunks."""


class Asked(NamedTuple):
    """A request that came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Script = Sequence[Reply] | Callable[[Asked], Reply]


class Upstream:
    """A server that answers one reply after the other, the last one again and again."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.hung_up = Event()
        """The client closed its connection while it was being answered."""
        self.url = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError):
                asked = await self._read(reader)
                self.asked.append(asked)
                reply = self.script(asked) if callable(self.script) else self._next(self.script)
                try:
                    await self._answer(reply, reader, writer)
                except ConnectionError:
                    # It left without reading what was sent.
                    self.hung_up.set()
        finally:
            writer.close()

    def _next(self, script: Sequence[Reply]) -> Reply:
        return script[min(len(self.asked), len(script)) - 1]

    async def _read(self, reader: asyncio.StreamReader) -> Asked:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Asked(first.split(" ")[1], headers, body)

    async def _answer(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if reply.ending == "reset" and not reply.chunks:
            return _reset(writer)
        told = {"transfer-encoding": "chunked", "connection": "close", **reply.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        writer.write(f"HTTP/1.1 {reply.status} Told\r\n{head}\r\n".encode("latin-1"))
        gone = asyncio.ensure_future(reader.read(1))
        for chunk in reply.chunks:
            if reply.gap_seconds:
                await asyncio.wait({gone}, timeout=reply.gap_seconds)
            if gone.done():
                self.hung_up.set()
                return None
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()
        if reply.ending == "stall":
            await gone
            self.hung_up.set()
        elif reply.ending == "reset":
            await asyncio.sleep(0.02)  # What was sent has to arrive before it.
            _reset(writer)
        elif reply.ending == "torn":
            writer.write(b"400\r\nhalf of it")
            await writer.drain()
        else:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        gone.cancel()
        return None


def _reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection so that the other side sees a reset and not an end."""
    made: socket.socket = writer.get_extra_info("socket")
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def upstream(*replies: Reply, script: Callable[[Asked], Reply] | None = None) -> Iterator[Upstream]:
    """A provider on a port of its own for as long as the block runs."""
    served = Upstream(script or replies)
    loop = asyncio.new_event_loop()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(served._serve, "127.0.0.1", 0, limit=1 << 24)

    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _stop(server: asyncio.Server) -> None:
    server.close()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0.01)  # Closing a transport takes a turn of the loop.


def sse(*events: Any, name: bool = False) -> tuple[bytes, ...]:
    """Events as a provider streams them: JSON, with their type as their name where asked; text as it stands."""
    told = []
    for event in events:
        said = event if isinstance(event, str) else json.dumps(event)
        named = f"event: {event['type']}\n" if name and isinstance(event, dict) else ""
        told.append(f"{named}data: {said}\n\n".encode())
    return tuple(told)


def openai_stream(*texts: str, usage: Any = "usual", finish: str | None = "stop") -> tuple[bytes, ...]:
    """An answer on OpenAI's chat wire."""
    reported = {"prompt_tokens": 12, "completion_tokens": len(texts), "total_tokens": 12 + len(texts)}
    chunks: list[Any] = [_chunk({"role": "assistant", "content": ""})]
    chunks += [_chunk({"content": text}) for text in texts]
    chunks.append(_chunk({}, finish))
    if usage is not None:
        chunks.append({**_chunk({}), "choices": [], "usage": reported if usage == "usual" else usage})
    return sse(*chunks, "[DONE]")


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "upstream-1",
        "choices": [choice],
    }


def anthropic_stream(*texts: str, stop: str = "end_turn", usage: Any = "usual") -> tuple[bytes, ...]:
    """An answer on Anthropic's wire."""
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    return anthropic_events(
        block,
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts),
        {"type": "content_block_stop", "index": 0},
        stop=stop,
        usage=usage,
    )


def anthropic_events(*blocks: dict[str, Any], stop: str = "end_turn", usage: Any = "usual") -> tuple[bytes, ...]:
    """An answer of any blocks on Anthropic's wire."""
    first: Any = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 2}
    last: Any = {"output_tokens": 5}
    if usage != "usual":
        first, last = usage or {}, usage or {}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "upstream-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": first,
    }
    return sse(
        {"type": "message_start", "message": message},
        {"type": "ping"},
        *blocks,
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": last},
        {"type": "message_stop"},
        name=True,
    )


JSON = {"content-type": "application/json"}


def refused(status: int, message: str = "no", *, kind: str = "error", **headers: str) -> Reply:
    """A refusal in the shape that both wires have."""
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    return Reply((body,), status, {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}})
