"""A window answers as `fit` does, message by message, and tells where its tokens go."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sash.core.policy import Policy
from sash.core.sources import Source
from sash.core.state import FoldState
from sash.errors import BodyTooLarge, WindowOverflow
from sash.fitting import fit
from sash.window import Setup, Window, system_prompt
from sash.wire import read_tools
from tests.builders import WIRES, Call, Script, lines, words

SMALL = Policy(counter="chars4", history_tokens=2_000, window=20_000)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def conversation(wire: str) -> Script:
    script = Script(wire)
    for number in range(12):
        script.user(words(60)).assistant(words(20), Call(f"c{number}")).results((f"c{number}", lines(40)))
        script.assistant(words(30))
    return script.user("and now?")


def grown(script: Script, setup: Setup) -> Window:
    window = Window(setup)
    for message in script.messages():
        window.add(message)
    return window


@pytest.mark.parametrize("wire", WIRES)
def test_a_window_gives_the_request_that_fit_gives(wire: str) -> None:
    script = conversation(wire)
    prepared = grown(script, Setup(policy=SMALL)).prepared(wire)
    fitted = fit(script.said, wire=wire, policy=SMALL)
    assert prepared.request == fitted.request
    assert prepared.tokens == fitted.tokens
    assert prepared.report == fitted.report
    assert prepared.report.turns_out


def test_turns_that_left_are_told_in_order_whichever_left_first() -> None:
    script = Script()
    for number in range(30):
        script.user("always use tabs" if number % 3 else "hm").assistant(words(150))
    policy = msgspec.structs.replace(Policy.priority(4_000), counter="chars4")
    out = grown(script.user("go"), Setup(policy=policy)).prepared("openai-chat").report.turns_out
    assert out
    assert list(out) == sorted(out)


def test_a_system_prompt_among_the_messages_counts_from_then_on() -> None:
    script = Script().system(words(5_000)).turn().user("go")
    window = grown(script, Setup(policy=SMALL))
    assert window.fold.limits == fit(script.said, policy=SMALL).fold.limits
    assert window.fold.limits.fixed > 5_000


def test_the_context_adds_up_and_the_pressure_follows_it() -> None:
    setup = Setup(
        model="gpt-5",
        policy=SMALL,
        system=system_prompt("be kind " * 40, "openai-chat"),
        tools=read_tools([TOOL], "openai-chat"),
        sources=(Source("wiki", words(50)),),
    )
    window = grown(conversation("openai-chat"), setup)
    context = window.context()
    used = {row.source: row.used.value for row in context.ledger.rows if row.source != "reserve"}
    assert sum(used.values()) + context.around == context.used.value == window.prepared("openai-chat").tokens.value
    assert used["system"] >= 80
    assert used["tools"] > 0
    assert used["knowledge"] == 50
    assert used["history"] == window.fold.tokens
    assert context.pressure == window.pressure()
    assert context.pressure.used == context.used
    assert (context.window, context.window_known, context.counter) == (20_000, True, "chars4")
    assert context.turns == len(window.fold.turns)


def test_what_the_provider_reports_scales_every_number() -> None:
    window = grown(Script().turn(ask=100, answer=100).user("go"), Setup(policy=SMALL))
    plain, before = window.context(), window.prepared("openai-chat").tokens
    window.fold.factor = 1.5
    told = window.context()
    assert told.ledger.row("history").used.value == pytest.approx(plain.ledger.row("history").used.value * 1.5, abs=1)
    assert not told.used.exact
    assert window.prepared("openai-chat").tokens.value == pytest.approx(before.value * 1.5, abs=1)


def test_reports_teach_nothing_of_the_system_prompt_and_the_meter_tells_what_is_sent() -> None:
    setup = Setup(policy=SMALL, system=system_prompt(words(200), "openai-chat"))
    window = grown(Script().turn(ask=100, answer=100).user("go"), setup)
    plain = window.context()
    window.fold.factor, window.fold.beyond = 1.5, 10.0
    told = window.context()
    assert told.used == window.prepared("openai-chat").tokens
    assert told.used.value - plain.used.value == window.fold.total.value - window.fold.tokens


def test_turns_tell_where_each_stands() -> None:
    window = grown(conversation("anthropic"), Setup(policy=SMALL))
    states = [turn.state for turn in window.turns()]
    assert [turn.number for turn in window.turns()] == list(range(1, 14))
    assert states == sorted(states, key=("evicted", "carried", "live").index)
    assert "evicted" in states
    assert window.explain().boundary == window.frame.boundary


def test_a_request_that_alone_is_too_large_gives_way_and_the_window_does_not() -> None:
    policy = Policy(counter="chars4", window=3_000, fixed_tokens=0, soft_share=1.0)
    script = Script().turn(ask=400, answer=400).turn(ask=400, answer=400)
    window = grown(script.user("go").assistant(words(1_500), Call("a")), Setup(policy=policy))
    frame = window.frame
    prepared = window.prepared("openai-chat")
    assert window.frame is frame
    assert prepared.report.frame.reason == "window"
    assert prepared.tokens.value <= window.fold.limits.hard


def test_what_may_not_be_left_out_is_an_error_that_names_the_sizes() -> None:
    policy = Policy(counter="chars4", window=3_000)
    with pytest.raises(WindowOverflow, match="user's own words"):
        grown(Script().user(words(4_000)), Setup(policy=policy)).prepared("openai-chat")
    with pytest.raises(BodyTooLarge):
        grown(Script().user(words(500)), Setup(policy=Policy(body_bytes=300))).prepared("anthropic")


def test_the_difference_of_two_requests_tells_what_of_the_cache_survived() -> None:
    window = grown(Script().turn().user("go"), Setup(policy=SMALL))
    before = window.prepared("openai-chat")
    for message in Script().assistant("done").user("more").messages():
        window.add(message)
    difference = window.prepared("openai-chat").since(before)
    assert difference.grew
    assert [change.title for change in difference.entered] == ["done", "more"]


def test_a_window_goes_on_from_its_state_as_if_it_had_never_stopped() -> None:
    script, setup = conversation("openai-chat"), Setup(policy=SMALL)
    log = script.messages()
    for cut in range(0, len(log), 5):
        window = Window(setup)
        for message in log[:cut]:
            window.add(message)
        state = msgspec.json.decode(msgspec.json.encode(FoldState.of(window.fold)), type=FoldState)
        again = Window.resumed(setup, state, lambda positions: [log[position] for position in positions])
        for message in log[cut:]:
            assert again.add(message) == window.add(message)
        assert again.prepared("openai-chat").body == window.prepared("openai-chat").body


def test_a_copy_goes_on_by_itself() -> None:
    window = grown(Script().turn(), Setup(policy=SMALL))
    twin = window.copy()
    for message in Script().user("more").messages():
        twin.add(message)
    assert (len(window.fold), len(twin.fold)) == (2, 3)


def test_a_flat_prompt_is_made_from_the_newest_turns() -> None:
    window = grown(Script().turn().turn().user("and now?"), Setup(policy=Policy.recent(1)))
    request: dict[str, Any] = window.prepared("flat").request
    assert list(request) == ["prompt"]
    assert request["prompt"].endswith("[Current User Input]\nand now?")


def test_of_a_flat_prompt_that_has_every_word_nothing_is_unsent() -> None:
    script = Script()
    for _ in range(8):
        script.user(words(60)).assistant(words(60))
    window = grown(script, Setup(policy=Policy.recent()))
    assert window.context().unsent == 0
    for message in Script().user("and now?").messages():
        window.add(message)
    assert window.context().unsent == 0
    assert len(window.fold.turns) == 9


def test_what_a_flat_prompt_leaves_out_is_told_as_unsent() -> None:
    script = Script().turn().user("look").assistant("so", Call("c")).results(("c", lines(40))).assistant("seen")
    policy = msgspec.structs.replace(Policy.recent(), counter="chars4")
    window = grown(script.user("and now?"), Setup(policy=policy))
    sizes = [(live.message, live.size.tokens) for live in window.fold.window()]
    result = next(tokens for message, tokens in sizes if message.role == "tool")
    called = next(message for message, _ in sizes if message.opened())
    assert window.context().unsent == result + window.counter.block(called.blocks[-1]).value


def test_turns_that_a_flat_prompt_has_no_room_for_are_told_as_unsent() -> None:
    policy = msgspec.structs.replace(Policy.recent(max_chars=400), counter="chars4")
    window = grown(Script().user("x" * 4_000).assistant("done").user("and now?"), Setup(policy=policy))
    assert window.prepared("flat").report.turns_in == (2,)
    assert window.context().unsent == window.fold.turns[1].tokens > 1_000


def test_the_end_of_an_input_that_is_too_long_is_told_as_unsent() -> None:
    policy = msgspec.structs.replace(Policy.recent(max_chars=400), counter="chars4")
    context = grown(Script().user("x" * 4_000), Setup(policy=policy)).context()
    assert (context.used.value, context.unsent) == (100, 900)


def test_no_system_prompt_is_no_message() -> None:
    assert system_prompt("", "anthropic") == ()
    assert [message.role for message in system_prompt([{"type": "text", "text": "hi"}], "anthropic")] == ["system"]
