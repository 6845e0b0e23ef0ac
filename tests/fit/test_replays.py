"""Replaying a history that grows: only what is new is read and counted, and the answer is the same as from scratch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.fold import Fold
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.request import assemble
from sash.core.size import Size, size_of
from sash.core.standing import Standing, standing_of
from sash.core.tokens import Counter
from sash.fitting import replays
from sash.fitting.replays import Listed, Replays
from sash.wire import read_list
from tests.builders import CHARS4, WIRES, Call, Script, limits, lines, words

POLICY = Policy(history_tokens=1_000)


def listed(said: list[dict[str, Any]]) -> bytes:
    return json.dumps(said).encode()


def folded(known: Replays, said: list[dict[str, Any]], wire: str = "openai-chat", policy: Policy = POLICY) -> Fold:
    return known.fold(Listed(listed(said)), wire, policy=policy, limits=limits(policy), counter=CHARS4).fold


class Watch:
    """What was read and counted since it was last asked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.read = self.counted = 0

        def reading(given: bytes, wire: str, *, first: int = 0) -> tuple[Message, ...]:
            messages = read_list(given, wire, first=first)
            self.read += len(messages)
            return messages

        def counting(message: Message, counter: Counter) -> Size:
            self.counted += 1
            return size_of(message, counter)

        patch.setattr(replays, "read_list", reading)
        patch.setattr(replays, "size_of", counting)

    def since(self) -> tuple[int, int]:
        seen, self.read, self.counted = (self.read, self.counted), 0, 0
        return seen


@pytest.mark.parametrize("length", [10, 1_000])
def test_a_warm_call_reads_only_what_is_new_and_counts_each_message_once(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, known, script = Watch(monkeypatch), Replays(), Script()
    for number in range(length):
        script.user(f"{number} {words(20)}").assistant(f"{number} {words(20)}")
    folded(known, script.user("first").said)
    assert watch.since() == (2 * length + 1, 2 * length + 1)
    folded(known, script.assistant("second").user("third").said)
    assert watch.since() == (2, 2)
    folded(known, script.said)
    assert watch.since() == (0, 0)
    other = Policy(history_tokens=500)
    folded(known, script.said, policy=other)
    assert watch.since() == (2 * length + 3, 0), "another policy folds anew, but does not count anew"


def test_with_a_call_open_nothing_is_remembered_that_could_still_change(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, known, script = Watch(monkeypatch), Replays(), Script().turn().user("go")
    folded(known, script.said)
    folded(known, script.assistant("", Call("a")).said)
    watch.since()
    folded(known, script.results(("a", "x")).said)
    assert watch.since()[0] == 2


@given(
    wire=st.sampled_from(WIRES),
    growth=st.lists(st.sampled_from(["turn", "step", "giant", "open", "interrupt"]), min_size=1, max_size=12),
    cap=st.sampled_from([40, 300, 2_000]),
)
def test_a_warm_answer_is_the_answer_from_scratch(wire: str, growth: list[str], cap: int) -> None:
    known, script, policy = Replays(), Script(wire), Policy(history_tokens=cap)
    for number, kind in enumerate(growth):
        if kind == "turn":
            script.turn(ask=20, answer=20).user("next")
        elif kind == "step":
            script.step(f"c{number}", words(50))
        elif kind == "giant":
            script.step(f"c{number}", lines(500))
        elif kind == "open":
            script.assistant("", Call(f"c{number}"))
        else:
            script.user("stop")
        warm, cold = folded(known, script.said, wire, policy), folded(Replays(), script.said, wire, policy)
        assert warm.past == cold.past
        assert assemble(warm) == assemble(cold)


def test_two_conversations_that_begin_alike_do_not_disturb_each_other() -> None:
    known = Replays()
    one, other = Script().turn().user("left"), Script().turn().user("right")
    folded(known, one.said)
    folded(known, other.said)
    assert assemble(folded(known, one.assistant("a").user("b").said)).messages[2].text == "left"
    assert assemble(folded(known, other.assistant("a").user("b").said)).messages[2].text == "right"


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Replays()
    for number in range(replays.ENTRIES + 20):
        folded(known, Script().user(f"thread {number}").said)
    assert len(known._known) == replays.ENTRIES
    assert known._memory == sum(entry.memory for entry in known._known.values())
    monkeypatch.setattr(replays, "MEMORY", 100)
    folded(known, Script().user("x" * 60).said)
    assert known._memory <= 100


def test_sizes_are_forgotten_a_generation_at_a_time() -> None:
    sizes = replays._Sizes(most=3)
    messages = Script().turn().turn().turn().messages()
    for few in (messages[:1], messages[:2], messages, messages[1:]):
        assert [size.tokens for size in sizes.of(few, CHARS4, 7)] == [5] * len(few)
        assert len(sizes._young) + len(sizes._old) <= 6


def test_what_stands_for_the_turns_that_left_is_put_together_once_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(fold: Fold) -> Standing:
        made.append(fold.frame.number)
        return standing_of(fold)

    monkeypatch.setattr("sash.core.fold.standing_of", counted)
    known, script = Replays(), Script()
    for _ in range(60):
        script.turn(ask=20, answer=20)
        folded(known, script.user("next").said).digest_text()
    assert len(set(made)) > 2
    assert len(made) == len(set(made))
