"""The size of a picture, from the header of each format."""

from __future__ import annotations

import struct
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis.strategies import binary, integers, sampled_from, text

from sash.core.image import Size, size_of

SIDES = integers(1, 16_000)


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\x00\x00\x00"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\xf7\x00\x00"


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 12 + len(body)) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


def webp_lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height | 0x8000))


def webp_lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14 | 1 << 28) + b"\x00" * 8)


def webp_extended(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\x10\x00\x00\x00" + sides)


def segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body


def jpeg(width: int, height: int, *, frame: int = 0xC0, before: bytes = b"") -> bytes:
    sides = struct.pack(">BHHB", 8, height, width, 3)
    return b"\xff\xd8" + before + segment(frame, sides + b"\x00" * 9) + b"\xff\xda"


FORMATS = (png, gif, webp_lossy, webp_lossless, webp_extended, jpeg)


def base64(content: bytes) -> str:
    return b64encode(content).decode()


@given(SIDES, SIDES, sampled_from(FORMATS))
def test_every_format_tells_its_size(width: int, height: int, form: object) -> None:
    assert callable(form)
    assert size_of(base64(form(width, height))) == Size(width, height)


@pytest.mark.parametrize("frame", [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC9, 0xCF])
def test_a_jpeg_tells_its_size_however_it_is_compressed(frame: int) -> None:
    assert size_of(base64(jpeg(640, 480, frame=frame))) == Size(640, 480)


def test_a_jpeg_tells_its_size_behind_what_a_camera_writes_first() -> None:
    # A thumbnail inside the EXIF block has a frame header of its own, which is not the picture's.
    exif = segment(0xE1, b"Exif\x00\x00" + jpeg(160, 120) + b"\x00" * 60_000)
    profile = segment(0xE2, b"ICC_PROFILE\x00" + b"\x00" * 65_000) * 9
    tables = segment(0xDB, b"\x00" * 65) + segment(0xC4, b"\x00" * 30) + b"\xff\xff\xff\x01" + b"\xff\xd0"
    assert size_of(base64(jpeg(4032, 3024, before=exif + profile + tables))) == Size(4032, 3024)


def test_only_the_header_is_decoded() -> None:
    # Were the rest looked at, it would be no base64 at all.
    assert size_of(base64(png(800, 600))[:32] + "?" * 1_000_000) == Size(800, 600)


def test_data_addresses_wrapped_lines_and_the_url_alphabet_are_read() -> None:
    picture = jpeg(1920, 1080, before=segment(0xE1, bytes(range(256)) * 8))
    plain = base64(picture)
    wrapped = "\r\n".join(plain[place : place + 76] for place in range(0, len(plain), 76))
    assert size_of(f"data:image/jpeg;base64,{plain}") == Size(1920, 1080)
    assert size_of(wrapped) == Size(1920, 1080)
    assert size_of(urlsafe_b64encode(picture).decode()) == Size(1920, 1080)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"BM" + b"\x00" * 40,
        png(0, 10),
        png(10, 10)[:18],
        gif(0, 0),
        webp(b"VP8 ", b"\x00" * 10),
        webp(b"VP8L", b"\x00" * 10),
        webp(b"ALPH", b"\x00" * 10),
        b"\xff\xd8",
        b"\xff\xd8\x00\x00",
        b"\xff\xd8" + segment(0xE1, b"\x00" * 10),
        b"\xff\xd8" + b"\xff\xe0\x00\x00" * 5_000,
    ],
)
def test_what_does_not_tell_its_size_has_none(content: bytes) -> None:
    assert size_of(base64(content)) is None


def test_what_is_no_base64_has_no_size() -> None:
    assert size_of("A") is None
    assert size_of("https://example.com/cat.png") is None


@given(text(max_size=300))
def test_no_text_makes_it_fail(data: str) -> None:
    size_of(data)


STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF\x00\x00\x00\x00WEBPVP8X", b"GIF87a")


@given(sampled_from(STARTS), binary(max_size=300))
def test_no_broken_picture_makes_it_fail(start: bytes, rest: bytes) -> None:
    size = size_of(base64(start + rest))
    assert size is None or (size.width > 0 and size.height > 0)
