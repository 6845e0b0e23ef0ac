"""How large a picture is, as its own header says."""

from __future__ import annotations

from binascii import a2b_base64

import msgspec


class Size(msgspec.Struct, frozen=True, gc=False):
    """Width and height in pixels."""

    width: int
    height: int


def size_of(data: str) -> Size | None:
    """
    The size of a PNG, JPEG, GIF or WebP picture given as base64; None for anything else.

    Only the few bytes that say it are decoded: a picture of 5 MB costs no more than a small one.
    The media type is not asked: clients often name the wrong one.
    """
    picture = _Picture(data)
    start = picture.at(0, 30)
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        size = _big(start[16:20]), _big(start[20:24])
    elif start.startswith((b"GIF87a", b"GIF89a")):
        size = _little(start[6:8]), _little(start[8:10])
    elif start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        size = _webp(start)
    elif start.startswith(b"\xff\xd8"):
        size = _jpeg(picture)
    else:
        return None
    return Size(*size) if all(size) else None


class _Picture:
    """Base64 text of which any few bytes can be read without decoding the rest."""

    def __init__(self, data: str) -> None:
        if data.startswith("data:"):
            data = data[data.find(",") + 1 :]
        # Wrapped lines would shift every offset. They are the same width, so the first break tells.
        self.text = "".join(data.split()) if any(map(str.isspace, data[:_LINE])) else data

    def at(self, offset: int, count: int) -> bytes:
        """The bytes from an offset on: fewer than asked for at the end, none where it is no base64."""
        first, last = offset // 3, -(-(offset + count) // 3)
        quads = self.text[first * 4 : last * 4].replace("-", "+").replace("_", "/")
        try:
            found = a2b_base64(quads + "=" * (-len(quads) % 4))
        except ValueError:
            return b""
        return found[offset - first * 3 :][:count]


_LINE = 100
"""Wrapped base64 has lines of 64 or 76 characters."""


def _big(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def _little(octets: bytes) -> int:
    return int.from_bytes(octets, "little")


def _webp(start: bytes) -> tuple[int, int]:
    kind = start[12:16]
    if kind == b"VP8X":
        return _little(start[24:27]) + 1, _little(start[27:30]) + 1
    if kind == b"VP8L" and start[20:21] == b"\x2f":
        bits = _little(start[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and start[23:26] == b"\x9d\x01\x2a":
        # The two high bits of each are how to scale it up for display.
        return _little(start[26:28]) & 0x3FFF, _little(start[28:30]) & 0x3FFF
    return 0, 0


_FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The JPEG segments that state a size; the three left out are tables and extensions."""
_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers that have no length after them."""
_MOST_SEGMENTS = 1000
"""A camera writes some twenty before the frame header. More is no picture but somebody's trap."""


def _jpeg(picture: _Picture) -> tuple[int, int]:
    offset = 2
    for _ in range(_MOST_SEGMENTS):
        head = picture.at(offset, 9)
        if len(head) < 2 or head[0] != 0xFF:
            break
        marker = head[1]
        if marker in _FRAME_HEADERS:
            return _big(head[7:9]), _big(head[5:7])
        if marker == 0xFF:
            # Any number of these may pad a marker.
            offset += 1
        elif marker in _BARE_MARKERS:
            offset += 2
        else:
            offset += 2 + max(2, _big(head[2:4]))
    return 0, 0
