"""A stream is the same however it was cut: FAULTS P6."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.errors import AnswerBroken
from sash.providers.sse import EventReader, ServerEvent

STREAM = (
    "\ufeff: a comment\r\n"
    'event: first\r\ndata: {"text": "naïve 雪 🙂"}\r\n\r\n'
    "data:without a space\n\n"
    "data: two\ndata: lines\nid: 7\nretry: 10\n\n"
    ": another comment\n\n"
    "event: nothing\n\n"
    "data\n\n"
    "data: cr only\r\rdata: after\r\n\r\n"
    "event: last\ndata: no final newline"
).encode()
EVENTS = [
    ServerEvent("first", '{"text": "naïve 雪 🙂"}'.encode()),
    ServerEvent("", b"without a space"),
    ServerEvent("", b"two\nlines"),
    ServerEvent("", b""),
    ServerEvent("", b"cr only"),
    ServerEvent("", b"after"),
    ServerEvent("last", b"no final newline"),
]


def read_in(pieces: list[bytes]) -> list[ServerEvent]:
    reader = EventReader()
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.end()]


def test_events_are_read_as_they_were_meant() -> None:
    assert read_in([STREAM]) == EVENTS


def test_a_cut_at_any_byte_changes_nothing() -> None:
    for cut in range(len(STREAM) + 1):
        assert read_in([STREAM[:cut], STREAM[cut:]]) == EVENTS, cut


def test_a_byte_at_a_time_changes_nothing() -> None:
    assert read_in([STREAM[place : place + 1] for place in range(len(STREAM))]) == EVENTS


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_any_cuts_change_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert read_in([STREAM[a:b] for a, b in pairwise(places)]) == EVENTS


def test_an_event_without_end_is_given_up() -> None:
    reader = EventReader(most_bytes=1_000)
    assert not list(reader.feed(b"x" * 1_000))
    with pytest.raises(AnswerBroken):
        list(reader.feed(b"x"))
