"""Frames of a stream: cut at any byte, and never changed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis.strategies import binary, integers, lists, sampled_from

from sash.server.proxy.frames import Frames, payload

LINES = sampled_from(
    [b"data: {}", b"data:x", b"event: ping", b": comment", b"", b"data: \xc3\xa9\xf0\x9f\x98\x80", b"id: 1"]
)
ENDS = sampled_from([b"\n", b"\r\n", b"\r"])


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[a:b] for a, b in pairwise(edges)]


@given(binary(max_size=200), lists(integers(0, 1000), max_size=8), integers(4, 50))
def test_all_that_goes_in_comes_out(stream: bytes, places: list[int], longest: int) -> None:
    frames = Frames(longest)
    out = b"".join(piece for part in cut(stream, places) for piece, _ in frames.feed(part))
    assert out + frames.rest() == stream


@given(lists(LINES, max_size=12), ENDS, lists(integers(0, 1000), max_size=8))
def test_frames_are_the_same_however_they_are_cut(lines: list[bytes], end: bytes, places: list[int]) -> None:
    stream = b"".join(line + end for line in lines)
    at_once, in_parts = Frames(), Frames()
    whole = [piece for piece, _ in at_once.feed(stream)]
    parts = [piece for part in cut(stream, places) for piece, _ in in_parts.feed(part)]
    assert b"".join(whole) == b"".join(parts)
    if end != b"\r":
        # A lone CR may turn out to be half of a CRLF: then an empty line joins the frame behind it.
        assert whole == parts


def test_a_stream_cut_at_every_byte_gives_its_frames() -> None:
    stream = 'event: a\ndata: {"x": "é😀"}\n\n: ping\n\ndata: 2\r\n\r\ndata: [DONE]\n\n'.encode()
    for place in range(len(stream) + 1):
        frames = Frames()
        given = [*frames.feed(stream[:place]), *frames.feed(stream[place:])]
        assert [piece for piece, whole in given if whole] == [
            'event: a\ndata: {"x": "é😀"}\n\n'.encode(),
            b": ping\n\n",
            b"data: 2\r\n\r\n",
            b"data: [DONE]\n\n",
        ]
        assert frames.rest() == b""


def test_a_frame_that_is_too_long_goes_on_in_pieces() -> None:
    frames = Frames(longest=1_000)
    stream = b"data: " + b"x" * 5_000 + b"\n\ndata: 2\n\n"
    held_most, given = 0, []
    for at in range(0, len(stream), 100):
        given += frames.feed(stream[at : at + 100])
        held_most = max(held_most, len(frames._held))
    assert held_most <= 1_100
    assert b"".join(piece for piece, _ in given) == stream
    assert given[-1] == (b"data: 2\n\n", True)
    assert sum(whole for _, whole in given) == 1


def test_inside_a_frame_is_not_between_frames() -> None:
    frames = Frames(longest=10)
    told = []
    for part in (b"data: 1\n\n", b"data: " + b"x" * 50, b"\n\n"):
        frames.feed(part)
        told.append(frames.between)
    assert told == [True, False, True]


@pytest.mark.parametrize(
    ("last", "cut_off"),
    [
        (b"", False),
        (b"\n", False),
        (b": keep-al", False),
        (b"data: [DONE]", False),
        (b'data: {"id": 1}', False),
        (b'event: a\r\ndata: {"id": 1}\r\n', False),
        (b'data: {"id":\ndata: 1}', False),
        (b'data: {"text": "\\ud83d"}', False),
        (b"data: [DO", True),
        (b'data: {"id": 1', True),
        (b"event: message_stop\n", True),
        (b"da", True),
    ],
)
def test_a_last_frame_that_lacks_but_its_empty_line_is_whole(last: bytes, cut_off: bool) -> None:
    frames = Frames()
    frames.feed(b'data: {"id": 0}\n\n' + last)
    assert frames.cut_off == cut_off


def test_of_a_frame_that_went_on_in_pieces_the_end_of_its_line_is_looked_at() -> None:
    told = []
    for end in (b'x"}', b'x"}\n', b'x"}\n\n'):
        frames = Frames(longest=100)
        frames.feed(b'data: {"text": "' + b"x" * 500)
        frames.feed(end)
        told.append(frames.cut_off)
    assert told == [True, False, False]


def test_the_payload_of_a_frame_is_what_a_client_reads() -> None:
    assert payload(b"event: ping\r\ndata: a\r\ndata:b\r\n\r\n") == ("ping", b"a\nb")
    assert payload(b": comment\n\n") == ("", b"")
