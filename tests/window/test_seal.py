"""A request that a restart finds finished: the same bytes, at the price of reading them."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from sash.core.facts import Fact
from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.core.state import FoldState
from sash.errors import InvalidRequest, WindowOverflow
from sash.window import Prepared, Seal, Setup, Window, checksum, system_prompt
from sash.wire import read, wire_named
from sash.wire.check import Checking
from tests.builders import WIRES, Call, Script, lines, words
from tests.wire.strategies import broken_messages

SPEAKING = tuple(wire for wire in WIRES if wire != "flat")
POLICY = Policy(counter="chars4", history_tokens=1_500, window=20_000)
SHORTENING = Policy(
    counter="chars4",
    history_tokens=4_000,
    window=20_000,
    shorten_over_tokens=60,
    protect_results_tokens=300,
    worth_tokens=10,
)


class Kept:
    """A log, and how much of it was read."""

    def __init__(self, log: Sequence[Message], *, damaged: bool = False) -> None:
        self.log, self.damaged = log, damaged
        self.read: list[int] = []

    def bodies(self, seal: Seal) -> Sequence[bytes] | None:
        whole = [self.log[position].source for position in seal.whole()]
        assert checksum(whole) == seal.checksum
        return None if self.damaged else whole

    def messages(self, positions: Sequence[int]) -> Sequence[Message]:
        self.read += positions
        return [self.log[position] for position in positions]


def restarted(window: Window, kept: Kept) -> Window:
    """The window as another process finds it."""
    state = msgspec.json.decode(msgspec.json.encode(FoldState.of(window.fold)), type=FoldState)
    seal = msgspec.msgpack.decode(msgspec.msgpack.encode(window.seal()), type=Seal | None)
    again = Window.resumed(window.setup, state, kept.messages)
    if seal is not None:
        again.unseal(seal, kept)
    return again


def told(prepared: Prepared) -> tuple[object, ...]:
    """All that is said of a request, but for what has left, which only the store knows after a restart."""
    report, wire = prepared.report, wire_named(prepared.wire)
    return (
        dict(prepared.fields),
        prepared.tokens,
        [(wire.write_message(message), position) for message, position in prepared.sent],
        list(prepared.positions),
        prepared.size,
        (report.frame, report.turns_in, report.shortened, report.repairs, report.ledger, report.after),
    )


def outcome(window: Window, wire: str) -> tuple[object, ...]:
    try:
        return told(window.prepared(wire))
    except InvalidRequest as error:
        return error.problems
    except WindowOverflow as error:
        return error.args


def worked(wire: str, turns: int = 12, *, thinking: str = "") -> Script:
    """Turns with calls whose results are too long to stay whole."""
    script = Script(wire)
    for number in range(turns):
        script.user(words(20)).assistant(words(10), Call(f"c{number}"), thinking=thinking)
        script.results((f"c{number}", lines(40))).assistant(words(20))
    return script


@settings(max_examples=40)
@given(drawn=st.data())
def test_a_restart_changes_no_request_whenever_it_comes(drawn: st.DataObject) -> None:
    spoken = drawn.draw(st.sampled_from(SPEAKING))
    wire = drawn.draw(st.sampled_from([spoken, spoken, *WIRES]))
    history = (
        *worked(
            spoken, drawn.draw(st.integers(0, 5)), thinking=drawn.draw(st.sampled_from(["", "let me see"]))
        ).messages(),
        *read(drawn.draw(broken_messages(spoken)), spoken).messages,
        *worked(spoken, drawn.draw(st.integers(0, 3))).messages(),
    )
    policy = msgspec.structs.replace(
        POLICY,
        history_tokens=drawn.draw(st.sampled_from([60, 400, 1_500])),
        record_over_tokens=drawn.draw(st.sampled_from([0, 100])),
        alternate=drawn.draw(st.booleans()),
        breakpoints=drawn.draw(st.booleans()),
    )
    sources = (Source("skills", "how to fold"), Source("knowledge", "it rains", stable=False))
    system = system_prompt(drawn.draw(st.sampled_from(["", "be kind"])), spoken)
    setup = Setup(policy=policy, sources=sources[: drawn.draw(st.integers(0, 2))], system=system)
    window, kept = Window(setup), Kept(history)
    again = restarted(window, kept)
    for position, message in enumerate(history):
        window.add(message)
        again.add(message)
        if drawn.draw(st.booleans()):
            again = restarted(drawn.draw(st.sampled_from([window, again])), kept)
        if drawn.draw(st.booleans()):
            assert outcome(again, wire) == outcome(window, wire)
        if drawn.draw(st.integers(0, 9)) == 0:
            for one in (window, again):
                one.fold.remember(Fact(position + 2, 1, f"it is {position}", "given"))
    assert outcome(again, wire) == outcome(window, wire)


@pytest.mark.parametrize("wire", SPEAKING)
@pytest.mark.parametrize("thinking", ["", "let me see"])
def test_what_is_finished_is_neither_read_nor_looked_at_again(
    wire: str, thinking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = worked(wire, thinking=thinking).messages()
    window = Window(Setup(policy=SHORTENING))
    for message in log:
        window.add(message)
    assert window.frame.shortened
    whole = told(window.prepared(wire))
    kept = Kept(log)
    seal = window.seal()
    assert seal is not None
    again = restarted(window, kept)
    looked: list[Message] = []
    monkeypatch.setattr(Checking, "take", lambda _, messages: looked.extend(messages))
    prepared = again.prepared(wire)
    body = prepared.body
    # Only the head, and what goes without its thinking; what was shortened is there as it is shown.
    assert len(looked) <= 1
    assert kept.read == [one.kept.position for one in seal.remade if one.kept is not None]
    assert any(one.written for one in seal.remade)
    assert again.fold.resting is not None
    assert told(prepared) == whole
    assert body == window.prepared(wire).body


@pytest.mark.parametrize("wire", SPEAKING)
def test_what_is_not_what_was_sealed_is_put_together_anew(wire: str) -> None:
    log = worked(wire).messages()
    window = Window(Setup(policy=POLICY))
    for message in log:
        window.add(message)
    again = restarted(window, Kept(log, damaged=True))
    assert told(again.prepared(wire)) == told(window.prepared(wire))
    assert again.fold.resting is None


def test_nothing_is_sealed_while_a_call_is_open_or_where_something_had_to_be_repaired() -> None:
    window = Window(Setup(policy=POLICY))
    assert window.seal() is None
    for message in Script().user("go").assistant("", Call("a")).messages():
        window.add(message)
    assert window.seal() is None
    for message in Script().results(("a", "done")).assistant("", Call("b")).user("and?").messages():
        window.add(message)
    assert window.seal() is None


def test_a_step_digest_is_written_again_after_a_restart() -> None:
    script = Script().user("do it all")
    for number in range(30):
        script.assistant(words(30), Call(f"c{number}")).results((f"c{number}", words(40)))
    log = script.messages()
    window = Window(Setup(policy=Policy(counter="chars4", history_tokens=600, window=20_000)))
    for message in log:
        window.add(message)
    seal = window.seal()
    assert window.frame.digested
    assert seal is not None
    assert any(one.kept is None for one in seal.remade)
    assert told(restarted(window, Kept(log)).prepared("openai-chat")) == told(window.prepared("openai-chat"))
