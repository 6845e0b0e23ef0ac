"""A thread under every verb in any order, on every wire and every path the same: DESIGN section 10, 1 to 7."""

from __future__ import annotations

import os
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sash.core.facts import check_room, line_of
from sash.core.fold import Fold
from sash.core.frame import Frame
from sash.core.message import stands_beside
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.errors import (
    FactsFull,
    InvalidRequest,
    NotFound,
    NothingToUndo,
    PinsFull,
    SummaryRejected,
    WindowOverflow,
)
from sash.store import MemoryStore
from sash.thread import Thread, open_thread
from sash.thread.acts import Rewound, act_of
from sash.wire import wire_named
from tests.builders import WIRES, Call, Script, lines, words
from tests.core.invariants import check_budget, check_counted_right, check_whole_turns

SOAK = int(os.environ.get("SASH_SOAK", "0"))

POLICIES = (
    Policy(counter="chars4", history_tokens=300, window=8_000, pin_tokens=150),
    Policy(counter="chars4", history_tokens=1_000, window=8_000, keep_first=True, record_over_tokens=100),
    Policy(counter="bytes4", history_tokens=150, window=4_000, replace="marker"),
    Policy.sliding(200),
    Policy(counter="chars4", history_tokens=300, window=8_000, recall_tokens=150),
    Policy(counter="chars4", history_tokens=400, window=600, fixed_tokens=0, facts_tokens=100),
    Policy(history_tokens=1_000, window=8_000),
)
SOURCES = ((), (Source("skills", "how to fold"), Source("knowledge", "it rains", stable=False)))
COMPLAINTS = ("prompt is too long", "prompt is too long: 3000 tokens > 2500 maximum")

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
        self.name, self.logs = "t", {"t": list[bytes]()}
        self.pinned: set[int] = set()
        self.sent: dict[str, tuple[Frame, tuple[bytes, ...]]] = {}
        self.bodies: dict[tuple[str, int, str], bytes | str] = {}
        """What was sent of each thread after each event, on each wire."""
        self.thread = self._handle(policy=policy, system="Be brief." if prompt else None)
        if fact:
            self.remember("one")

    def _handle(self, name: str | None = None, **given: Any) -> Thread:
        return open_thread(name or self.name, store=self.store, wire=self.wire, **given)

    @property
    def log(self) -> list[bytes]:
        return self.logs[self.name]

    def _fold(self) -> Fold:
        return self.thread._tail.current().window.fold

    def _waits(self) -> list[str]:
        return sorted(call for call, turns in self._fold().placing.waits.items() for _ in turns)

    def _say(self, script: Script, *, together: bool = False) -> None:
        said = [msgspec.json.encode(item) for item in script.said]
        for part in [said] if together else [[item] for item in said]:
            self.thread.append(b"[" + b",".join(part) + b"]", wire=script.wire)
            self.log.extend(part)

    # What is said.

    @rule(text=texts, wire=st.sampled_from(["", "", *WIRES]))
    def user_speaks(self, text: str, wire: str = "") -> None:
        self._say(Script(wire or self.wire).user(text))

    @rule(text=texts)
    def assistant_answers(self, text: str) -> None:
        self._say(Script(self.wire).assistant(text or "done"))

    @rule(text=texts, thinking=st.sampled_from(["", "let me see " * 10]))
    def assistant_calls(self, text: str, thinking: str) -> None:
        self.calls += 1
        call = Call(f"c{self.calls}")
        self._say(Script(self.wire).assistant(text, call, thinking=thinking))

    @rule(ids=st.lists(st.sampled_from(["a", "b", "call 0"]), min_size=1, max_size=3), together=st.booleans())
    def assistant_calls_several(self, ids: list[str], together: bool) -> None:
        self._say(Script(self.wire).assistant("", *map(Call, ids)), together=together)

    @precondition(lambda self: self._waits())
    @rule(text=texts, which=st.integers(0, 2))
    def a_result_comes(self, text: str, which: int) -> None:
        waits = self._waits()
        self._say(Script(self.wire).results((waits[which % len(waits)], text)))

    @precondition(lambda self: self._waits())
    @rule(text=texts, together=st.booleans())
    def all_results_come(self, text: str, together: bool) -> None:
        results = [(call, text) for call in reversed(self._waits())]
        self._say(Script(self.wire).results(*results), together=together)

    @rule(text=texts)
    def an_orphan_comes(self, text: str) -> None:
        self._say(Script(self.wire).results(("a", text)))

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
        placing = self._fold().placing
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
        self.pinned = set(self._fold().pinned)

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
        for name, log in self.logs.items():
            bodies = {event.seq: event.body for event in self._handle(name).events() if event.kind == "message"}
            log[:] = [bodies[at] if at == seq else body for at, body in zip(bodies, log, strict=True)]
        self.bodies = {}
        self._pins_as_they_are()

    @rule(policy=st.sampled_from(POLICIES))
    def configure(self, policy: Policy) -> None:
        self.thread.configure(policy=policy)

    @rule(model=st.sampled_from(["", "gpt-4o", "claude-opus-4"]))
    def model_changes(self, model: str) -> None:
        self.thread.configure(model=model)

    @rule(sources=st.sampled_from(SOURCES), system=st.sampled_from([None, "", "Be kind."]))
    def setup_changes(self, sources: tuple[Source, ...], system: str | None) -> None:
        self.thread.configure(sources=sources, system=system)

    @rule(complaint=st.sampled_from(COMPLAINTS))
    def the_provider_refuses(self, complaint: str) -> None:
        self.thread.record_overflow(complaint)

    @rule(text=st.sampled_from(["what was said", "it was short"]))
    def summary_is_edited(self, text: str) -> None:
        try:
            self.thread.edit_summary(text)
        except SummaryRejected:
            return

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
        for wire in WIRES if self.log else ():
            assert self._body(self.thread, wire) == self._body(before, wire)

    def _body(self, thread: Thread, wire: str, *, at: int | None = None) -> bytes | str:
        try:
            return thread.prepared(wire=wire, at=at).body
        except (InvalidRequest, WindowOverflow) as error:
            return str(error)

    @rule(back=st.integers(0, 10))
    def a_past_state_is_built(self, back: int) -> None:
        seq = max(0, self.thread.seq - back)
        again = self._handle()
        assert again._at(seq).checkpoint() == self.thread._at(seq).checkpoint()

    @precondition(lambda self: self.bodies)
    @rule(which=st.integers(0, 100))
    def a_past_request_is_built_again(self, which: int) -> None:
        name, seq, wire = place = list(self.bodies)[-1 - which % len(self.bodies)]
        assert self._body(self._handle(name), wire, at=seq) == self.bodies[place], "the past has changed"

    @rule(back=st.integers(0, 30), goes_on=st.booleans())
    def a_fork_goes_its_own_way(self, back: int, goes_on: bool) -> None:
        self.forks += 1
        name, at = f"fork {self.forks}", max(0, self.thread.seq - back)
        fork = self.thread.fork(name, at=at)
        for wire in WIRES:
            assert self._body(fork, wire) == self.bodies.get((self.name, at, wire), self._body(fork, wire))
        self.logs[name] = [event.body for event in fork.events() if event.kind == "message"]
        assert self.logs[name] == self.log[: len(self.logs[name])]
        if goes_on:
            self._goes_on_with(name)
            return
        for item in Script(self.wire).turn(ask=20, answer=20).said:
            self.logs[name].append(msgspec.json.encode(item))
            fork.append(self.logs[name][-1])
        assert fork.verify().problems == ()
        assert self._handle(name)._tail.current().checkpoint() == fork._tail.current().checkpoint()

    @precondition(lambda self: len(self.logs) > 1)
    @rule(which=st.integers(0, 5))
    def another_fork_goes_on(self, which: int) -> None:
        self._goes_on_with(list(self.logs)[which % len(self.logs)])

    def _goes_on_with(self, name: str) -> None:
        self.name, self.thread, self.sent = name, self._handle(name), {}
        self._pins_as_they_are()

    # What must hold.

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "thread"):
            said = [event.body for event in self.thread.events() if event.kind == "message"]
            assert said == self.log

    @invariant()
    def turns_are_whole_and_counted_as_they_are_sent(self) -> None:
        if hasattr(self, "thread"):
            check_whole_turns(self._fold())
            check_counted_right(self._fold())

    @invariant()
    def what_could_leave_above_the_mark_has_left(self) -> None:
        if not hasattr(self, "thread") or not (fold := self._fold()).placed.request_point:
            return
        *_, newest = self.thread.events()
        if newest.kind == "message" and fold.policy.check == "request" and not fold.suspended:
            check_budget(fold)

    @invariant()
    def pins_stay(self) -> None:
        if hasattr(self, "thread"):
            assert self.pinned == self._fold().pinned <= self._fold().turns.keys()

    @invariant()
    def every_turn_is_somewhere(self) -> None:
        if hasattr(self, "thread"):
            turns = self.thread.turns()
            assert len({turn.number for turn in turns}) == len(turns), "a turn stands twice"
            told = {turn.number for turn in turns}
            stored = {event.turn for event in self.thread.events() if event.kind == "message" and event.turn >= 0}
            assert stored == told

    @invariant()
    def every_request_is_valid_and_fits_and_between_frames_it_only_grows(self) -> None:
        if not hasattr(self, "thread") or not self._fold().turns:
            return
        seq = self.thread.seq
        for wire in WIRES:
            self.bodies.setdefault((self.name, seq, wire), self._body(self.thread, wire))
            self._one_request(wire)

    def _one_request(self, wire: str) -> None:
        fold, spoken, last = self._fold(), wire_named(wire), self.sent.get(wire)
        try:
            prepared = self.thread.prepared(wire=wire)
        except WindowOverflow:
            return
        assert prepared.tokens.value <= fold.limits.hard
        messages = [message for message, _ in prepared.sent]
        assert spoken.problems(messages) == ()
        self._facts_are_told(fold, "\n".join(message.text for message in messages))
        if fold.placing.calls_open:
            return
        frame = prepared.report.frame
        # What stands with the current input leaves with it.
        said = tuple(
            spoken.write_message(message) for message in prepared.said() if not any(map(stands_beside, message.blocks))
        )
        if last is not None and last[0] == frame:
            assert said[: len(last[1])] == last[1], "the head moved without a frame"
        if fold.placed.request_point:
            self.sent[wire] = (frame, said)

    def _facts_are_told(self, fold: Fold, text: str) -> None:
        """What the user wanted remembered; under another policy there may be too little room for it."""
        given = [fact for fact in self.thread.facts() if fact.origin == "given"]
        try:
            check_room(given, fold.counter.text, limit=fold.limits.facts)
        except FactsFull:
            return
        assert all(line_of(fact) in text for fact in given), "a fact is not told"

    def teardown(self) -> None:
        for name in getattr(self, "logs", {}):
            checked = self._handle(name).verify()
            assert checked.ok, (name, checked.problems)
        if hasattr(self, "thread"):
            assert self.thread.verify().ok


class TestMachine(Machine.TestCase):  # type: ignore[misc, valid-type]  # hypothesis leaves its type open
    settings = settings(
        max_examples=SOAK or 25,
        stateful_step_count=60 if SOAK else 25,
        derandomize=not SOAK,
        suppress_health_check=list(HealthCheck),
    )
