"""A request that does not fit: the error names what takes the most of it, why that stays, and what would help."""

from __future__ import annotations

from typing import Any

import pytest

from sash import Policy, WindowOverflow, fit
from sash.core.commands import pin
from sash.window import Setup, Window
from tests.builders import Script, words

TOOL = {"type": "function", "function": {"name": "look", "description": words(9_000), "parameters": {}}}
SMALL = Policy(counter="chars4", window=4_000)
HELLO = Script().user("hello").said


def refused(said: list[Any], **given: Any) -> WindowOverflow:
    with pytest.raises(WindowOverflow) as raised:
        fit(said, **given)
    return raised.value


def test_of_system_prompt_and_tools_the_larger_one_is_to_be_made_smaller() -> None:
    error = refused(HELLO, policy=SMALL, system=words(9_000))
    assert "the system prompt alone takes" in str(error)
    assert "; shorten the system prompt, or raise `window`" in str(error)
    error = refused(HELLO, policy=SMALL, tools=[TOOL])
    assert "tools alone take" in str(error)
    assert "; send fewer tools, or raise `window`" in str(error)
    error = refused(HELLO, policy=SMALL, system=words(300), tools=[TOOL])
    assert "system prompt and tools alone take" in str(error)
    assert ": tools ~9" in str(error)
    assert "; send fewer tools, or" in str(error)


def test_an_answer_that_leaves_no_room_is_named_with_the_largest_that_does() -> None:
    error = refused(HELLO, model="gpt-5", max_tokens=10**7)
    assert "the answer asked for (`max_tokens`) 10,000,000 of a window of 400,000" in str(error)
    assert f"ask for an answer of at most {400_000 - error.tokens.value:,}" in str(error)
    assert "tools" not in str(error)
    assert fit(HELLO, model="gpt-5", max_tokens=400_000 - error.tokens.value).tokens == error.tokens
    error = refused(Script().user(words(2_500)).said, policy=SMALL, max_tokens=2_000)
    assert "the user's own words ~2.5k; ask for an answer of at most 1,500" in str(error)
    assert "or shorten the input" in str(error)


def test_a_policy_that_shortens_nothing_is_told_from_what_the_user_said() -> None:
    script = Script()
    for _ in range(5):
        script.user("look").step("a", words(1_500)).assistant("seen")
    said = script.user("and now?").said
    policy = Policy.threshold(4_000)
    error = refused(said, policy=policy)
    assert next(iter(error.parts)) == "results"
    assert "of a window of 4,000: tool results ~4" in str(error)
    assert "its policy shortens no turn and keeps its newest 4 turns; lower `min_turns`" in str(error)
    table = {name: getattr(policy, name) for name in policy.__struct_fields__}
    assert fit(said, policy=Policy(**{**table, "min_turns": 1})).report.turns_in
    assert fit(said, policy=Policy(**{**table, "step_digest_tokens": 200})).report.turns_in
    alone = refused(Script().user("look").step("a", words(9_000)).said, policy=policy)
    assert "keeps the current turn; set `step_digest_tokens`, which lets it shorten, or raise" in str(alone)


def test_what_providers_add_to_messages_is_not_told_as_if_it_were_a_message() -> None:
    error = refused(Script().user(words(5_000)).said, model="gpt-5", policy=Policy(window=4_000))
    assert ", what stands around messages 7;" in str(error)


def test_what_the_user_said_is_to_be_shortened_and_a_model_can_read_more() -> None:
    error = refused(Script().user(words(300_000)).said, model="gpt-5", policy=Policy(counter="chars4"))
    assert "of the 272,000 tokens that the model reads: the user's own words" in str(error)
    assert "; shorten the input, or take a model that reads more" in str(error)
    assert "lower `reserve_tokens`" in str(refused(Script().user(words(3_800)).said, policy=SMALL))


def test_pins_are_named_where_they_are_what_stays() -> None:
    policy = Policy(counter="chars4", window=4_000, pin_tokens=3_500)
    window = Window(Setup(policy=policy))
    for message in Script().user("look").assistant(words(2_200)).user("go").messages():
        window.add(message)
    pin(window.fold, window.fold.turns[1])
    for message in Script().assistant("so").user(words(1_500)).messages():
        window.add(message)
    with pytest.raises(WindowOverflow, match=r"assistant's words ~2\.2k, the user's own words ~1\.5k.*unpin a turn"):
        window.prepared("openai-chat")


def test_a_window_without_any_room_is_told_as_such() -> None:
    error = refused(HELLO, model="gpt-5", policy=Policy(window=100, reserve_tokens=100))
    assert "what every request takes is 3 of a window of 100 with 100 kept for the answer" in str(error)
    assert str(error).endswith("; lower `reserve_tokens`, or raise `window`")
