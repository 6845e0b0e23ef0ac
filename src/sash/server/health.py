"""How the server is: for those who start it, stop it and watch it."""

from __future__ import annotations

from typing import Any, Literal

import anyio
import msgspec
from starlette.responses import Response

from sash.errors import SashError
from sash.server.route import Asked, Route, Shape
from sash.version import __version__

PROBE_SECONDS = 5.0


class Alive(Shape, frozen=True, kw_only=True):
    """It answers."""

    status: Literal["alive"] = "alive"
    version: str = __version__


class Ready(Shape, frozen=True, kw_only=True):
    """Whether it can do its work."""

    status: Literal["ready", "draining", "unavailable"]
    store: Literal["ok", "unavailable"]


class Backlog(Shape, frozen=True, kw_only=True):
    """What is under way."""

    in_flight_requests: int
    running_turns: int


async def liveness(asked: Asked[None, None]) -> Alive:  # noqa: ARG001 - as every route
    """The process answers; it may still be unable to reach its store."""
    return Alive()


async def readiness(asked: Asked[None, None]) -> Response:
    """Looks at the store: 503 while it cannot be used, or while the server drains."""
    backend = asked.backend
    store: Literal["ok", "unavailable"] = "unavailable"
    try:
        with anyio.fail_after(PROBE_SECONDS):
            await backend.call(lambda: backend.store.threads("", limit=1))
        store = "ok"
    except (SashError, TimeoutError):
        pass
    status: Literal["ready", "draining", "unavailable"] = "ready" if store == "ok" else "unavailable"
    if backend.draining:
        status = "draining"
    ready = Ready(status=status, store=store)
    return Response(msgspec.json.encode(ready), 200 if status == "ready" else 503, None, "application/json")


async def backlog(asked: Asked[None, None]) -> Backlog:
    """How much is under way: what a rolling restart waits for."""
    metrics = asked.backend.metrics
    # This very request is not part of it.
    return Backlog(in_flight_requests=int(metrics.in_flight.value()) - 1, running_turns=int(metrics.running.value()))


async def metrics(asked: Asked[None, None]) -> Response:
    """Numbers about the server, for Prometheus."""
    text = asked.backend.metrics.text()
    return Response(text, 200, None, "text/plain; version=0.0.4; charset=utf-8")


ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/health/liveness", run=liveness, tag="operations", open=True, answer=Alive,
          says="Whether the process answers."),
    Route(method="GET", path="/health/readiness", run=readiness, tag="operations", open=True, answer=Ready,
          says="Whether it can work: 503 while the store cannot be used or the server drains.",
          faults=("UPSTREAM_UNAVAILABLE",)),
    Route(method="GET", path="/health/backlog", run=backlog, tag="operations", open=True, answer=Backlog,
          says="What is under way."),
    Route(method="GET", path="/metrics", run=metrics, tag="operations", media=("text",), answer=Any,
          says="Numbers about the server, in the form that Prometheus reads."),
)  # fmt: skip
