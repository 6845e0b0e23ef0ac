"""The description of the API, made from the table of routes: what is in it is what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from sash.server.camel import camelled_schema
from sash.server.fault import STATUS, Code, ErrorAnswer
from sash.server.route import MEDIA_TYPES, Route
from sash.version import __version__

REFERENCE = "#/components/schemas/{name}"
IN_BRACES = re.compile(r"\{(\w+)(?::\w+)?\}")

ALWAYS: tuple[Code, ...] = ("INVALID_ARGUMENT", "FORBIDDEN", "INTERNAL")
"""What any route may answer."""
MEANT: dict[Code, str] = {
    "INVALID_ARGUMENT": "something in the request is not as it has to be",
    "UNAUTHORIZED": "no key, or one that lets nobody in",
    "FORBIDDEN": "called by a foreign name or from a foreign page",
    "NOT_FOUND": "there is no such thing, or it is not yours",
    "CONFLICT": "the thread is busy or has moved on; `x-should-retry: false`",
    "TIMEOUT": "the provider took too long",
    "UPSTREAM_UNAVAILABLE": "the provider or the store cannot be used right now",
    "INTERNAL": "something broke inside the server",
}
MORE_STATUS: dict[Code, tuple[int, ...]] = {"INVALID_ARGUMENT": (413, 415)}
"""Other numbers under which a code is told."""

NAMED = {
    "thread": "The thread's id.",
    "turn": "The turn's id.",
    "number": "The turn's number in its thread.",
    "handle": "What stands in a shortened text, as in `12.0`.",
}


def described(routes: Iterable[Route]) -> dict[str, Any]:
    """The whole description, OpenAPI 3.1."""
    routes = [route for route in routes if route.tag]
    kinds: dict[Any, None] = {ErrorAnswer: None}
    for route in routes:
        for kind in (route.body, route.answer):
            if kind is not None:
                kinds[kind] = None
    schemas, components = msgspec.json.schema_components(tuple(kinds), ref_template=REFERENCE)
    schema_of = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(IN_BRACES.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sash",
            "version": __version__,
            "description": "Threads that stay inside their budget. Errors are `{error: {code, message, details}}`.",
        },
        "paths": paths,
        "components": {
            "schemas": camelled_schema(components),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "A key from `sash key new`."}
            },
        },
    }


def _operation(route: Route, schema_of: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.says,
        "tags": [route.tag],
        "responses": _responses(route, schema_of),
        # Either none (a server that asks for no key) or a key.
        "security": [] if route.open else [{}, {"key": []}],
    }
    parameters = [*_in_path(route), *_in_query(route)]
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {
            "required": not route.optional_body,
            "content": {"application/json": {"schema": schema_of[route.body]}},
        }
    return operation


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": NAMED.get(name, ""),
            "schema": {"type": "integer", "minimum": 0} if name == "number" else {"type": "string", "minLength": 1},
        }
        for name in IN_BRACES.findall(route.path)
    ]


def _in_query(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    schema = msgspec.json.schema_components((route.query,), ref_template=REFERENCE)[1][route.query.__name__]
    wanted = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": "query",
            "required": name in wanted,
            "description": of.get("description", ""),
            "schema": {key: value for key, value in of.items() if key != "description"},
        }
        for name, of in schema["properties"].items()
    ]


def _responses(route: Route, schema_of: dict[Any, Any]) -> dict[str, Any]:
    content = {
        MEDIA_TYPES[media]: {"schema": schema_of[route.answer]} if media == "json" and route.answer is not None else {}
        for media in route.media
    }
    responses: dict[str, Any] = {
        str(route.status): {"description": route.says} | ({"content": content} if content else {})
    }
    error = {"application/json": {"schema": schema_of[ErrorAnswer]}}
    if route.dialect != "sash":
        error = {"application/json": {"schema": {"type": "object"}}}
    codes = [*ALWAYS, *route.faults, *(() if route.open else ("UNAUTHORIZED",))]
    for code in dict.fromkeys(codes):
        for status in (STATUS[code], *MORE_STATUS.get(code, ())):
            responses.setdefault(str(status), {"description": MEANT[code], "content": error})
    return dict(sorted(responses.items()))
