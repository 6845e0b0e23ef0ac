"""`sash.fit`: the caller's own objects, exact bytes, one answer where nothing fits."""

from __future__ import annotations

import copy
import json
import logging
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from sash.core.frame import Frame
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.errors import InvalidArgument, InvalidRequest, UnknownHandle, WindowOverflow
from sash.fitting import Fitted, fit
from sash.store import MemoryStore
from sash.thread import open_thread
from tests.builders import WIRES, Call, Script, lines, words

COUNTED = Policy(counter="chars4")
SMALL = Policy(counter="chars4", history_tokens=1_000)


def chat(turns: int, wire: str = "openai-chat") -> Script:
    script = Script(wire)
    for _ in range(turns):
        script.turn(ask=50, answer=50)
    return script.user("and now?")


@pytest.mark.parametrize("wire", WIRES)
def test_what_fits_goes_as_it_came(wire: str) -> None:
    said = chat(3, wire).said
    before = copy.deepcopy(said)
    fitted = fit(said, wire=wire, policy=COUNTED)
    assert all(sent is given for sent, given in zip(fitted.messages, said, strict=True))
    assert said == before
    assert fitted.report.ratio == 0
    assert fitted.report.fits
    spaced = json.dumps(
        {"model": "x", ("input" if wire == "openai-responses" else "messages"): said}, indent=3
    ).encode()
    assert fit(spaced, wire=wire, policy=COUNTED).body == spaced


@pytest.mark.parametrize("wire", WIRES)
def test_what_does_not_fit_keeps_the_callers_objects_where_they_are_untouched(wire: str) -> None:
    said = chat(20, wire).said
    before = copy.deepcopy(said)
    fitted = fit(said, wire=wire, policy=SMALL)
    assert said == before
    assert fitted.messages[-1] is said[-1]
    assert fitted.messages[0]["content"].startswith("[sash: earlier turns left this window")
    field = "input" if wire == "openai-responses" else "messages"
    assert fitted.request[field] == fitted.messages == json.loads(fitted.body)[field]
    assert fitted.report.turns_out[0] == 1
    assert fitted.report.turns_in[-1] == 21
    assert 0 < fitted.report.ratio < 1


def test_a_body_with_a_field_of_its_own_called_call_id_is_a_body() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "call_id": "x"}
    assert fit(body, wire="openai-chat").messages == body["messages"]


def test_one_message_that_left_and_one_that_was_added_are_not_taken_for_nothing_changed() -> None:
    said = Script().user(words(900)).turn(ask=50, answer=50).user(words(600)).said
    fitted = fit(said, policy=SMALL)
    assert len(fitted.messages) <= len(said)
    assert fitted.messages[0] != said[0]


@pytest.mark.parametrize("tail", [b"", b"\n", b"  \r\n"])
def test_white_space_after_the_list_changes_nothing(tail: bytes) -> None:
    given = json.dumps(chat(4).said).encode() + tail
    first, again = fit(given, policy=COUNTED), fit(given, policy=COUNTED)
    assert first.messages == again.messages


def test_a_system_prompt_among_the_messages_takes_its_room_from_history() -> None:
    script = Script().system(words(60_000))
    for _ in range(60):
        script.turn(ask=500, answer=500)
    fitted = fit(script.user("and?").said, policy=COUNTED)
    assert fitted.tokens.value <= 115_200
    apart = fit(script.said[1:], policy=COUNTED, system=words(60_000))
    assert fitted.report.turns_in == apart.report.turns_in
    assert fitted.messages[1:] == apart.messages[1:]


def test_system_tools_and_sources_stand_before_what_was_said() -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
    fitted = fit(chat(1).said, policy=COUNTED, system="be brief", tools=[tool], sources=[Source("skills", "how to")])
    assert [message["role"] for message in fitted.messages[:2]] == ["system", "user"]
    assert "how to" in fitted.messages[1]["content"]
    assert fitted.request["tools"] == [tool]


def test_the_answer_that_is_asked_for_has_its_room() -> None:
    policy = Policy(counter="chars4", window=10_000, history_tokens=0)
    said = chat(60).said
    roomy, tight = fit(said, policy=policy), fit(said, policy=policy, max_tokens=6_000)
    assert tight.tokens.value <= 4_000
    assert len(tight.report.turns_in) < len(roomy.report.turns_in)
    body: dict[str, Any] = {"model": "x", "messages": said, "max_tokens": 6_000}
    assert fit(body, policy=policy).tokens == tight.tokens


