"""Starting and stopping: one process or several, on one address, until somebody says stop."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from functools import partial

import uvicorn

from sash.errors import ServerRefused
from sash.server.app import application
from sash.server.backend import Backend
from sash.server.logs import log_to_stderr, say
from sash.server.setup import ServerSetup, refuse_open_door
from sash.server.workers import Workers

HEARD_SECONDS = 0.1
"""Before the doors close: for callers who came before, and were not heard while the process was busy."""
LAST_SECONDS = 5.0
"""After the drain: for answers that are being written."""


class _Server(uvicorn.Server):
    """A server that lets running turns end before it goes."""

    def __init__(self, config: uvicorn.Config, backend: Backend) -> None:
        super().__init__(config)
        self._backend = backend

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new work from here on; what runs gets its time."""
        say("draining", running=int(self._backend.metrics.running.value()))
        self._backend.draining = True
        drain = asyncio.create_task(self._backend.drain())
        # uvicorn waits for these beside its connections, and a turn in the background is on none.
        self.server_state.tasks.add(drain)
        drain.add_done_callback(self.server_state.tasks.discard)
        await asyncio.sleep(HEARD_SECONDS)
        await super().shutdown(sockets)


def serve(setup: ServerSetup, *, started: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; `started` is told the address once it can be called."""
    refuse_open_door(setup)
    listening = bind(setup)
    address = address_of(setup, listening)
    if setup.workers == 1:
        _work(setup, [listening], None if started is None else partial(started, address))
        return
    if started is not None:
        started(address)
    log_to_stderr(setup.log_level)
    Workers(partial(_work, setup), listening, setup.workers).run()


def bind(setup: ServerSetup) -> socket.socket:
    """The address, taken before anything else starts, so that a port in use is told at once."""
    family = socket.AF_INET6 if ":" in setup.host else socket.AF_INET
    # With its protocol named: asyncio sets TCP_NODELAY only then, and without it each answer waits 40 ms for an ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((setup.host.strip("[]"), setup.port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise ServerRefused(
            f"cannot listen on {setup.host!r}, port {setup.port}: {error.strerror}; choose another with --port"
        ) from None
    listening.set_inheritable(True)
    return listening


def address_of(setup: ServerSetup, listening: socket.socket) -> str:
    """Where to call it."""
    host = f"[{setup.host}]" if ":" in setup.host and not setup.host.startswith("[") else setup.host
    return f"http://{host}:{listening.getsockname()[1]}"


def _work(
    setup: ServerSetup,
    sockets: list[socket.socket] | None = None,
    started: Callable[[], None] | None = None,
) -> None:
    """One process' share."""
    log_to_stderr(setup.log_level)
    app = application(setup)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(setup.drain_seconds + LAST_SECONDS),
        h11_max_incomplete_event_size=65_536,
        lifespan="on",
    )
    server = _Server(config, app.state.backend)
    # uvicorn raises the signal again when all is done; a server that was told to stop and did ends with 0.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: None)
    if started is not None:
        app.state.backend.when_running = started
    server.run(sockets)
