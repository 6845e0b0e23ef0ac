"""
A provider, proxies in front of it and a client, for measuring what a proxy adds: each in a process of its own.

The client speaks HTTP over bare connections that stay open, so that little of what is measured is its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import msgspec

ANSWER = json.dumps(
    {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Well. " * 40}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4},
    }
).encode()
FRAMES = 20
STARTS_WITHIN_SECONDS = 300.0


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    told = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}
    return b"data: " + json.dumps(told).encode() + b"\n\n"


STREAM = [
    _chunk({"role": "assistant", "content": ""}),
    *[_chunk({"content": "word "})] * FRAMES,
    _chunk({}, "stop"),
    b"data: [DONE]\n\n",
]


class Provider(asyncio.Protocol):
    """Answers every request at once, with the same answer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._held, self._wanted = transport, bytearray(), -1

    def data_received(self, data: bytes) -> None:
        """Wait for all of a request, then answer it."""
        self._held += data
        while True:
            if self._wanted < 0:
                end = self._held.find(b"\r\n\r\n")
                if end < 0:
                    return
                head = bytes(self._held[:end]).lower()
                at = head.find(b"content-length:")
                length = int(head[at + 15 :].split(b"\r\n")[0]) if at >= 0 else 0
                self._wanted = end + 4 + length
            if len(self._held) < self._wanted:
                return
            streams = b'"stream":true' in self._held[self._wanted - 60 : self._wanted].replace(b" ", b"")
            del self._held[: self._wanted]
            self._wanted = -1
            self._answer(streams)

    def _answer(self, streams: bool) -> None:
        if not streams:
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER)
            self._transport.write(head + ANSWER)
            return
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        parts = [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in STREAM]
        self._transport.write(head + parts[0])
        loop = asyncio.get_running_loop()
        loop.call_later(0.001, lambda: self._transport.write(b"".join(parts[1:]) + b"0\r\n\r\n"))


async def _provide(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", port)
    await server.serve_forever()


class Proxied(msgspec.Struct, frozen=True, kw_only=True):
    """Something to send requests to."""

    name: str
    port: int
    path: str = "/v1/chat/completions"
    key: str = "sk-bench"
    pid: int = 0


@contextmanager
def provider() -> Iterator[Proxied]:
    """The provider itself: what the others are held against."""
    with _started("the provider", [sys.executable, "-m", "bench.wired", "{port}"]) as running:
        yield running


@contextmanager
def sash_proxy(upstream: Proxied) -> Iterator[Proxied]:
    """`sash serve`, one process."""
    command = [sys.executable, "-m", "sash", "serve", "--port", "{port}", "--store", "memory:", "--log-level", "error"]
    with _started("sash", [*command, "--upstream-openai", f"http://127.0.0.1:{upstream.port}/v1"]) as running:
        yield running


@contextmanager
def litellm_proxy(upstream: Proxied) -> Iterator[Proxied]:
    """
    LiteLLM's proxy, one process, without a database.

    What it needs cannot be installed together with the other peers (the resolver goes back to a version of years ago),
    so `SASH_BENCH_LITELLM` names the program `litellm` of an environment of its own: `make bench-peers` makes one.
    """
    params = {"model": "openai/gpt-4o", "api_base": f"http://127.0.0.1:{upstream.port}/v1", "api_key": "sk-bench"}
    config = {
        "model_list": [{"model_name": "gpt-4o", "litellm_params": params}],
        "litellm_settings": {"telemetry": False, "num_retries": 0},
    }
    with tempfile.TemporaryDirectory() as folder:
        # YAML takes JSON as it is.
        path = Path(folder, "config.yaml")
        path.write_text(json.dumps(config))
        program = os.environ.get("SASH_BENCH_LITELLM") or str(Path(sys.executable).parent / "litellm")
        command = [program, "--config", str(path), "--port", "{port}"]
        with _started("litellm", [*command, "--host", "127.0.0.1"]) as running:
            yield running


@contextmanager
def _started(name: str, command: list[str]) -> Iterator[Proxied]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "LITELLM_LOG": "ERROR",
        # It asks for no key, as sash on this machine does not.
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    process = subprocess.Popen(
        [part.format(port=port) for part in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=Path(__file__).parents[1],
    )
    try:
        deadline = time.monotonic() + STARTS_WITHIN_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{name} did not start") from None
                time.sleep(0.1)
        yield Proxied(name=name, port=port, pid=process.pid)
    finally:
        process.terminate()
        process.wait(20)


class Line:
    """One connection that stays open."""

    def __init__(self, to: Proxied) -> None:
        self._to = to
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, body: bytes) -> tuple[float, float]:
        """Seconds until the first byte of the answer's body, and until its last."""
        if self._writer is not None and self._reader is not None and self._reader.at_eof():
            # It was idle for longer than a server keeps it, because another one took so long.
            self._writer.close()
            self._writer = None
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._to.port, limit=1 << 24)
        assert self._reader is not None
        head = (
            f"POST {self._to.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {self._to.key}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        begun = time.perf_counter()
        self._writer.write(head.encode() + body)
        told = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if not told.startswith(b"http/1.1 200"):
            raise RuntimeError(f"{self._to.name} answered {told.split(bytes([13]))[0].decode()}")
        if b"transfer-encoding: chunked" in told:
            first = 0.0
            while True:
                size = int(await self._reader.readline(), 16)
                await self._reader.readexactly(size + 2)
                first = first or time.perf_counter() - begun
                if not size:
                    return first, time.perf_counter() - begun
        length = int(told.split(b"content-length:")[1].split(b"\r\n")[0])
        await self._reader.readexactly(length)
        taken = time.perf_counter() - begun
        return taken, taken

    def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            self._writer.close()


class Spread(msgspec.Struct, frozen=True):
    """Times of one kind of request, in milliseconds."""

    p50: float
    p99: float


def spread(seconds: list[float]) -> Spread:
    """The usual and the slow."""
    return Spread(median(seconds) * 1_000, quantiles(seconds, n=100)[98] * 1_000)


def history(size: int, last: int) -> list[dict[str, Any]]:
    """Turns of about so many bytes of JSON; the last question differs."""
    said: list[dict[str, Any]] = []
    taken, number = 0, 0
    while taken < size:
        said.append({"role": "user", "content": f"Question {number}: what did the lighthouse keeper write that day?"})
        said.append(
            {"role": "assistant", "content": f"On day {number} he wrote: " + "the sea was calm and grey. " * 12}
        )
        taken, number = taken + 480, number + 1
    return [*said, {"role": "user", "content": f"And what on day {last}?"}]


def resident_megabytes(pid: int) -> float:
    """Memory of a process that is really there; of its children too."""
    total = 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if int(fields["Pid"]) == pid or int(fields["PPid"]) == pid:
            total += int(fields.get("VmRSS", "0 kB").split()[0]) / 1_000
    return total


def processor_seconds(pid: int) -> float:
    """Time that a process has had of the processor: it says more than the clock on a busy machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    asyncio.run(_provide(int(sys.argv[1])))