def test_a_frame_is_told_of_once_when_it_is_made(caplog: pytest.LogCaptureFixture) -> None:
    frames: list[Frame] = []
    script = Script()
    with caplog.at_level(logging.INFO, logger="sash"):
        for number in range(30):
            fit(script.user(f"{number} {words(60)}").said, policy=SMALL, on_frame=frames.append)
            script.assistant("ok")
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
    assert len(caplog.records) == len(frames) > 1


def test_a_frame_that_was_made_when_a_turn_closed_is_told_of_with_the_next_request() -> None:
    frames: list[Frame] = []
    script = Script()
    for number in range(12):
        fit(script.user(f"{number} {words(60)}").said, policy=Policy.sliding(200), on_frame=frames.append)
        script.assistant(words(20))
    made = fit(script.user("last").said, policy=Policy.sliding(200), on_frame=frames.append).report.frame.number
    assert [frame.number for frame in frames] == list(range(1, made + 1))
    assert made > 3


def test_a_frame_is_told_of_also_where_the_user_speaks_twice_before_the_next_request() -> None:
    frames: list[Frame] = []
    script = chat(8)
    fit(script.said, policy=SMALL, on_frame=frames.append)
    before = len(frames)
    fitted = fit(script.user(words(400)).user("y").said, policy=SMALL, on_frame=frames.append)
    assert fitted.report.frame.at < len(script.said)
    assert frames[before:][-1] == fitted.report.frame


def test_a_request_that_gives_way_alone_says_so_and_announces_no_frame() -> None:
    frames: list[Frame] = []
    policy = Policy(counter="chars4", window=2_000, history_tokens=0, trigger_share=1.0, fixed_tokens=0)
    said = chat(20).user("go").assistant(words(1_500), Call("a")).said
    fitted = fit(said, policy=policy, on_frame=frames.append)
    kept = fit(said[:-1], policy=policy)
    assert (fitted.report.recorded, kept.report.recorded) == (False, True)
    assert fitted.report.frame.reason == "window"
    assert fitted.report.frame not in frames


def test_where_the_window_would_overflow_thinking_leaves_for_good_also_where_that_is_not_enough_for_the_mark() -> None:
    script = Script("anthropic").turn(ask=30, answer=5).user("go")
    for number in range(6):
        script.assistant("", Call(f"c{number}"), thinking=words(40)).results((f"c{number}", words(440)))
    policy = Policy.threshold(3_000)
    first = fit(script.said, wire="anthropic", policy=policy)
    assert (first.report.recorded, first.report.fits, first.report.frame.number) == (True, False, 1)
    again = fit(script.assistant("done").user("next").said, wire="anthropic", policy=policy)
    assert again.report.frame == first.report.frame
    assert again.messages[: len(first.messages)] == first.messages


@pytest.mark.parametrize(
    ("model", "roles"),
    [
        ("claude-sonnet-4-5", ["user", "user", "assistant", "user"]),
        ("claude-opus-4-8", ["user", "system", "assistant", "user"]),
        ("claude-fable-5-1", ["user", "system", "assistant", "user"]),
        ("anthropic/claude-opus-4.9", ["user", "system", "assistant", "user"]),
        ("claude-opus-4-10", ["user", "system", "assistant", "user"]),
        ("", ["user", "user", "assistant", "user"]),
        ("glm-5", ["user", "system", "assistant", "user"]),
        ("claude-3-5-sonnet", ["user", "user", "assistant", "user"]),
    ],
)
def test_the_system_speaks_among_the_messages_only_where_its_provider_takes_that(model: str, roles: list[str]) -> None:
    said = {"role": "system", "content": "a hook says: go on"}
    history = [{"role": "user", "content": "hi"}, said, {"role": "assistant", "content": "ok"}, said]
    fitted = fit(history, wire="anthropic", model=model)
    assert [message["role"] for message in fitted.messages] == roles
    assert [made.message for made in fitted.report.repairs] == [n for n in (1, 3) if fitted.messages[n] != said]
    assert "a hook says: go on" in str(fitted.messages[3])


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "flat"])
def test_a_request_tells_where_its_tokens_go_as_a_thread_does(wire: str) -> None:
    said = chat(12, "openai-chat" if wire == "flat" else wire).user("more").said
    policy = Policy.recent(3, counter="chars4") if wire == "flat" else SMALL
    fitted = fit(said, wire=wire, policy=policy)
    thread = open_thread("t", store=MemoryStore(), wire=wire, policy=policy)
    thread.append(said, wire="openai-chat" if wire == "flat" else wire)
    assert fitted.context() == thread.context()
    assert fitted.pressure() == thread.pressure()
    assert fitted.context().used == fitted.tokens


