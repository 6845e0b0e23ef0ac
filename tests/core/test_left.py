"""What left is read when it is asked for, and is the same however often it is written."""

from __future__ import annotations

from sash.core.digest import Said
from sash.core.left import Left


def test_what_nobody_asked_for_is_written_as_it_was_read() -> None:
    left = Left()
    left.digest.wishes.append(Said(1, "be brief"))
    written = left.written()
    again = Left(written)
    assert again.written() is written
    assert again.copy().written() is written
    assert again.digest == left.digest
    assert bytes(again.written()) == bytes(written)


def test_a_copy_grows_by_itself() -> None:
    left = Left()
    twin = left.copy()
    twin.digest.turns.append("- turn 1: hello")
    assert left.digest.turns == []
    assert bytes(twin.written()) != bytes(left.written())
