"""What goes out agrees with itself: body and request, ledger and sources, limits and answers."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sash.core.budget import Allotment, Budget
from sash.core.model_limits import ModelLimits
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.errors import BodyTooLarge, InvalidMessage, InvalidPolicy
from sash.fitting import fit
from sash.store import MemoryStore
from sash.thread import open_thread
from tests.builders import Script, words

COUNTED = Policy(counter="chars4", window=20_000)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def growing(turns: int) -> list[dict[str, Any]]:
    script = Script()
    for _ in range(turns):
        script.turn(ask=100, answer=100)
    return script.user("and now?").said


def test_a_large_answer_moves_the_boundary_only_onward() -> None:
    boundaries = [
        fit(growing(turns), policy=COUNTED, max_tokens=8_000).report.frame.boundary for turns in range(1, 120, 3)
    ]
    assert boundaries == sorted(boundaries)
    assert boundaries[-1] > 1


def test_the_budget_stays_in_force_beside_a_large_answer() -> None:
    budget = Budget(knowledge=Allotment(tokens=100, ceiling=100))
    policy = Policy(counter="chars4", window=20_000, budget=budget)
    source = Source("wiki", "\n".join(["a line"] * 500))
    for answer in (None, 9_000):
        fitted = fit(growing(3), policy=policy, sources=[source], max_tokens=answer)
        assert fitted.report.ledger.row("knowledge").given == 100
        assert [repair.what for repair in fitted.report.repairs] == ["cut-source"]


def test_what_stands_at_the_head_does_not_depend_on_what_stands_with_the_input() -> None:
    head = Source("knowledge", "\n".join(["a line of knowledge"] * 3_000))
    beside = Source("skills", "\n".join(["a skill"] * 3_000), stable=False)
    alone = fit(growing(3), policy=COUNTED, sources=[head])
    both = fit(growing(3), policy=COUNTED, sources=[head, beside])
    assert both.messages[0] == alone.messages[0]
    assert len(both.messages) == len(alone.messages) + 1


def test_the_ledger_tells_what_is_used() -> None:
    fitted = fit(growing(5), policy=COUNTED, system="be kind " * 40, tools=[TOOL])
    used = {row.source: row.used.value for row in fitted.report.ledger.rows if row.source != "reserve"}
    assert used["history"] == fitted.report.after.value
    assert used["system"] >= 80
    assert sum(used.values()) == fitted.tokens.value


def test_body_and_request_agree_on_tools_and_system() -> None:
    body = {"model": "m", "tools": [TOOL], "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5}
    fitted = fit(body, tools=[])
    assert "tools" not in fitted.request
    assert json.loads(fitted.body) == {"model": "m", "messages": body["messages"], "temperature": 0.5}
    spoken = {"system": "old", "messages": body["messages"]}
    fitted = fit(spoken, wire="anthropic", system=[{"type": "text", "text": "new"}])
    assert fitted.request["system"] == json.loads(fitted.body)["system"] == [{"type": "text", "text": "new"}]
    assert "system" not in fit(spoken, wire="anthropic", system="").request
    assert "tools" not in fit({**body, "tools": []}).request


def test_a_system_prompt_on_chat_stands_before_the_messages() -> None:
    fitted = fit([{"role": "user", "content": "hi"}], system="be kind")
    assert fitted.messages[0] == {"role": "system", "content": "be kind"}


def test_a_lone_surrogate_anywhere_is_sent_as_a_replacement_and_reported() -> None:
    body = rb'{"user":"\ud83d","messages":[{"role":"user","content":"\ud83d"}]}'
    fitted = fit(body)
    assert json.loads(fitted.body) == {"user": "\ufffd", "messages": [{"role": "user", "content": "\ufffd"}]}
    assert [(repair.what, repair.message) for repair in fitted.report.repairs] == [("lone-surrogate", 0)]


def test_more_bytes_than_a_provider_takes_are_one_error() -> None:
    with pytest.raises(BodyTooLarge, match=r"bytes of at most 1,000;") as raised:
        fit([{"role": "user", "content": "x" * 100_000}], policy=Policy(body_bytes=1_000))
    assert raised.value.size > 100_000


@pytest.mark.parametrize("policy", [Policy(counter="chars4"), Policy.sliding()])
def test_bytes_leave_with_their_turns(policy: Policy) -> None:
    fitted = fit(growing(120), policy=msgspec.structs.replace(policy, body_bytes=50_000))
    assert fitted.report.frame.reason == "bytes"
    assert len(fitted.body) <= 50_000


def test_a_flat_prompt_names_what_has_no_place_in_it() -> None:
    said = [{"role": "system", "content": "be kind"}, *growing(12)]
    fitted = fit(said, wire="flat", policy=Policy.recent(turns=3), sources=[Source("skills", "x")])
    assert [repair.why.split()[0] for repair in fitted.report.repairs] == ["system", "sources"]
    assert fitted.report.turns_in == (10, 11, 12, 13)
    assert list(json.loads(fitted.body)) == ["prompt"]


def test_a_known_history_with_something_after_it_is_no_history() -> None:
    good = b'[{"role":"user","content":"only here"}]'
    assert fit(good).messages
    for bad in (good + b"]", good + b"{}]", good[:-1] + b",]"):
        with pytest.raises(InvalidMessage):
            fit(bad)


def test_all_of_a_result_comes_back_also_its_images() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "ok"}, image]}
    said = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "server_tool_use", "id": "s"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]},
        {"role": "user", "content": [result]},
    ]
    fitted = fit(said, wire="anthropic")
    assert fitted.expand("2.0") == "ok\nAAAA"
    assert fitted.expand("1.0") == '{"x":1}'
    assert fitted.expand("0.1") == '{"type":"server_tool_use","id":"s"}'


def test_reasoning_of_responses_that_is_left_out_takes_the_ids_of_what_it_led_to_along() -> None:
    items: list[dict[str, Any]] = []
    for turn in range(8):
        call = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"c{turn}", "name": "f", "arguments": "{}"}
        items += [
            {"role": "user", "content": words(60)},
            {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": "x" * 40},
            call,
            {"type": "function_call_output", "call_id": f"c{turn}", "output": words(60)},
            {
                "type": "message",
                "role": "assistant",
                "id": f"msg_{turn}",
                "content": [{"type": "output_text", "text": "so"}],
            },
        ]
    items.append({"role": "user", "content": "and now?"})
    fitted = fit(items, wire="openai-responses", policy=Policy(counter="chars4", history_tokens=800))
    assert fitted.report.frame.number
    reasoned = {item["id"][3:] for item in fitted.messages if item.get("type") == "reasoning"}
    called = {item["id"][3:] for item in fitted.messages if item.get("type") == "function_call" and "id" in item}
    assert called <= reasoned


def test_wrong_arguments_are_errors_of_ours() -> None:
    said = [{"role": "user", "content": "hi"}]
    with pytest.raises(InvalidPolicy, match="policy is"):
        fit(said, policy={"history_tokens": 5})  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(InvalidPolicy, match="max_tokens is -1"):
        fit(said, max_tokens=-1)


def test_a_fitted_request_says_what_it_is() -> None:
    assert repr(fit(growing(1), policy=COUNTED)).startswith("<Fitted: ~")
    assert not fit(growing(1), model="nobody-knows-me").report.window_known
    stated = Policy(models=(ModelLimits(model="nobody-knows-me", window=9_000),), default_window=5_000)
    known, unknown = (fit(growing(1), model=model, policy=stated).report for model in ("nobody-knows-me", "nor-me"))
    assert (known.window, known.window_known) == (9_000, True)
    assert (unknown.window, unknown.window_known) == (5_000, False)


def test_the_size_of_a_body_is_that_of_its_bytes() -> None:
    said = [{"role": "user", "content": "é" * 100}]
    body = {"model": "gpt-5", "messages": said, "temperature": 1}
    for fitted in (fit(said), fit(body), fit(said, tools=[], system="Be brief.")):
        assert fitted.size == len(fitted.body)
    exact = len(fit(said).body)
    assert fit(said, policy=Policy(body_bytes=exact)).size == exact
    with pytest.raises(BodyTooLarge):
        fit(said, policy=Policy(body_bytes=exact - 1))


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "openai-responses"])
def test_a_system_prompt_that_is_none_is_told_by_its_own_name(wire: str) -> None:
    with pytest.raises(InvalidMessage, match=r"^system: must be text"):
        fit([{"role": "user", "content": "hi"}], wire=wire, system=5)
    with pytest.raises(InvalidMessage, match=r"^system\[0\].text: is missing"):
        fit([{"role": "user", "content": "hi"}], wire="anthropic", system=[{"type": "text"}])


def test_a_flat_prompt_explains_which_turns_have_no_room_in_it() -> None:
    said: list[dict[str, Any]] = []
    for number in range(6):
        said += [{"role": "user", "content": f"q {number} " + "w " * 20}, {"role": "assistant", "content": "a " * 40}]
    said.append({"role": "user", "content": "now?"})
    policy = Policy.recent(3, max_chars=400)
    fitted = fit(said, wire="flat", policy=policy)
    thread = open_thread("t", store=MemoryStore(), policy=policy)
    thread.append(said)
    for explained in (fitted.explain(), thread.explain()):
        live = {turn.number: turn.reason for turn in explained.turns if turn.state == "live"}
        told = {number for number, reason in live.items() if "max_chars" not in reason}
        assert told == {*fitted.report.turns_in} < {*live}


def test_what_a_provider_ran_leaves_with_the_reasoning_that_led_to_it() -> None:
    said: list[Any] = []
    for number in range(4):
        said += [
            {"role": "user", "content": words(40)},
            {"type": "reasoning", "id": f"rs_{number}", "summary": []},
            {"type": "web_search_call", "id": f"ws_{number}", "status": "completed"},
            {"role": "assistant", "type": "message", "id": f"msg_{number}", "content": "A."},
        ]
    fitted = fit([*said, {"role": "user", "content": "?"}], wire="openai-responses", policy=Policy(history_tokens=250))
    assert fitted.report.frame.number > 0
    ids = {item["id"] for item in fitted.messages if "id" in item}
    assert len(ids) % 3 == 0 < len(fitted.report.repairs)
    for number in range(4):
        assert len({f"rs_{number}", f"ws_{number}", f"msg_{number}"} & ids) in (0, 3)
    assert {made.what for made in fitted.report.repairs} == {"unled-item"}
    whole = fit(said, wire="openai-responses")
    assert (whole.messages, whole.report.repairs) == (said, ())