def test_the_context_of_a_request_that_gave_way_is_its_own() -> None:
    policy = Policy(counter="chars4", window=2_000, history_tokens=0, trigger_share=1.0, fixed_tokens=0)
    fitted = fit(chat(12).user(words(600)).said, policy=policy, system=words(500))
    assert fitted.context().used == fitted.tokens
    assert fitted.context().boundary == fitted.report.frame.boundary


def test_a_request_is_given_also_where_whoever_is_told_of_its_frame_fails(caplog: pytest.LogCaptureFixture) -> None:
    def broken(frame: Frame) -> None:
        raise KeyError(frame.reason)

    said = chat(20).user("more").said
    whole = next(said[:end] for end in range(1, len(said)) if fit(said[:end], policy=SMALL).report.frame.number)
    assert fit(whole, policy=SMALL, on_frame=broken).body == fit(whole, policy=SMALL).body
    assert "frame 1: on_frame failed; the frame stands" in caplog.text


def test_a_policy_may_ask_for_strict_turns_of_speech_and_for_breakpoints() -> None:
    roles = [m["role"] for m in fit(chat(20).said, policy=msgspec.structs.replace(SMALL, alternate=True)).messages]
    assert all(one != other for one, other in pairwise(roles))
    said = chat(20, "anthropic").said
    marked = fit(said, wire="anthropic", policy=msgspec.structs.replace(SMALL, breakpoints=True))
    assert b"cache_control" in marked.body
    assert not any("cache_control" in str(message) for message in said)


def test_a_flat_prompt_is_one_text() -> None:
    fitted = fit(Script().turn().user("and now?").said, wire="flat", policy=Policy.recent())
    assert "[Current User Input]\nand now?" in fitted.request["prompt"]
    assert fitted.messages == [fitted.request["prompt"]]


def test_every_turn_is_explained() -> None:
    explained = fit(chat(20).said, policy=SMALL).explain()
    assert len(explained.turns) == 21


def test_the_answer_asked_for_is_left_free_to_the_token() -> None:
    fitted = fit(chat(3).said, policy=COUNTED, max_tokens=50_000)
    assert fitted.report.ledger.row("reserve").given == 50_000
    said = Script().user(words(77_000)).said
    assert fit(said, policy=COUNTED, max_tokens=50_000).tokens.value <= 78_000


# Loops cannot happen: one answer, one explanation.


def test_a_fixed_part_over_the_window_is_one_error_that_names_it() -> None:
    with pytest.raises(WindowOverflow, match=r"the system prompt alone takes .* of a window of 128,000") as raised:
        fit(chat(3).said, policy=COUNTED, system=words(130_000))
    assert raised.value.fixed.value >= 130_000
    with pytest.raises(WindowOverflow, match="the system prompt alone"):
        fit(Script().system(words(130_000)).user("hi").said, policy=COUNTED)


def test_the_users_own_words_over_the_window_are_one_error_and_past_ones_are_none() -> None:
    script = chat(3)
    said = [*script.said[:-1], {"role": "user", "content": words(130_000)}]
    with pytest.raises(WindowOverflow, match="the user's own words"):
        fit(said, policy=COUNTED)
    later = [*said, {"role": "assistant", "content": "too long"}, {"role": "user", "content": "sorry"}]
    assert fit(later, policy=COUNTED).report.fits


def test_one_turn_over_the_window_goes_on_with_digested_steps() -> None:
    script = Script("anthropic").user("go")
    for number in range(300):
        script.step(f"c{number}", words(900))
    fitted = fit(script.said, wire="anthropic", policy=COUNTED)
    assert fitted.tokens.value < 128_000
    assert fitted.fold.frame.digested
    assert "earlier steps of this turn" in str(fitted.messages[1])


def test_a_paste_while_a_call_is_open_does_not_overflow_what_could_leave() -> None:
    script = Script()
    for _ in range(75):
        script.turn(ask=500, answer=500)
    script.user("go").assistant("", Call("a")).user(words(60_000))
    fitted = fit(script.said, policy=COUNTED)
    assert fitted.tokens.value <= 115_200
    assert fitted.report.frame.reason == "window"
    assert fitted.messages[-1] is script.said[-1]


def test_a_slide_that_frees_nothing_is_not_made_again_and_again() -> None:
    script = Script().user(words(1_500))
    frames = set()
    for number in range(20):
        script.assistant("", Call(str(number))).results((str(number), "x"))
        fitted = fit(script.said, policy=SMALL)
        frames.add(fitted.report.frame.number)
        assert not fitted.report.fits
        assert fitted.messages[0] is script.said[0]
    assert len(frames) <= 3


