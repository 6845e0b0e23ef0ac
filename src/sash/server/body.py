"""Reading what a client sends, with a limit on everything it could grow by."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from sash.server.fault import Fault
from sash.server.packed import Unpackable, unpacked
from sash.server.wrong import wrong

LONGEST_KEY = 255


def key_of(request: Request) -> str:
    """The idempotency key of a request; empty where it has none."""
    key: str = request.headers.get("idempotency-key", "")
    if len(key) > LONGEST_KEY:
        raise Fault("INVALID_ARGUMENT", f"an idempotency key has at most {LONGEST_KEY} characters")
    return key


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body, decompressed, or a fault."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise too_large(limit)
    parts: list[bytes] = []
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise too_large(limit)
            parts.append(chunk)
    except ClientDisconnect:
        raise Fault("INVALID_ARGUMENT", "the body ended before it was complete") from None
    try:
        plain = unpacked(b"".join(parts), request.headers.get("content-encoding", ""), limit)
    except Unpackable as error:
        headers = {"accept-encoding": "gzip, deflate, zstd"} if error.status == 415 else {}
        raise Fault("INVALID_ARGUMENT", error.message, status=error.status, headers=headers) from None
    if len(plain) > limit:
        raise too_large(limit)
    return plain


def too_large(limit: int) -> Fault:
    """The body is over its limit."""
    return Fault(
        "INVALID_ARGUMENT", f"the body has more than {limit:,} bytes", status=413, details={"limitBytes": limit}
    )


def decoded(raw: bytes, kind: type[Any]) -> Any:
    """A JSON body as what it has to be."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise wrong(error, kind, "the body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Fault("INVALID_ARGUMENT", f"the body is no JSON: {error}") from None
    except RecursionError:
        raise Fault("INVALID_ARGUMENT", "the body is nested too deep; nothing that is meant is") from None


def query_of(request: Request, kind: type[Any]) -> Any:
    """The query as what it has to be; the last of several is meant."""
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise wrong(error, kind, "the query") from None
