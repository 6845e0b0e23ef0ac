"""`fit` needs no stored state: of a history that grows it sends what a thread sends, and keeps its prefix."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from sash.core.message import stands_beside
from sash.core.policy import Policy
from sash.errors import InvalidRequest, WindowOverflow
from sash.fitting import fit
from sash.store import MemoryStore
from sash.thread import open_thread
from sash.window import Prepared
from sash.wire import wire_named
from tests.builders import WIRES, Call, Script, lines, words
from tests.wire.strategies import broken_messages

POLICIES = (
    Policy(counter="chars4", history_tokens=300, window=8_000),
    Policy(counter="chars4", history_tokens=40, window=8_000, keep_share=0.3, min_turns=1),
    Policy(counter="chars4", history_tokens=400, window=600, fixed_tokens=0),
    Policy(counter="chars4", history_tokens=300, window=8_000, recall_tokens=150, keep_first=True),
    Policy.sliding(200),
    Policy.priority(300),
)
texts = st.one_of(st.integers(1, 60).map(words), st.sampled_from(["", "ok", words(300), lines(60)]))


@st.composite
def histories(draw: st.DrawFn, wire: str) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for kind in draw(st.lists(st.sampled_from(["turn", "steps", "calls", "user", "orphan", "broken"]), min_size=1)):
        script = Script(wire)
        if kind == "turn":
            script.user(draw(texts)).assistant(draw(texts) or "done")
        elif kind == "steps":
            script.step("a", draw(texts)).step("b", draw(texts))
        elif kind == "calls":
            script.assistant("", Call("a"), Call("b")).results(("b", draw(texts)))
        elif kind == "user":
            script.user(draw(texts))
        elif kind == "orphan":
            script.results(("a", "late"))
        said += script.said or draw(broken_messages(wire, max_size=2))
    return said


def told(prepare: Callable[[], Prepared]) -> Prepared | str:
    """A request, or why there is none."""
    try:
        return prepare()
    except (InvalidRequest, WindowOverflow) as error:
        return str(error)


@settings(max_examples=40)
@given(wire=st.sampled_from(WIRES), policy=st.sampled_from(POLICIES), drawn=st.data())
def test_fit_sends_what_a_thread_sends_and_between_frames_only_grows(
    wire: str, policy: Policy, drawn: st.DataObject
) -> None:
    history = drawn.draw(histories(wire))
    thread = open_thread("t", store=MemoryStore(), wire=wire, policy=policy)
    last: tuple[object, list[bytes]] | None = None
    for length, item in enumerate(history, start=1):
        thread.append(item)
        if not thread.window.fold.placed.request_point:
            continue
        sent = told(thread.prepared)
        fitted = told(partial(fit, history[:length], wire=wire, policy=policy))
        if isinstance(fitted, str):
            assert fitted == sent
            last = None
            continue
        assert isinstance(sent, Prepared)
        assert fitted.body == sent.body
        frame, spoken = fitted.report.frame, wire_named(wire)
        # What stands with the current input leaves with it.
        said = [spoken.write_message(one) for one in fitted.said() if not any(map(stands_beside, one.blocks))]
        assert last is None or last[0] != frame or said[: len(last[1])] == last[1], "the head moved without a frame"
        last = (frame, said)
