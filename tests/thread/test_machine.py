"""A thread under every verb in any order, on every path the same: DESIGN section 10, 1, 5, 6 and 7."""

from __future__ import annotations

import os
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sash.core.frame import Frame
from sash.core.message import stands_beside
from sash.core.policy import Policy
from sash.errors import FactsFull, InvalidRequest, NotFound, NothingToUndo, PinsFull
from sash.store import MemoryStore
from sash.thread import Thread, open_thread
from sash.thread.acts import Rewound, act_of
from sash.wire import wire_named
from tests.builders import WIRES, Call, Script, lines, words

SOAK = int(os.environ.get("SASH_SOAK", "0"))

POLICIES = (
    Policy(counter="chars4", history_tokens=300, window=8_000, pin_tokens=150),
    Policy(counter="chars4", history_tokens=1_000, window=8_000, keep_first=True, record_over_tokens=100),
    Policy(counter="bytes4", history_tokens=150, window=4_000, replace="marker"),
    Policy.sliding(200),
    Policy(counter="chars4", history_tokens=300, window=8_000, recall_tokens=150),
)

SAID = ("my dog is called Rufus", "the boat is blue", "what is my dog called?", "is the boat blue, or is the dog?")
"""Words that bear on one another: something is recalled for them."""
texts = st.one_of(
    st.integers(1, 60).map(words), st.sampled_from([words(200), lines(60), "", "ok"]), st.sampled_from(SAID)
)


