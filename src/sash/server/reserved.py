"""Addresses that are ours: what we do not answer there is not passed on to a provider, whose API may have the same."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from sash.server.fault import Fault
from sash.server.proxy.table import OWN

OURS = tuple(f"/v1/{name}" for name in OWN)


class Reserved(BaseRoute):
    """Stands behind all routes and before the page, which would answer whatever is left."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = tuple(routes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whatever is ours."""
        path: str = scope["path"]
        ours = scope["type"] == "http" and any(path == one or path.startswith(f"{one}/") for one in OURS)
        return (Match.FULL, {}) if ours else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Nothing is here, or not by this method."""
        known = any(route.matches(scope)[0] is Match.PARTIAL for route in self._routes)
        fault = Fault("NOT_FOUND", "there is nothing at this address; see /openapi.json")
        if known:
            message = f"{scope['method']} is not what this address answers; see /openapi.json"
            fault = Fault("INVALID_ARGUMENT", message, status=405)
        await fault.response()(scope, receive, send)