def test_an_unreachable_low_mark_gives_one_frame_and_then_rest() -> None:
    policy = Policy(counter="chars4", history_tokens=1_000, keep_share=0.01, min_turns=3)
    script = Script()
    for _ in range(3):
        script.turn(ask=150, answer=140)
    first = fit(script.user("a").said, policy=policy)
    second = fit(script.assistant("b").user("c").said, policy=policy)
    assert first.report.frame.number == second.report.frame.number or second.report.frame.freed > 0
    assert fit(script.said, policy=policy).report.frame == second.report.frame


# What was shortened comes back.


def shortened() -> Fitted:
    script = Script().user("go").step("a", lines(5_000)).step("b", "fine", arguments=json.dumps({"text": words(9_000)}))
    return fit(script.said, policy=Policy(counter="chars4", history_tokens=20_000))


def test_expand_gives_the_whole_back_by_lines_and_by_pattern() -> None:
    fitted = shortened()
    assert "expand '2.0' to see them" in fitted.messages[2]["content"]
    assert fitted.expand("2.0") == lines(5_000)
    assert fitted.expand("2.0", lines=(3, 4)) == "\n".join(lines(5_000).split("\n")[2:4])
    assert fitted.expand("2.0", grep=r"^ +4242 ") == lines(5_000).split("\n")[4241]
    assert fitted.expand("2.0", lines=(1, 10), grep=" 7 ") == lines(5_000).split("\n")[6]
    assert json.loads(fitted.expand("3.0")) == {"text": words(9_000)}
    assert fitted.expand("0.0") == "go"


@pytest.mark.parametrize("handle", ["", "x", "1", "1.2.3", "99.0", "2.7", "-1.0", "2.-1"])
def test_a_handle_that_names_nothing_is_an_error_of_ours(handle: str) -> None:
    with pytest.raises(UnknownHandle, match="no block has the handle"):
        shortened().expand(handle)


def test_a_picture_comes_back_as_it_was_given() -> None:
    fitted = fit(Script("anthropic").user("look", image="AAAA").said, wire="anthropic", policy=COUNTED)
    assert fitted.expand("0.1") == "AAAA"


def test_lines_and_patterns_that_are_none_are_told_with_what_would_be_one() -> None:
    fitted = fit([{"role": "user", "content": "one (\ntwo\nthree ("}])
    with pytest.raises(InvalidArgument, match="it takes a regular expression, and this has missing") as told:
        fitted.expand("0.0", grep="(")
    assert str(told.value).endswith(r"for the text itself write '\\('")
    assert fitted.expand("0.0", grep=r"\(") == "one (\nthree ("
    with pytest.raises(InvalidArgument, match="a last one that is not before it"):
        fitted.expand("0.0", lines=(3, 2))


@pytest.mark.parametrize("kept", [{"previous_response_id": "resp_1"}, {"conversation": {"id": "conv_1"}}])
def test_a_result_whose_call_the_provider_keeps_is_sent_as_it_is(kept: dict[str, Any]) -> None:
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}
    fitted = fit({"model": "gpt-5", **kept, "input": [output]}, wire="openai-responses")
    assert (fitted.messages, fitted.report.repairs) == ([output], ())
    both = fit({**kept, "input": [output, {"role": "user", "content": "and?"}]}, wire="openai-responses")
    assert (both.messages[0], both.report.repairs) == (output, ())
    (repair,) = fit({"input": [output]}, wire="openai-responses").report.repairs
    assert repair.what == "orphan-result"


def test_nothing_to_say_is_refused_unless_the_provider_keeps_something() -> None:
    for wire in ("openai-chat", "openai-responses", "anthropic"):
        with pytest.raises(InvalidRequest, match="no message at all"):
            fit([], wire=wire)
    for kept in ({"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"prompt": {"id": "pmpt_1"}}):
        body = {"model": "gpt-5", **kept, "input": []}
        assert json.loads(fit(body, wire="openai-responses").body) == body


def test_thinking_that_nobody_signed_goes_back_to_models_that_sign_none() -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]}
    history: list[dict[str, Any]] = [{"role": "user", "content": "go"}, thought, {"role": "user", "content": "on"}]
    assert fit(history, wire="anthropic", model="glm-4.7").messages == history
    left_out = fit(history, wire="anthropic", model="claude-opus-5")
    assert [repair.what for repair in left_out.report.repairs] == ["unsigned-thinking"]
