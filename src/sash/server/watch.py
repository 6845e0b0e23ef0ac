"""Every request gets an id, a line in the log and its place in the numbers; nothing escapes as a traceback."""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sash.server.fault import internal
from sash.server.logs import LOGGER, REQUEST, say
from sash.server.metrics import Metrics

GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
QUIET = frozenset({"/health/liveness", "/health/readiness", "/metrics"})
"""Asked every few seconds by machines; told in the log only when something is wrong."""


class Watch:
    """Stands outermost."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and note how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request = given if GIVEN_ID.fullmatch(given) else f"req_{secrets.token_hex(12)}"
        token = REQUEST.set(request)
        started = time.perf_counter()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.setdefault("x-request-id", request)
            await send(message)

        self._metrics.in_flight.add()
        try:
            await self.app(scope, receive, sending)
        except Exception:
            LOGGER.exception("failed", extra={"fields": {"method": scope["method"], "route": _route(scope)}})
            if status:
                # Half an answer is out; only a broken connection tells the client that the rest is missing.
                raise
            await internal().response()(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - started
            self._note(scope, status, seconds)
            REQUEST.reset(token)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        # A client that was gone before an answer began has no status; web servers call that 499.
        status = status or 499
        self._metrics.in_flight.add(by=-1)
        self._metrics.requests.add(scope["method"] if route else "OTHER", route, str(status))
        self._metrics.seconds.take(seconds, route)
        level = logging.ERROR if status >= 500 else logging.DEBUG if scope["path"] in QUIET else logging.INFO
        say("request", level=level, method=scope["method"], route=route, status=status, ms=round(seconds * 1000, 2))


def _route(scope: Scope) -> str:
    """The route's own words, not the address: ids and names in it are the client's."""
    route: str = scope.get("sash.route", "")
    return route
