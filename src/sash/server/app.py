"""The application: the table of routes, made into something that answers HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as StarletteRoute
from starlette.staticfiles import StaticFiles

from sash.errors import SashError
from sash.server import acting, carrying, health, looking, summaries, threads, turns
from sash.server.backend import Backend
from sash.server.body import decoded, query_of, read_body
from sash.server.camel import camelled
from sash.server.dialect import told_as
from sash.server.fault import Fault, fault_of
from sash.server.guard import Guard
from sash.server.keys import shown_key
from sash.server.openapi import described
from sash.server.proxy.table import ROUTES as PROXY_ROUTES
from sash.server.reserved import Reserved
from sash.server.route import Asked, Route
from sash.server.setup import ServerSetup
from sash.server.watch import Watch
from sash.store import Store

PAGE = Path(__file__).parent / "page"


def every_route() -> tuple[Route, ...]:
    """The API, all of it."""
    return (*our_routes(), *PROXY_ROUTES)


def our_routes() -> tuple[Route, ...]:
    """Without what is passed on to providers."""
    return (
        *threads.ROUTES,
        *turns.ROUTES,
        *looking.ROUTES,
        *acting.ROUTES,
        *summaries.ROUTES,
        *carrying.ROUTES,
        *health.ROUTES,
        DESCRIPTION,
    )


def application(setup: ServerSetup | None = None, *, store: Store | None = None) -> Starlette:
    """The server as an ASGI application; its `state.backend` is what the routes work on."""
    backend = Backend(setup or ServerSetup(), store)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001 - starlette's signature
        async with backend.running():
            yield

    app = Starlette(
        routes=_routes(backend),
        lifespan=lifespan,
        middleware=[
            Middleware(Watch, metrics=backend.metrics),
            Middleware(Guard, setup=backend.setup),
        ],
        exception_handlers={HTTPException: _not_routed},
    )
    app.state.backend = backend
    return app


def _routes(backend: Backend) -> list[BaseRoute]:
    answered = _made(backend, every_route())
    made: list[BaseRoute] = [*answered, Reserved(answered)]
    if PAGE.is_dir():
        made.append(Mount("/", app=StaticFiles(directory=PAGE, html=True)))
    return made


def _made(backend: Backend, routes: Sequence[Route]) -> list[StarletteRoute]:
    return [StarletteRoute(route.path, _Answering(backend, route), methods=[route.method]) for route in routes]


class _Answering:
    """A route as starlette runs it."""

    def __init__(self, backend: Backend, route: Route) -> None:
        self._backend, self._route = backend, route

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["sash.route"] = self._route.path
        request = Request(scope, receive, send)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        route = self._route
        try:
            answer = await route.run(await self._read(request))
        except Fault as fault:
            return told_as(route.dialect, fault)
        except SashError as error:
            return told_as(route.dialect, fault_of(error))
        if isinstance(answer, Response):
            return answer
        body = b"" if answer is None else msgspec.json.encode(camelled(answer))
        return Response(body, route.status, {"cache-control": "no-store"}, "application/json" if body else None)

    async def _read(self, request: Request) -> Asked[Any, Any]:
        route, backend = self._route, self._backend
        tenant = "" if route.open else await tenant_of(backend, request)
        body = None
        if route.body is not None:
            raw = await read_body(request, backend.setup.max_body_bytes)
            if raw or not route.optional_body:
                _is_json(request)
                body = decoded(raw, route.body)
            else:
                body = route.body()
        query = None if route.query is None else query_of(request, route.query)
        return Asked(request, backend, tenant, body, query)


async def tenant_of(backend: Backend, request: Request) -> str:
    """As whom a request comes in."""
    key = shown_key(request.headers)
    if key is None:
        if backend.setup.require_key:
            raise Fault("UNAUTHORIZED", "show a key: `Authorization: Bearer sash_...`", headers=_CHALLENGE)
        return ""
    tenant = backend.doorkeeper.remembered(key)
    if tenant is None:
        tenant = await backend.call(lambda: backend.doorkeeper.tenant_of(key))
    if tenant is None:
        raise Fault("UNAUTHORIZED", "this key lets nobody in", headers=_CHALLENGE)
    return tenant


_CHALLENGE = {"www-authenticate": "Bearer"}


def _is_json(request: Request) -> None:
    """A page of somebody else can send text without asking, but not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise Fault("INVALID_ARGUMENT", "send the body as `content-type: application/json`", status=415)


async def _not_routed(request: Request, error: Exception) -> Response:
    """No route, or not by this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return Fault("NOT_FOUND", "there is nothing at this address; see /openapi.json").response()
    headers = dict(error.headers or {})
    message = f"{request.method} is not what this address answers; see /openapi.json"
    return Fault("INVALID_ARGUMENT", message, status=error.status_code, headers=headers).response()


async def description(asked: Asked[None, None]) -> dict[str, Any]:  # noqa: ARG001 - as every route
    """This description."""
    return described(every_route())


DESCRIPTION = Route(
    method="GET", path="/openapi.json", run=description, tag="operations", open=True, answer=dict[str, Any],
    says="This description of the API.",
)  # fmt: skip
