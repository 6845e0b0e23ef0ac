"""A server that is told to stop: what runs ends by itself where it can, and whoever came before is heard."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sash.providers import TextDelta
from sash.providers.events import Event
from sash.server.setup import ServerSetup
from sash.store import RunRow, open_store
from tests.server.serving import Running, running
from tests.server.speaking import Scripted, finished, slowly, using
from tests.server.test_turns import thread, until


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/sash.db"


def setup_for(store: str, *, drain_seconds: float) -> ServerSetup:
    return ServerSetup(port=0, store=store, provider="echo", drain_seconds=drain_seconds)


def in_background(server: Running, provider: Scripted) -> str:
    """A turn that has begun to answer, and that nobody follows; its id."""
    using(server, provider)
    asked = {"input": "a", "background": True}
    turn: str = server.post(f"/v1/threads/{thread(server)}/turns", asked, status=202)["turnId"]
    until(lambda: "Well" in server.get(f"/v1/turns/{turn}")["responseText"], "the first word")
    return turn


def left_behind(store: str, turn: str) -> RunRow:
    kept = open_store(store)
    try:
        return kept.run("", turn)
    finally:
        kept.close()


def test_a_turn_in_the_background_is_given_its_time_to_end(store: str) -> None:
    with running(setup_for(store, drain_seconds=60)) as server:

        async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
            yield TextDelta("Well, ")
            while not server.backend.draining:
                await asyncio.sleep(0.01)
            # Longer than a server takes to go that waits for its connections only.
            await asyncio.sleep(1)
            yield TextDelta("yes.")
            yield finished("Well, yes.")

        turn = in_background(server, Scripted(script))
        server.stop()
    run = left_behind(store, turn)
    assert (run.status, run.stop) == ("completed", "end_turn")


def test_a_turn_that_does_not_end_in_time_is_interrupted(store: str) -> None:
    with running(setup_for(store, drain_seconds=0.1)) as server:
        turn = in_background(server, Scripted(slowly))
        server.stop()
    run = left_behind(store, turn)
    assert (run.status, run.stop) == ("interrupted", "interrupted")


def test_who_came_while_the_server_was_busy_is_heard_although_it_stops(store: str) -> None:
    seen, busy, free = threading.Event(), threading.Event(), threading.Event()

    async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        yield TextDelta("Well, ")
        while not seen.is_set():
            await asyncio.sleep(0.01)
        # As a model that is being loaded: nothing else is done meanwhile.
        busy.set()
        assert free.wait(20)
        yield finished("Well, ")

    with running(setup_for(store, drain_seconds=60)) as server:
        turn = in_background(server, Scripted(script))
        place = server.client.base_url
        seen.set()
        assert busy.wait(20)
        with socket.create_connection((place.host, place.port or 0), timeout=20) as late:
            late.sendall(f"GET /v1/turns/{turn}/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
            server.stop()
            free.set()
            told = b""
            while part := late.recv(65536):
                told += part
    assert told.startswith(b"HTTP/1.1 200")
    assert b"turn_completed" in told
