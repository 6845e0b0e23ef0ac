"""Reading what a client sends, with a limit on everything it could grow by."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from sash.server.fault import Fault

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
    unpack = _unpacker(request.headers.get("content-encoding", ""), limit)
    parts: list[bytes] = []
    size = 0
    try:
        async for chunk in _chunks(request):
            plain = unpack(chunk)
            size += len(plain)
            if size > limit:
                raise too_large(limit)
            parts.append(plain)
    except ClientDisconnect:
        raise Fault("INVALID_ARGUMENT", "the body ended before it was complete") from None
    return b"".join(parts)


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    async for chunk in request.stream():
        yield chunk
    # Tells an unpacker that this was all.
    yield b""


def too_large(limit: int) -> Fault:
    """The body is over its limit."""
    return Fault(
        "INVALID_ARGUMENT", f"the body has more than {limit:,} bytes", status=413, details={"limitBytes": limit}
    )


def _unpacker(encoding: str, limit: int) -> Callable[[bytes], bytes]:
    match encoding.strip().lower():
        case "" | "identity":
            return bytes
        case "gzip" | "x-gzip":
            return _Inflating(zlib.decompressobj(zlib.MAX_WBITS | 16), limit)
        case "deflate":
            return _Inflating(zlib.decompressobj(), limit)
    raise Fault(
        "INVALID_ARGUMENT",
        f"the body is encoded as {encoding[:40]!r}; send it plain, as gzip or as deflate",
        status=415,
        headers={"accept-encoding": "gzip, deflate"},
    )


class _Inflating:
    """Never makes more than the limit and one byte of what it is given, however small that is."""

    def __init__(self, inflate: Any, limit: int) -> None:
        self._inflate, self._left = inflate, limit

    def __call__(self, chunk: bytes) -> bytes:
        try:
            if not chunk:
                if not self._inflate.eof:
                    raise Fault("INVALID_ARGUMENT", "the compressed body ended before it was complete")
                return b""
            plain: bytes = self._inflate.decompress(chunk, self._left + 1)
        except zlib.error:
            raise Fault("INVALID_ARGUMENT", "the body is not compressed as its headers say") from None
        self._left -= len(plain)
        if self._left < 0:
            # More than the limit already; the caller sees it in the size.
            return plain
        if self._inflate.eof and self._inflate.unused_data:
            raise Fault("INVALID_ARGUMENT", "something stands behind the end of the compressed body")
        return plain


def decoded(raw: bytes, kind: type[Any]) -> Any:
    """A JSON body as what it has to be."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise Fault("INVALID_ARGUMENT", str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Fault("INVALID_ARGUMENT", f"the body is no JSON: {error}") from None
    except RecursionError:
        raise Fault("INVALID_ARGUMENT", "the body is nested too deep; nothing that is meant is") from None


def query_of(request: Request, kind: type[Any]) -> Any:
    """The query as what it has to be; the last of several is meant."""
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise Fault("INVALID_ARGUMENT", f"in the query: {error}") from None
