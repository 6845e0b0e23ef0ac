"""What a client is told when something goes wrong: one code, one sentence, and what a program wants to know."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from starlette.responses import Response

from sash import errors
from sash.server.camel import camel

Code = Literal[
    "INVALID_ARGUMENT",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "CONFLICT",
    "TIMEOUT",
    "UPSTREAM_UNAVAILABLE",
    "INTERNAL",
]

STATUS: dict[Code, int] = {
    "INVALID_ARGUMENT": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "TIMEOUT": 504,
    "UPSTREAM_UNAVAILABLE": 503,
    "INTERNAL": 500,
}


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The inside of an error."""

    code: Code
    message: str
    details: dict[str, Any]


class ErrorAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How every error of the API looks."""

    error: Told


class Fault(Exception):
    """Ends a request with an error that the client is told."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code: Code = code
        self.message = message
        self.status = STATUS[code] if status is None else status
        self.details = dict(details or {})
        self.headers = dict(headers or {})
        super().__init__(message)

    @property
    def told(self) -> Told:
        """As it stands in an answer or an event."""
        return Told(code=self.code, message=self.message, details=self.details)

    def response(self) -> Response:
        """As the API answers it."""
        body = msgspec.json.encode(ErrorAnswer(error=self.told))
        return Response(body, self.status, {**self.headers, "cache-control": "no-store"}, "application/json")


_CODES: tuple[tuple[type[errors.SashError], Code, int | None], ...] = (
    (errors.NotFound, "NOT_FOUND", None),
    (errors.UnknownHandle, "NOT_FOUND", None),
    (errors.Conflict, "CONFLICT", None),
    (errors.KeyReused, "CONFLICT", None),
    (errors.ThreadBusy, "CONFLICT", None),
    (errors.ThreadExists, "CONFLICT", None),
    (errors.NothingToUndo, "CONFLICT", None),
    (errors.PinsFull, "CONFLICT", None),
    (errors.FactsFull, "INVALID_ARGUMENT", None),
    (errors.SummaryRejected, "CONFLICT", None),
    (errors.ThreadMoved, "CONFLICT", None),
    (errors.StoreBusy, "UPSTREAM_UNAVAILABLE", None),
    (errors.StoreUnavailable, "UPSTREAM_UNAVAILABLE", None),
    (errors.StoreFull, "UPSTREAM_UNAVAILABLE", None),
    (errors.StoreReadOnly, "UPSTREAM_UNAVAILABLE", None),
    (errors.InvalidArgument, "INVALID_ARGUMENT", None),
    (errors.InvalidMessage, "INVALID_ARGUMENT", None),
    (errors.InvalidPolicy, "INVALID_ARGUMENT", None),
    (errors.InvalidName, "INVALID_ARGUMENT", None),
    (errors.InvalidRequest, "INVALID_ARGUMENT", None),
    (errors.UnknownWire, "INVALID_ARGUMENT", None),
    (errors.UnknownCounter, "INVALID_ARGUMENT", None),
    (errors.WindowOverflow, "INVALID_ARGUMENT", 413),
    (errors.BodyTooLarge, "INVALID_ARGUMENT", 413),
    (errors.MissingExtra, "INVALID_ARGUMENT", 501),
)
"""The first that fits. What is not here is our own fault, and the client is told no more than that."""

_FIELD = re.compile(r"`(history_tokens|keep_share|recall_tokens|pin_tokens|facts_tokens)`")
"""What of a policy a client may set, as errors name it."""

# A conflict is for a person or an agent to decide: the SDKs' blind retry would only meet it again.
_DECIDED = {"x-should-retry": "false"}


def fault_of(error: errors.SashError) -> Fault:
    """An error of ours as the client sees it; what a store says of its own place stays here."""
    if isinstance(error, errors.ProviderError):
        return upstream_fault(error)
    for kind, code, status in _CODES:
        if isinstance(error, kind):
            message = _FIELD.sub(lambda field: camel(field[0]), str(error))
            if code == "UPSTREAM_UNAVAILABLE":
                message = "the store cannot be used right now"
            return Fault(
                code,
                message,
                status=status,
                details={"type": type(error).__name__},
                headers=_DECIDED if code == "CONFLICT" else None,
            )
    return internal()


def internal() -> Fault:
    """Something of ours broke; the log says what."""
    return Fault("INTERNAL", "something broke inside the server; its log says more, under this request's id")


def upstream_fault(error: errors.ProviderError) -> Fault:
    """One sentence of ours; what the provider wrote may hold anything, and stays in the error's own attributes."""
    kind = {"type": type(error).__name__}
    if isinstance(error, errors.RequestTooLong):
        return Fault("INVALID_ARGUMENT", "the provider's model cannot read that much", status=413, details=kind)
    if isinstance(error, errors.RequestRefused):
        return Fault("INVALID_ARGUMENT", str(error), details=kind)
    if isinstance(error, errors.KeyMissing | errors.KeyRefused):
        return Fault("UPSTREAM_UNAVAILABLE", "the server has no key that its provider takes", details=kind)
    if isinstance(error, errors.ProviderBusy):
        pause = error.retry_after_seconds
        headers = {} if pause is None else {"retry-after": str(math.ceil(pause))}
        return Fault("UPSTREAM_UNAVAILABLE", "the provider has too much to do", details=kind, headers=headers)
    if isinstance(error, errors.AnswerBroken):
        return Fault("UPSTREAM_UNAVAILABLE", "the provider's answer broke off or was none", details=kind)
    if isinstance(error, errors.ProviderSilent):
        return Fault("TIMEOUT", "the provider took too long", details=kind)
    return Fault("UPSTREAM_UNAVAILABLE", "the provider cannot be reached, or fails by itself", details=kind)
