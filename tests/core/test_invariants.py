"""DESIGN section 10, 1 to 7, over random histories, policies and commands: a counterexample is a bug in the fold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sash.core.calibration import Calibration, Report
from sash.core.fold import Fold
from sash.core.live import LiveMessage
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.request import assemble
from sash.core.size import size_of
from sash.core.state import FoldState
from sash.core.tokens import Counter
from sash.core.turn import Placing
from sash.counters import counter_for
from sash.wire import read_list
from tests.builders import CHARS4, PIXEL, WIRES, Call, Script, limits, lines, words
from tests.core.invariants import (
    Sent,
    check_budget,
    check_counted_right,
    check_frame,
    check_nothing_lost,
    check_whole_turns,
    request,
)

SOAK = int(os.environ.get("SASH_SOAK", "0"))
"""How many threads to try, new ones each time; 0: the same few in every run."""

COUNTERS: tuple[Counter, ...] = (
    CHARS4,
    counter_for(counter="bytes4").counter,
    counter_for("claude-opus-4").counter,
)

texts = st.one_of(
    st.integers(1, 60).map(words),
    st.sampled_from([90, 300, 1_500, 6_000]).map(words),
    st.sampled_from([3, 21, 60, 400]).map(lines),
    st.sampled_from(["", " ", "ok", "wörter 字 🎉 " * 40]),
)
ids = st.sampled_from(["a", "b", "c", "call 0"])
argument_texts = st.one_of(
    texts.map(lambda text: json.dumps({"path": "a.py", "text": text})),
    st.sampled_from(["{}", '{"n": [1, 2.50, null, true]}']),
    st.integers(1, 400).map(lambda n: json.dumps({f"field {k}": k for k in range(n)})),
)
calls = st.builds(Call, ids, argument_texts, st.sampled_from(["read", "run", "write"]))


def _custom(window: int | None, history_tokens: int, **fields: Any) -> Policy:
    return Policy(window=window, history_tokens=min(history_tokens, window or history_tokens), **fields)


policies = st.one_of(
    st.builds(
        _custom,
        history_tokens=st.sampled_from([0, 5, 40, 200, 1_000, 4_000]),
        window=st.sampled_from([None, 1_500, 20_000]),
        fixed_tokens=st.sampled_from([None, 0]),
        keep_share=st.sampled_from([0.01, 0.3, 0.6, 1.0]),
        min_turns=st.integers(1, 4),
        min_messages=st.sampled_from([0, 0, 3]),
        recent_turns=st.sampled_from([0, 0, 0, 2]),
        keep_first=st.booleans(),
        order=st.sampled_from(["oldest", "priority"]),
        replace=st.sampled_from(["digest", "first-sentences", "marker", "nothing"]),
        carry_tokens=st.sampled_from([0, 0, 100]),
        shorten_over_tokens=st.sampled_from([None, 0, 20]),
        record_over_tokens=st.sampled_from([None, 0, 50]),
        worth_tokens=st.sampled_from([None, 0]),
        step_digest_tokens=st.sampled_from([None, None, 0, 30]),
        body_bytes=st.sampled_from([30_000_000, 30_000_000, 3_000]),
        adaptive=st.sampled_from([False, False, True]),
    ),
    st.sampled_from([50, 500, 3_000]).map(Policy.sliding),
    st.sampled_from([300, 2_000, 20_000]).map(Policy.priority),
    st.sampled_from([300, 2_000, 20_000]).map(Policy.threshold),
    st.integers(1, 4).map(Policy.recent),
    st.sampled_from([Policy(), Policy.chat()]),
)

Command = Callable[[Fold], object]


class Threads(RuleBasedStateMachine):
    """A thread that grows: what is said, what the user commands, and the requests in between."""

    @initialize(wire=st.sampled_from(WIRES), policy=policies, prompt=st.booleans())
    def open(self, wire: str, policy: Policy, prompt: bool) -> None:
        self.wire, self.policy, self.counter = wire, policy, CHARS4
        self.log: list[Message] = []
        self.events: list[Message | Command] = []
        self.pinned: frozenset[int] = frozenset()
        self.open_calls: list[str] = []
        self.last: Sent | None = None
        self.at_request_point = False
        self.placing = Placing()
        self.fold = self._empty()
        self.fork: Fold | None = None
        if prompt:
            self._say(Script(wire).system("Be brief."))

    # What is said.

    @rule(text=texts, image=st.sampled_from(["", "", PIXEL]))
    def user_speaks(self, text: str, image: str) -> None:
        self._say(Script(self.wire).user(text, image=image))

    @rule(text=texts, given=st.lists(calls, max_size=3), thinking=st.sampled_from(["", "", "let me see " * 20]))
    def assistant_speaks(self, text: str, given: list[Call], thinking: str) -> None:
        self._say(Script(self.wire).assistant(text, *given, thinking=thinking))
        self.open_calls = [call.id for call in given]

    @precondition(lambda self: self.open_calls)
    @rule(which=st.integers(0, 5), text=texts, image=st.booleans(), beside=st.sampled_from(["", "", "go on"]))
    def a_result_comes(self, which: int, text: str, image: bool, beside: str) -> None:
        call = self.open_calls.pop(which % len(self.open_calls))
        self._say(Script(self.wire).results((call, text), image=image, beside=beside))

    @precondition(lambda self: self.open_calls)
    @rule(given=st.lists(texts, min_size=3, max_size=3))
    def all_results_come(self, given: list[str]) -> None:
        answers = list(zip(self.open_calls, given, strict=False))
        self.open_calls = self.open_calls[len(answers) :]
        self._say(Script(self.wire).results(*answers))

    @rule(
        count=st.integers(1, 6),
        text=texts,
        arguments=argument_texts,
        thinking=st.sampled_from(["", "", "let me see " * 20]),
    )
    def the_assistant_works(self, count: int, text: str, arguments: str, thinking: str) -> None:
        for number in range(count):
            call = Call(f"w{number}", arguments)
            self._say(Script(self.wire).assistant("", call, thinking=thinking))
            self._say(Script(self.wire).results((call.id, text)))
        self.open_calls = []

    @rule(call=ids, text=texts)
    def an_orphan_comes(self, call: str, text: str) -> None:
        self._say(Script(self.wire).results((call, text)))

    # What the user and the provider command.

    @rule(low=st.sampled_from([None, 0, 50]))
    def compact(self, low: int | None) -> None:
        self._command(lambda fold: fold.slide("compact", low=low))

    @precondition(lambda self: self.fold.turns)
    @rule(which=st.integers(0, 20))
    def pin(self, which: int) -> None:
        number = list(self.fold.turns)[which % len(self.fold.turns)]
        self.pinned |= {number}
        self._pin(self.pinned, "pin")

    @precondition(lambda self: self.pinned)
    @rule()
    def unpin_all(self) -> None:
        self.pinned = frozenset()
        self._pin(self.pinned, "unpin")

    @rule(factor=st.sampled_from([0.5, 0.9, 1.0, 1.1, 2.0]), beyond=st.sampled_from([-5_000, 0, 0, 100, 5_000]))
    def usage_is_reported(self, factor: float, beyond: int) -> None:
        # Beside what was asked for last: the provider counts other framing, other tools, another system prompt.
        said = Report(context=beyond, messages=0)
        self._command(lambda fold: fold.calibrate(Calibration(ratio=factor, last=said)))

    @rule(counter=st.sampled_from(COUNTERS))
    def model_changes(self, counter: Counter) -> None:
        self.counter = counter
        self.fold, self.fork, self.last = self._again(), None, None

    @rule()
    def fork_here(self) -> None:
        self.fork = self.fold.copy()

    @rule(reason=st.sampled_from(["compact", "high mark"]), low=st.sampled_from([None, 0]))
    def dry_run(self, reason: Any, low: int | None) -> None:
        before = _all_of(self.fold)
        self.fold.plan(reason, low=low)
        assert _all_of(self.fold) == before, "planning a slide changed something"

    # What must hold.

    @invariant()
    def nothing_is_lost_and_turns_are_whole(self) -> None:
        if hasattr(self, "fold"):
            check_nothing_lost(self.fold, self.log)
            check_whole_turns(self.fold)
            check_counted_right(self.fold)

    @invariant()
    def pins_and_the_first_request_stay(self) -> None:
        if hasattr(self, "fold"):
            assert self.pinned <= set(self.fold.turns)
            if self.policy.keep_first and any(number > 0 for number in self.fold.turns):
                assert 1 in self.fold.turns

    @invariant()
    def every_request_is_valid(self) -> None:
        if hasattr(self, "fold") and any(message.blocks or message.role == "user" for message in self.log):
            request(self.fold, self.wire)

    @invariant()
    def every_request_point_is_in_budget_and_grows_at_its_tail(self) -> None:
        if not hasattr(self, "fold") or not self.at_request_point:
            return
        self.at_request_point = False
        if self.policy.check == "request":
            check_budget(self.fold)
        sent = request(self.fold, self.wire)
        if self.last is not None and self.last.frame == sent.frame:
            assert sent.messages[: len(self.last.messages)] == self.last.messages, "the head moved without a frame"
        self.last = sent

    def teardown(self) -> None:
        if hasattr(self, "fold"):
            again = self._again()
            assert _all_of(again) == _all_of(self.fold), "the same log gave other frames"

    @rule()
    def the_process_restarts(self) -> None:
        fold = self.fold
        kept = msgspec.json.decode(msgspec.json.encode(FoldState.of(fold)), type=FoldState)
        again = kept.fold(fold.policy, fold.limits, fold.counter, lambda asked: [self.log[place] for place in asked])
        assert again.past.frames == [fold.frame]
        assert FoldState.of(again) == FoldState.of(fold)
        assert all(position in kept.positions() for position in map(_position, fold.window()))
        # What explains a window is not needed to go on; here it is, for the comparison.
        again.past = fold.past
        assert _all_of(again) == _all_of(fold), "a restart changed the window"
        self.fold = again

    # How it is done.

    def _empty(self) -> Fold:
        return Fold(self.policy, limits(self.policy), self.counter)

    def _say(self, script: Script) -> None:
        # As a store has it: each message read from its own bytes.
        for item in script.said:
            (message,) = read_list(b"[" + msgspec.json.encode(item) + b"]", self.wire)
            self.log.append(message)
            self.events.append(message)
            frame = self.fold.add(message, size_of(message, self.counter))
            if frame is not None:
                check_frame(self.fold, frame)
            if self.fork is not None:
                self.fork.add(message, size_of(message, self.counter))
                assert _all_of(self.fork) == _all_of(self.fold), "a copy went another way"
            self.at_request_point = self.placing.add(message).request_point

    def _pin(self, pinned: frozenset[int], reason: Any) -> None:
        def change(fold: Fold) -> None:
            # A model switch may have evicted it before it was pinned: then there is nothing to keep.
            fold.pinned = pinned & frozenset(fold.turns)
            fold.slide(reason)

        self._command(change)

    def _command(self, command: Command) -> None:
        self.events.append(command)
        command(self.fold)
        if self.fork is not None:
            command(self.fork)

    def _again(self) -> Fold:
        fold = self._empty()
        for event in self.events:
            if isinstance(event, Message):
                fold.add(event, size_of(event, self.counter))
            else:
                event(fold)
        self.pinned = fold.pinned
        return fold


def _position(live: LiveMessage) -> int:
    return live.position


def _all_of(fold: Fold) -> tuple[object, ...]:
    """All that a fold is, as values."""
    turns = [(turn.number, turn.tokens, turn.body, turn.digested, turn.whole_tokens) for turn in fold.turns.values()]
    return fold.past.frames, turns, fold.past.evicted, fold.tokens, fold.body, len(fold), assemble(fold)


class TestThreads(Threads.TestCase):  # type: ignore[misc, valid-type]  # hypothesis leaves its type open
    settings = settings(
        max_examples=SOAK or 60,
        stateful_step_count=60 if SOAK else 25,
        derandomize=not SOAK,
        suppress_health_check=list(HealthCheck),
    )
