"""Errors in the form that the caller's own client understands."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from sash.server.fault import Code, Fault
from sash.server.logs import REQUEST
from sash.server.route import Dialect

_ANTHROPIC: dict[Code, str] = {
    "INVALID_ARGUMENT": "invalid_request_error",
    "UNAUTHORIZED": "authentication_error",
    "FORBIDDEN": "permission_error",
    "NOT_FOUND": "not_found_error",
    "CONFLICT": "invalid_request_error",
    "TIMEOUT": "timeout_error",
    "UPSTREAM_UNAVAILABLE": "api_error",
    "INTERNAL": "api_error",
}
_OPENAI: dict[Code, str] = {
    "INVALID_ARGUMENT": "invalid_request_error",
    "UNAUTHORIZED": "invalid_request_error",
    "FORBIDDEN": "invalid_request_error",
    "NOT_FOUND": "invalid_request_error",
    "CONFLICT": "invalid_request_error",
    "TIMEOUT": "server_error",
    "UPSTREAM_UNAVAILABLE": "server_error",
    "INTERNAL": "server_error",
}


def told_as(dialect: Dialect, fault: Fault) -> Response:
    """A fault as a response in the dialect of the route that was called."""
    if dialect == "sash":
        return fault.response()
    body: dict[str, object]
    request = REQUEST.get("")
    if dialect == "anthropic":
        kind = "request_too_large" if fault.status == 413 else _ANTHROPIC[fault.code]
        body = {"type": "error", "error": {"type": kind, "message": fault.message}, "request_id": request}
        extra = {"request-id": request}
    else:
        code = fault.details.get("code", fault.code.lower())
        error = {
            "message": fault.message,
            "type": _OPENAI[fault.code],
            "param": fault.details.get("field"),
            "code": code,
        }
        body, extra = {"error": error}, {}
    return Response(msgspec.json.encode(body), fault.status, {**extra, **fault.headers}, "application/json")
