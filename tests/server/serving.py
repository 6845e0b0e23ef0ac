"""A real server on a port of its own, for tests that call it over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn

from sash.server.app import application
from sash.server.backend import Backend
from sash.server.serving import _Server, address_of, bind
from sash.server.setup import ServerSetup
from sash.store import Store


class Running:
    """A server that answers, and a client that calls it."""

    def __init__(self, url: str, backend: Backend, client: httpx2.Client, server: uvicorn.Server) -> None:
        self.url, self.backend, self.client = url, backend, client
        self._server = server

    def stop(self) -> None:
        """Tell it to stop, as SIGTERM does; it goes when it is done."""
        self._server.should_exit = True

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        """Call it with JSON."""
        if body is not None:
            more["json"] = body
        return self.client.request(method, path, **more)

    def get(self, path: str, **more: Any) -> Any:
        """The JSON of an answer that is well."""
        response = self.ask("GET", path, **more)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: Any = None, *, status: int = 200, **more: Any) -> Any:
        """Likewise."""
        response = self.ask("POST", path, {} if body is None else body, **more)
        assert response.status_code == status, response.text
        return response.json()


@contextmanager
def running(setup: ServerSetup | None = None, *, store: Store | None = None) -> Iterator[Running]:
    """Start one in a thread of this process; ended in order when the test is over."""
    setup = setup or ServerSetup(port=0, store="memory:", drain_seconds=1.0)
    app = application(setup, store=store)
    backend: Backend = app.state.backend
    ready = threading.Event()
    backend.when_running = ready.set
    listening = bind(setup)
    server = _Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"), backend)
    thread = threading.Thread(target=server.run, args=([listening],), name="server")
    thread.start()
    try:
        assert ready.wait(20), "the server did not start"
        url = address_of(setup, listening)
        with httpx2.Client(base_url=url, timeout=30) as client:
            yield Running(url, backend, client, server)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive(), "the server did not end"
