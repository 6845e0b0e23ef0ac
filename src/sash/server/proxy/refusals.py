"""What a client is told when we cannot do what it asked: in the shape of the route that it called."""

from __future__ import annotations

from typing import Any

import msgspec

from sash.errors import BodyTooLarge, InvalidMessage, InvalidRequest, SashError, WindowOverflow
from sash.server.proxy.headers import Raw
from sash.wire import wire_named

_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Refusal(Exception):
    """An answer of ours that is an error."""

    def __init__(self, status: int, message: str, *, code: str = "", param: str | None = None) -> None:
        self.status, self.message, self.code, self.param = status, message, code, param
        super().__init__(message)

    def body(self, wire: str) -> bytes:
        """Its JSON, as the SDK of that wire reads it."""
        if wire == "anthropic":
            return msgspec.json.encode({"type": "error", "error": self._anthropic()})
        return msgspec.json.encode({"error": self._openai()})

    def frame(self, wire: str) -> bytes:
        """The same in the middle of a stream."""
        if wire == "anthropic":
            told: dict[str, Any] = {"type": "error", "error": self._anthropic()}
            return b"event: error\ndata: " + msgspec.json.encode(told) + b"\n\n"
        told = {"error": self._openai()}
        if wire == "openai-responses":
            # Both spellings: the SDK raises on `error`, others read the event's own fields.
            told = {"type": "error", "code": self.code or None, "message": self.message, "param": self.param, **told}
            return b"event: error\ndata: " + msgspec.json.encode(told) + b"\n\n"
        return b"data: " + msgspec.json.encode(told) + b"\n\n"

    def headers(self) -> list[Raw]:
        """What an answer with it is sent with."""
        return [(b"content-type", b"application/json")]

    def _anthropic(self) -> dict[str, Any]:
        return {"type": _ANTHROPIC_TYPES.get(self.status, "api_error"), "message": self.message}

    def _openai(self) -> dict[str, Any]:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"message": self.message, "type": kind, "param": self.param, "code": self.code or None}


def refusal_of(error: SashError, wire: str) -> Refusal:
    """An error of ours as an answer. An overflow is worded as the provider would, so that agents recognise it."""
    match error:
        case WindowOverflow():
            if wire == "anthropic":
                told = f"prompt is too long: {error.tokens.value} tokens > {error.window - error.reserve} maximum"
            else:
                told = f"This model's maximum context length is {error.window} tokens"
            return Refusal(400, f"{told} ({error})", code="context_length_exceeded", param="messages")
        case BodyTooLarge():
            return Refusal(413, str(error), code="request_too_large")
        case InvalidMessage():
            return Refusal(400, str(error), code="invalid_value", param=_place(error, wire) or None)
        case InvalidRequest():
            return Refusal(400, str(error), code="invalid_value")
    return Refusal(500, f"sash could not fit this request: {error}", code="internal_error")


def _place(error: InvalidMessage, wire: str) -> str:
    """Where in the body it stands: `messages[3].role`."""
    if error.position is None:
        return error.field
    inside = f".{error.field}" if error.field and error.field[0] != "[" else error.field
    return f"{wire_named(wire).MESSAGES}[{error.position}]{inside}"
