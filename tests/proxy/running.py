"""A proxy that runs on a free port, in front of a scripted upstream."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn

from sash.server.app import application
from sash.server.proxy import Passed, Proxy, ProxySetup, Upstreams
from sash.server.setup import ServerSetup
from tests.proxy.upstream import ScriptedUpstream


class Served:
    """A running proxy."""

    def __init__(self, proxy: Proxy, port: int, passed: list[Passed]) -> None:
        self.proxy, self.port, self.passed = proxy, port, passed
        # One for all requests: making a client reads the machine's certificates, which takes longer than a request.
        self.client = httpx2.Client(timeout=30, verify=False, limits=httpx2.Limits(max_keepalive_connections=0))

    def told(self, number: int = 1) -> list[Passed]:
        """So many exchanges, once they are over: their end comes a moment after their answer."""
        deadline = time.monotonic() + 60
        while len(self.passed) < number:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return self.passed

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, path: str, body: bytes, **headers: str) -> httpx2.Response:
        given = {
            "content-type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.client.post(self.url + path, content=body, headers=given)


@contextmanager
def served(setup: ProxySetup, **shelves: Any) -> Iterator[Served]:
    """The server as it is shipped, with this proxy in it."""
    passed: list[Passed] = []
    app = application(ServerSetup(port=0, store="memory:", provider="echo", proxy=setup, drain_seconds=1.0))
    proxy = app.state.backend.proxy = Proxy(setup, on_passed=passed.append, **shelves)
    config = uvicorn.Config(app, port=0, log_level="error", ws="none", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    running = Served(proxy, port, passed)
    try:
        yield running
    finally:
        running.client.close()
        server.should_exit = True
        thread.join(10)


def setup_for(upstream: ScriptedUpstream, **changes: Any) -> ProxySetup:
    """A proxy in front of it, with little patience."""
    addresses = Upstreams(openai=upstream.openai, anthropic=upstream.anthropic)
    usual = {"upstreams": addresses, "connect_seconds": 2.0, "longest_wait_seconds": 1.0}
    return ProxySetup(**{**usual, **changes})
