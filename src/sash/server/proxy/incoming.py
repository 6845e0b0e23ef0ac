"""A client's request as it came, read with a limit on everything it could grow by."""

from __future__ import annotations

from time import perf_counter
from urllib.parse import unquote

import msgspec
from starlette.types import Receive, Scope

from sash.server.packed import Unpackable, unpacked
from sash.server.proxy.headers import Raw, value_of
from sash.server.proxy.refusals import Refusal


class Gone(Exception):
    """The client left before it had said everything."""


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asked."""

    method: str
    path: str
    """As it came, still percent-encoded."""
    query: bytes
    headers: tuple[Raw, ...]
    """Names in lower case."""
    body: bytes = b""
    """As it came."""
    plain: bytes = b""
    """The same, decompressed."""
    at: float
    """When all of it was here, by a clock that only measures."""

    def header(self, name: str) -> str:
        """A header's value; empty where it is missing."""
        return value_of(self.headers, name.encode())


def incoming(scope: Scope) -> Incoming:
    """A request of which only the head was read."""
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    if any(part in (".", "..") for part in unquote(path).replace("\\", "/").split("/")):
        raise Refusal(400, "the path leads out of the API; send it without `..`", code="invalid_path")
    return Incoming(
        method=scope["method"],
        path=path,
        query=scope["query_string"],
        headers=tuple(scope["headers"]),
        at=perf_counter(),
    )


async def read_body(asked: Incoming, receive: Receive, limit: int) -> Incoming:
    """The request with its body."""
    length = asked.header("content-length")
    if length.isdigit() and int(length) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Gone
        part = event.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
        more = event.get("more_body", False)
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    try:
        plain = unpacked(body, asked.header("content-encoding"), limit)
    except Unpackable as error:
        raise Refusal(error.status, error.message) from None
    if len(plain) > limit:
        raise _too_large(limit)
    return msgspec.structs.replace(asked, body=body, plain=plain, at=perf_counter())


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"the body has more than {limit:,} bytes", code="request_too_large")
