"""Frames are values that can be stored and read back."""

from __future__ import annotations

import msgspec

from sash.core.frame import DigestedSteps, Frame, Shortened
from tests.builders import fold_of, turns_of, user
from tests.core.test_fold import small


def test_a_handle_names_the_message_and_the_block() -> None:
    assert Shortened(12, 3).handle == "12.3"


def test_a_frame_survives_being_stored() -> None:
    frame = Frame(
        number=2,
        parent=1,
        at=9,
        reason="compact",
        boundary=4,
        shortened=(Shortened(3, 0, 160),),
        digested=(DigestedSteps(4, 2),),
    )
    assert msgspec.json.decode(msgspec.json.encode(frame), type=Frame) == frame


def test_frames_are_a_chain_and_each_says_what_it_freed() -> None:
    fold = fold_of([*turns_of(*[100] * 40), user("x")], small())
    assert [frame.parent for frame in fold.past.frames] == [None, *range(len(fold.past.frames) - 1)]
    assert all(frame.freed > 0 for frame in fold.past.frames[1:])
    assert sum(left.tokens for left in fold.past.evicted) == sum(frame.freed for frame in fold.past.frames)