class Machine(RuleBasedStateMachine):
    """One thread, its log as it was said, and a handle that is opened anew now and then."""

    @initialize(wire=st.sampled_from(WIRES), policy=st.sampled_from(POLICIES), prompt=st.booleans(), fact=st.booleans())
    def begin(self, wire: str, policy: Policy, prompt: bool, fact: bool) -> None:
        self.store, self.wire = MemoryStore(), wire
        self.calls = self.forks = 0
        self.log: list[bytes] = []
        self.pinned: set[int] = set()
        self.sent: tuple[Frame, tuple[bytes, ...]] | None = None
        self.thread = self._handle(policy=policy, system="Be brief." if prompt else None)
        if fact:
            self.remember("one")

    def _handle(self, name: str = "t", **given: Any) -> Thread:
        return open_thread(name, store=self.store, wire=self.wire, **given)

    def _waits(self) -> list[str]:
        return sorted(self.thread._tail.current().window.fold.placing.waits)

    def _say(self, script: Script) -> None:
        for item in script.said:
            self.log.append(msgspec.json.encode(item))
            self.thread.append(self.log[-1])

    # What is said.

    @rule(text=texts)
    def user_speaks(self, text: str) -> None:
        self._say(Script(self.wire).user(text))

    @rule(text=texts)
    def assistant_answers(self, text: str) -> None:
        self._say(Script(self.wire).assistant(text or "done"))

    @rule(text=texts, thinking=st.sampled_from(["", "let me see " * 10]))
    def assistant_calls(self, text: str, thinking: str) -> None:
        self.calls += 1
        call = Call(f"c{self.calls}")
        self._say(Script(self.wire).assistant(text, call, thinking=thinking))

    @precondition(lambda self: self._waits())
    @rule(text=texts)
    def a_result_comes(self, text: str) -> None:
        self._say(Script(self.wire).results((self._waits()[0], text)))

    @rule(count=st.integers(1, 4))
    def a_few_turns_pass(self, count: int) -> None:
        for _ in range(count):
            self._say(Script(self.wire).turn(ask=20, answer=20))

    # What is commanded.

    @rule()
    def compact(self) -> None:
        waits = self._waits()
        planned = self.thread.compact(dry_run=True)
        frame = self.thread.compact()
        if not waits:
            assert (frame and frame.boundary) == (planned and planned.boundary)

    @rule(turn=st.integers(1, 12))
    def pin(self, turn: int) -> None:
        try:
            self.thread.pin(turn)
            self.pinned.add(turn)
        except (NotFound, PinsFull):
            return

    @rule(turn=st.integers(1, 12))
    def unpin(self, turn: int) -> None:
        if turn in self.pinned:
            self.thread.unpin(turn)
            self.pinned.discard(turn)

    @rule(label=st.sampled_from(["", "a", "b"]))
    def mark(self, label: str) -> None:
        self.thread.mark(label)

    @rule(label=st.sampled_from([None, "a", "b"]))
    def rewind(self, label: str | None) -> None:
        try:
            self.thread.rewind(label)
        except NotFound:
            return
        self._no_step_was_cut()
        self._pins_as_they_are()

    def _no_step_was_cut(self) -> None:
        """A call waits only where nobody waited for it: the user, or the model in its next step, spoke instead."""
        placing = self.thread._tail.current().window.fold.placing
        if placing.turn in placing.waiting:
            events = list(self.thread.events())
            (to,) = (act_of(event, Rewound).to for event in events[-1:])
            said = [event for event in events if event.kind == "message"]
            kept, taken = ([event.role for event in said if (event.seq <= to) == before] for before in (True, False))
            assert (kept[-1] == "assistant", taken[0]) == (False, "assistant"), "a rewind cut a step in two"

    @rule()
    def undo(self) -> None:
        try:
            self.thread.undo()
        except NothingToUndo:
            return
        self._pins_as_they_are()

    @rule(count=st.integers(1, 4))
    def a_rewind_is_taken_back(self, count: int) -> None:
        self.thread.mark("back")
        self.user_speaks(SAID[0])
        self.a_few_turns_pass(count)
        self.thread.compact()
        self.user_speaks(SAID[2])
        self.rewind("back")
        self.undo()
        assert self.thread.verify().problems == ()

    def _pins_as_they_are(self) -> None:
        self.pinned = set(self.thread._tail.current().window.fold.pinned)

    @precondition(lambda self: self.log)
    @rule(back=st.integers(0, 30))
    def redact(self, back: int) -> None:
        place = max(0, len(self.log) - 1 - back)
        seq = [event.seq for event in self.thread.events() if event.kind == "message"][place]
        before = [(event.seq, event.turn) for event in self.thread.events() if event.kind == "message"]
        turns = [turn.number for turn in self.thread.turns()]
        self.thread.redact(seq)
        after = [event for event in self.thread.events() if event.kind == "message"]
        assert [(event.seq, event.turn) for event in after] == before
        assert [turn.number for turn in self.thread.turns()] == turns
        self.log[place] = after[place].body
        self._pins_as_they_are()

    @rule(policy=st.sampled_from(POLICIES))
    def configure(self, policy: Policy) -> None:
        self.thread.configure(policy=policy)

    @rule(share=st.sampled_from([0.5, 0.9, 1.2, 1.7]))
    def usage_is_reported(self, share: float) -> None:
        tokens = int(self.thread.context().used.value * share)
        name = "prompt_tokens" if self.wire == "openai-chat" else "input_tokens"
        self.thread.record_usage({name: tokens})

    @rule(text=st.sampled_from(["one", "two"]))
    def remember(self, text: str) -> None:
        try:
            self.thread.remember(text)
        except FactsFull:
            return

    @rule(text=st.sampled_from(["one", "two"]))
    def forget(self, text: str) -> None:
        try:
            self.thread.forget(text)
        except NotFound:
            return
        assert text not in [fact.text for fact in self.thread.facts()]

    @rule()
    def the_process_restarts(self) -> None:
        before = self.thread
        self.thread = self._handle()
        assert self.thread._tail.current().checkpoint() == before._tail.current().checkpoint()
        if self.log:
            assert self._body(self.thread) == self._body(before)

    def _body(self, thread: Thread) -> bytes | str:
        try:
            return thread.prepared().body
        except InvalidRequest as error:
            return str(error)

    @rule(back=st.integers(0, 10))
    def a_past_request_is_built(self, back: int) -> None:
        seq = max(0, self.thread.seq - back)
        again = self._handle()
        assert again._at(seq).checkpoint() == self.thread._at(seq).checkpoint()

    @rule(back=st.integers(0, 30))
    def a_fork_goes_its_own_way(self, back: int) -> None:
        self.forks += 1
        fork = self.thread.fork(f"fork {self.forks}", at=max(0, self.thread.seq - back))
        for item in Script(self.wire).turn(ask=20, answer=20).said:
            fork.append(item)
        assert fork.verify().problems == ()
        assert self._handle(f"fork {self.forks}")._tail.current().checkpoint() == fork._tail.current().checkpoint()

    # What must hold.

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "thread"):
            said = [event.body for event in self.thread.events() if event.kind == "message"]
            assert said == self.log

    @invariant()
    def pins_stay(self) -> None:
        if hasattr(self, "thread"):
            assert self.pinned <= set(self.thread._tail.current().window.fold.turns)

    @invariant()
    def every_turn_is_somewhere(self) -> None:
        if hasattr(self, "thread"):
            turns = self.thread.turns()
            assert len({turn.number for turn in turns}) == len(turns), "a turn stands twice"
            told = {turn.number for turn in turns}
            stored = {event.turn for event in self.thread.events() if event.kind == "message" and event.turn >= 0}
            assert stored == told

    @invariant()
    def between_frames_a_request_only_grows(self) -> None:
        if not hasattr(self, "thread") or self._waits() or not self.thread._tail.current().window.fold.turns:
            return
        prepared = self.thread.prepared()
        spoken = wire_named(self.wire)
        assert spoken.problems([message for message, _ in prepared.sent]) == ()
        frame = prepared.report.frame
        # What stands with the current input leaves with it.
        said = tuple(
            spoken.write_message(message) for message in prepared.said() if not any(map(stands_beside, message.blocks))
        )
        if self.sent is not None and self.sent[0] == frame:
            assert said[: len(self.sent[1])] == self.sent[1], "the head moved without a frame"
        self.sent = (frame, said) if self.thread._tail.current().window.fold.placed.request_point else None

    def teardown(self) -> None:
        if hasattr(self, "thread"):
            checked = self.thread.verify()
            assert checked.ok, checked.problems
            assert self._handle().verify().ok


class TestMachine(Machine.TestCase):  # type: ignore[misc, valid-type]  # hypothesis leaves its type open
    settings = settings(
        max_examples=SOAK or 25,
        stateful_step_count=60 if SOAK else 25,
        derandomize=not SOAK,
        suppress_health_check=list(HealthCheck),
    )
