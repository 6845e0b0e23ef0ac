"""What survives a restart: the window by reference, and numbers that are never given again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep

import msgspec

from sash.core.commands import pin, reframe
from sash.core.fold import Fold
from sash.core.kept import InWindow
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.state import FoldState
from tests.builders import CHARS4, Call, Script, fold_of, limits, lines, turns_of


def resumed(fold: Fold, log: Script) -> Fold:
    state = msgspec.json.decode(msgspec.json.encode(FoldState.of(fold)), type=FoldState)
    said = log.messages()
    return state.fold(fold.policy, fold.limits, fold.counter, lambda asked: [said[place] for place in asked])


def test_a_giant_result_is_shortened_again_as_it_was_when_it_entered() -> None:
    script = Script().user("read").assistant("", Call("a")).results(("a", lines(400)))
    fold = fold_of(script, Policy(record_over_tokens=200))
    *_, live = fold.window()
    assert live.came is not None
    again = resumed(fold, script)
    assert list(again.window()) == list(fold.window())
    assert FoldState.of(again) == FoldState.of(fold)


def test_a_copy_of_a_window_that_nobody_has_read_goes_its_own_way() -> None:
    script = Script().user("one").assistant("1").user("two").assistant("2").user("three").assistant("3")
    again = resumed(fold_of(script), script)
    twin = again.copy()
    pin(twin, twin.turns[1])
    twin.turns[3].named = "another"
    assert again.turns[3].title != "another"
    assert FoldState.of(again) == FoldState.of(fold_of(script))


def test_turns_that_two_ask_for_at_once_are_read_once() -> None:
    """As a cached property does from Python 3.12 on: with no lock of its own, both have seen that they are unknown."""
    script = Script().user("one").assistant("1").user("two")
    first = resumed(fold_of(script), script)
    state, said = FoldState.of(first), script.messages()
    asked, go_on, looked_up = Event(), Event(), 0

    def lookup(places: Sequence[int]) -> list[Message]:
        nonlocal looked_up
        looked_up += bool(places)
        asked.set()
        assert go_on.wait(10)
        return [said[place] for place in places]

    fold = state.fold(first.policy, first.limits, first.counter, lookup)
    read = InWindow.__dict__["turns"].func
    with ThreadPoolExecutor(3) as pool:
        one = pool.submit(read, fold)
        assert asked.wait(10)
        other, twin = pool.submit(read, fold), pool.submit(fold.copy)
        sleep(0.05)
        go_on.set()
        assert one.result() is other.result() is fold.turns
        assert twin.result().turns is not fold.turns
    assert looked_up == 1
    assert list(twin.result().turns) == list(fold.turns) == [1, 2]
    assert (fold.resting, twin.result().resting) == (None, None)


def test_a_state_holds_no_words_of_what_is_still_live() -> None:
    script = Script().user("read it").assistant("", Call("a")).results(("a", "the secret of the lighthouse"))
    assert b"lighthouse" not in msgspec.json.encode(FoldState.of(fold_of(script)))


def test_the_number_of_a_frame_is_never_given_again() -> None:
    policy = Policy(history_tokens=1_000)
    fold = fold_of(turns_of(100, 100), policy)
    fold.number_from(7)
    assert reframe(fold, "undo").number == 8
    fold.number_from(3)
    assert reframe(fold, "undo").number == 9
    assert reframe(Fold(policy, limits(policy), CHARS4), "rewind", number=4).number == 4
