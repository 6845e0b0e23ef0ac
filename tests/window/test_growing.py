"""A request that grew is the request that is made at once, byte for byte, and costs what is new."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from sash.core.message import Message
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.errors import InvalidRequest, WindowOverflow
from sash.window import Prepared, Setup, Window, system_prompt
from sash.window.outgoing import Outgoing
from sash.wire import read
from sash.wire.check import Checking
from tests.builders import WIRES, Call, Script, lines, words
from tests.wire.strategies import broken_messages

SOURCES = (Source("skills", "how to fold"), Source("knowledge", "it rains", stable=False))
POLICY = Policy(counter="chars4", history_tokens=1_500, window=20_000)


def told(prepared: Prepared) -> tuple[object, ...]:
    fields = dict(prepared.fields)
    return fields, prepared.tokens, list(prepared.sent), prepared.report, prepared.size


def outcome_of(outgoing: Outgoing, window: Window) -> tuple[object, ...]:
    try:
        return told(outgoing.prepared(window.fold))
    except InvalidRequest as error:
        return error.problems


@settings(max_examples=60)
@given(drawn=st.data())
def test_growing_gives_what_making_it_anew_gives(drawn: st.DataObject) -> None:
    spoken, wire = drawn.draw(st.sampled_from(sorted(WIRES))), drawn.draw(st.sampled_from(sorted(WIRES)))
    history = read(drawn.draw(broken_messages(spoken)), spoken).messages
    policy = msgspec.structs.replace(
        POLICY,
        history_tokens=drawn.draw(st.sampled_from([20, 60, 400])),
        alternate=drawn.draw(st.booleans()),
        breakpoints=drawn.draw(st.booleans()),
    )
    sources = SOURCES[: drawn.draw(st.integers(0, 2))]
    system = system_prompt(drawn.draw(st.sampled_from(["", "be kind"])), wire)
    window = Window(Setup(policy=policy, sources=sources, system=system))
    for message in history:
        window.add(message)
        if drawn.draw(st.booleans()):
            anew = Outgoing(window.setup, window.counter, wire)
            assert outcome_of(window.outgoing(wire), window) == outcome_of(anew, window)


def grow(window: Window, script: Script, wire: str) -> list[Prepared]:
    requests = []
    for message in script.messages():
        window.add(message)
        requests.append(window.prepared(wire))
    return requests


def conversation(wire: str, turns: int) -> Script:
    script = Script(wire)
    for number in range(turns):
        script.user(words(30)).assistant(words(20), Call(f"c{number}")).results((f"c{number}", lines(10)))
        script.assistant(words(30))
    return script.user("and now?")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("sources", [(), SOURCES])
def test_a_request_looks_at_what_is_new_only(
    wire: str, sources: tuple[Source, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    take = Checking.take

    def counted(self: Checking, messages: Sequence[Message]) -> None:
        nonlocal looked
        looked += len(messages)
        take(self, messages)

    monkeypatch.setattr(Checking, "take", counted)
    script = conversation(wire, 40)
    window = Window(Setup(policy=Policy(counter="chars4", window=200_000), sources=sources))
    requests = grow(window, script, wire)
    assert window.frame.number == 0
    # At most twice: once while the turn is the current one, and once more when what stood beside it is gone. With a
    # call open, the stub that stands for its result is looked at too.
    most = 2 if sources else 1
    assert looked <= most * (len(script.said) + len(requests)) + 2 * len(requests)


def test_what_was_told_of_a_request_stays_true_of_it_when_the_window_goes_on() -> None:
    script = conversation("openai-chat", 30)
    window, kept = Window(Setup(policy=POLICY)), []
    for message in script.messages():
        window.add(message)
        anew = Outgoing(window.setup, window.counter, "openai-chat").prepared(window.fold)
        kept.append((window.prepared("openai-chat"), told(anew)))
    assert window.frame.number > 1
    assert [told(prepared) for prepared, _ in kept] == [then for _, then in kept]


def test_another_fold_of_the_same_frame_is_not_taken_for_this_one() -> None:
    script = conversation("openai-chat", 3)
    messages = script.messages()
    window = Window(Setup(policy=POLICY))
    for message in messages[:6]:
        window.add(message)
    before = window.fold.copy()
    for message in messages[6:]:
        window.add(message)
    window.prepared("openai-chat")
    window.fold = before
    anew = Outgoing(window.setup, window.counter, "openai-chat").prepared(before)
    assert told(window.prepared("openai-chat")) == told(anew)


def test_a_copy_of_a_window_goes_on_from_its_requests() -> None:
    messages = conversation("openai-chat", 3).messages()
    window = Window(Setup(policy=POLICY, sources=SOURCES))
    for message in messages[:6]:
        window.add(message)
    window.prepared("openai-chat")
    twin = window.copy()
    for message in messages[6:]:
        twin.add(message)
    anew = Outgoing(window.setup, window.counter, "openai-chat")
    assert told(twin.prepared("openai-chat")) == told(anew.prepared(twin.fold))
    assert told(window.prepared("openai-chat")) == told(anew.prepared(window.fold))


def test_a_request_that_gives_way_leaves_the_next_one_as_it_was() -> None:
    policy = Policy(counter="chars4", history_tokens=900, window=1_000, reserve_tokens=0)
    window = Window(Setup(policy=policy, system=system_prompt(words(50), "openai-chat")))
    for message in conversation("openai-chat", 5).messages():
        window.add(message)
        try:
            window.prepared("openai-chat")
        except WindowOverflow:
            continue
        anew = Outgoing(window.setup, window.counter, "openai-chat").prepared(window.fold)
        assert told(window.outgoing("openai-chat").prepared(window.fold)) == told(anew)


def test_merged_messages_stand_at_no_single_place_of_the_log() -> None:
    script = Script("openai-chat").user("one").assistant("yes").user("two").user("three").assistant("no").user("four")
    window = Window(Setup(policy=msgspec.structs.replace(POLICY, alternate=True)))
    for message in script.messages():
        window.add(message)
    prepared = window.prepared("openai-chat")
    assert [message.text for message, _ in prepared.sent] == ["one", "yes", "two\n\nthree", "no", "four"]
    assert list(prepared.positions) == [0, 1, -1, 4, 5]
    assert [said["content"] for said in prepared.messages] == ["one", "yes", "two\n\nthree", "no", "four"]
