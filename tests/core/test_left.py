"""What left the window is written up when somebody asks, and it does not matter when."""

from __future__ import annotations

import pytest

from sash.core import left as waiting
from sash.core.departed import DepartedTurn, departed_turn
from sash.core.digest import Said
from sash.core.left import Left
from sash.core.live import LiveMessage, LiveTurn
from sash.core.size import Size
from tests.builders import assistant, user


def departed(number: int) -> DepartedTurn:
    turn = LiveTurn(number, "", [], [])
    said = (user(f"look at file_{number}.py"), assistant(f"the problem is in part_{number}"))
    for position, message in enumerate(said):
        turn.add(LiveMessage(position, message, Size(1, body=100)), 1)
    return departed_turn(turn, {})


def test_what_nobody_asked_for_is_written_as_it_was_read() -> None:
    left = Left()
    left.digest.wishes.append(Said(1, "be brief"))
    written = left.written()
    again = Left(written)
    assert again.written() is written
    assert again.copy().written() is written
    assert again.digest == left.digest
    assert bytes(again.written()) == bytes(written)


def test_nothing_is_written_up_until_somebody_asks() -> None:
    whole, asked, stored = Left(), Left(), Left()
    for number in range(1, 6):
        for left in (whole, asked, stored):
            left.add(departed(number))
        assert asked.digest.messages == 2 * number
        stored = Left(stored.written())
    assert whole.written() == asked.written() == stored.written()
    assert whole.digest == asked.digest == stored.digest


def test_a_copy_goes_its_own_way_with_what_was_not_written_up_yet() -> None:
    left = Left()
    left.add(departed(1))
    twin = left.copy()
    twin.add(departed(2))
    assert (left.digest.messages, twin.digest.messages) == (2, 4)
    again = left.copy()
    again.add(departed(2))
    assert (left.digest.messages, again.digest) == (2, twin.digest)


def test_what_waits_is_bounded_and_what_was_written_up_meanwhile_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Left()
    for number in range(1, 6):
        whole.add(departed(number))
    monkeypatch.setattr(waiting, "WAITING", 500)
    left = Left()
    for number in range(1, 6):
        left.add(departed(number))
        assert len(left._departed) < 3  # what waits is nobody else's business
    assert left.digest == whole.digest
