"""The one table of routes: what is described is there, what is there is described."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route as StarletteRoute

from sash.server.app import application, every_route
from sash.server.openapi import IN_BRACES, described
from sash.server.route import Route
from sash.server.setup import ServerSetup
from tests.server.serving import Running

PAGE = Path(__file__).parents[2] / "docs" / "server.md"

each_route = pytest.mark.parametrize("route", every_route(), ids=lambda route: f"{route.method} {route.path}")


def plain(path: str) -> str:
    return IN_BRACES.sub(r"{\1}", path)


def test_the_server_answers_exactly_the_routes_of_the_table() -> None:
    app = application(ServerSetup(store="memory:"))
    served = {
        (method, route.path)
        for route in app.routes
        if isinstance(route, StarletteRoute)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert served == {(route.method, route.path) for route in every_route()}


def test_the_description_holds_exactly_the_routes_of_the_table(server: Running) -> None:
    paths: dict[str, dict[str, Any]] = server.get("/openapi.json")["paths"]
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == {
        (route.method, plain(route.path)) for route in every_route()
    }


def test_every_reference_in_the_description_leads_somewhere() -> None:
    text = str(described(every_route()))
    named = set(re.findall(r"#/components/schemas/([\w.-]+)", text))
    assert named <= set(described(every_route())["components"]["schemas"])


def test_no_two_operations_share_a_name() -> None:
    names = [route.name for route in every_route()]
    assert len(names) == len(set(names))


@each_route
def test_a_route_is_on_the_page(route: Route) -> None:
    assert f"`{route.method} {plain(route.path)}`" in PAGE.read_text(encoding="utf-8")


def test_the_page_names_no_route_that_is_not_there() -> None:
    named = re.findall(r"`(GET|POST|PATCH|PUT|DELETE) (/[^`\s?]*)`", PAGE.read_text(encoding="utf-8"))
    assert set(named) <= {(route.method, plain(route.path)) for route in every_route()}
