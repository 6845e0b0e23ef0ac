"""Bodies that come compressed: unpacked with a limit, however small they were."""

from __future__ import annotations

import zlib
from typing import Any

ENCODINGS = "gzip, deflate or zstd"


class Unpackable(Exception):
    """A body that cannot be unpacked: the status and the words for whoever sent it."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


def unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """The body as it was before it was compressed, or `Unpackable`; at most one byte more than the limit."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            return _inflated(zlib.decompressobj(zlib.MAX_WBITS | 16), body, limit)
        case "deflate":
            return _inflated(zlib.decompressobj(), body, limit)
        case "zstd":
            return _from_zstd(body, limit)
    raise Unpackable(415, f"the body is encoded as {encoding[:40]!r}; send it plain, or as {ENCODINGS}")


def _inflated(inflate: Any, body: bytes, limit: int) -> bytes:
    try:
        plain: bytes = inflate.decompress(body, limit + 1)
    except zlib.error:
        raise Unpackable(400, "the body is not compressed as its headers say") from None
    if len(plain) <= limit and (not inflate.eof or inflate.unused_data):
        raise Unpackable(400, "the compressed body does not end where its stream ends")
    return plain


def _from_zstd(body: bytes, limit: int) -> bytes:
    try:
        import zstandard
    except ModuleNotFoundError as error:
        if error.name != "zstandard":
            raise
        raise Unpackable(415, "bodies in zstd need `pip install 'sash[zstd]'` on the server; send it plain") from None
    # Read to the end of its frame and no further: what is cut off or stands behind it is no body.
    unpack = zstandard.ZstdDecompressor().decompressobj(read_across_frames=False)
    try:
        with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=False) as reader:
            plain = reader.read(limit + 1)
        if len(plain) <= limit:
            unpack.decompress(body)
    except zstandard.ZstdError:
        raise Unpackable(400, "the body is not compressed as its headers say") from None
    if len(plain) <= limit and (not unpack.eof or unpack.unused_data):
        raise Unpackable(400, "the compressed body does not end where its stream ends")
    return plain
