"""Histories from outside made valid: deterministically, once for all, and never differently later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.message import BESIDE, Message, Text, ToolCall, ToolResult
from sash.core.turn import Grouping
from sash.errors import InvalidRequest
from sash.wire import Preparing, check, prepare, read, repair, wire_named, write_fields
from sash.wire.repair import BEGINS, EMPTY, INTERRUPTED, ORPHAN, UNNAMED, Mending
from tests.wire.strategies import FIELDS, WIRES, broken_messages


def messages(history: Sequence[Any], wire: str) -> tuple[Message, ...]:
    return read(history, wire).messages


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_what_was_repaired_is_valid(wire: str, drawn: st.DataObject) -> None:
    history = messages(drawn.draw(broken_messages(wire)), wire)
    try:
        sent = prepare(history, wire)
    except InvalidRequest as error:
        assert error.problems[0].startswith("no message")  # noqa: PT017  (most repairs do not raise)
        return
    assert wire_named(wire).problems(sent.messages) == ()
    assert prepare(sent.messages, wire).messages == sent.messages


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_repairing_what_was_repaired_changes_nothing(wire: str, drawn: st.DataObject) -> None:
    rules = wire_named(wire).RULES
    once = repair(messages(drawn.draw(broken_messages(wire)), wire), rules)
    assert repair(once.messages, rules) == type(once)(once.messages)


@pytest.mark.parametrize("wire", WIRES)
@given(drawn=st.data())
def test_what_was_sent_at_a_request_point_is_never_changed_by_what_comes_later(wire: str, drawn: st.DataObject) -> None:
    history = messages(drawn.draw(broken_messages(wire)), wire)
    grouping, rules = Grouping(), wire_named(wire).RULES
    whole = repair(history, rules).messages
    for length, message in enumerate(history, start=1):
        if grouping.add(message).request_point:
            part = repair(history[:length], rules).messages
            assert whole[: len(part)] == part


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
@given(drawn=st.data())
def test_what_is_passed_on_at_once_is_what_mending_one_by_one_sends(wire: str, drawn: st.DataObject) -> None:
    rules = wire_named(wire).RULES
    whole = drawn.draw(st.lists(st.sampled_from(steps_on(wire)), max_size=3))
    before, after = drawn.draw(broken_messages(wire, max_size=4)), drawn.draw(broken_messages(wire, max_size=4))
    history = messages([*before, *(said for step in whole for said in step), *after], wire)
    at_once, one_by_one = Mending(rules), Mending(rules)
    taken = 0
    while taken < len(history):
        passed = at_once.pass_on(taken, history[taken:], wire)
        if not passed:
            at_once.take(taken, history[taken])
        taken += passed or 1
    for position, message in enumerate(history):
        one_by_one.take(position, message)
    assert state_of(at_once) == state_of(one_by_one)
    at_once.finish()
    one_by_one.finish()
    assert state_of(at_once) == state_of(one_by_one)


def state_of(mending: Mending) -> tuple[object, ...]:
    return (
        mending.sent,
        mending.origins,
        mending.repairs,
        mending.open,
        mending.held,
        mending.ids,
        mending.started,
        mending.after_assistant,
    )


def steps_on(wire: str) -> list[list[dict[str, Any]]]:
    """Whole steps, one of them with a call of the same id as another's."""
    if wire == "anthropic":
        return [
            [
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": n, "name": "f", "input": {}} for n in names],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": n} for n in reversed(names)]},
            ]
            for names in (("x",), ("y", "z"), ("z",), ("an id",))
        ]
    return [[call(*names), *map(result, reversed(names))] for names in (("x",), ("y", "z"), ("z",), ("",))]


def test_whole_steps_are_passed_on_and_a_step_that_is_not_whole_waits_for_the_rest() -> None:
    mending = Mending(wire_named("openai-chat").RULES)
    history = messages(
        [
            {"role": "user", "content": "go"},
            call("a", "b"),
            result("b"),
            result("a"),
            call("c"),
            result("c"),
            call("d"),
        ],
        "openai-chat",
    )
    assert mending.pass_on(0, history, "openai-chat") == 6
    assert mending.pass_on(6, history[6:], "openai-chat") == 0
    assert mending.pass_on(6, history[:1], "anthropic") == 0
    assert mending.ids.keys() == {"a", "b", "c"}


def call(*names: str) -> dict[str, Any]:
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name: str, text: str = "r") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": text}


USER = {"role": "user", "content": "hi"}


def repaired(*history: dict[str, Any], wire: str = "openai-chat") -> tuple[list[str], list[str]]:
    """What is sent, in short, and what was done for it."""
    sent = prepare(messages(list(history), wire), wire)
    return [_short(message) for message in sent.messages], [made.what for made in sent.repairs]


def _short(message: Message) -> str:
    said = [
        block.text if isinstance(block, Text) else f"={block.call_id}"
        for block in message.blocks
        if isinstance(block, Text | ToolResult)
    ]
    said += [f"{name}()" for name in message.opened()]
    return f"{message.role[0]} {' '.join(said)}"


def test_t2_a_call_that_the_user_interrupted_gets_a_stub() -> None:
    assert repaired(USER, call("a"), USER) == (["u hi", "a a()", "t =a", "u hi"], ["missing-result", "moved"])


def test_t2_parallel_calls_interrupted_one_by_one_each_get_a_stub() -> None:
    sent, made = repaired(USER, call("a", "b", "c"), result("b"), USER)
    assert sent == ["u hi", "a a() b() c()", "t =b", "t =a", "t =c", "u hi"]
    assert made == ["missing-result", "missing-result", "moved"]


def test_t2_the_stub_says_nothing_of_time_and_is_flagged_on_anthropic() -> None:
    history = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
    ]
    sent = prepare(messages(history, "anthropic"), "anthropic")
    assert sent.messages[-1].blocks == (ToolResult("a", (Text(INTERRUPTED),), error=True),)


def test_t2_a_late_result_never_replaces_the_stub_that_was_sent() -> None:
    history = (USER, call("a"), USER, {"role": "assistant", "content": "ok"}, result("a"))
    sent, made = repaired(*history)
    assert sent == ["u hi", "a a()", "t =a", "u hi", "a ok", f"u {ORPHAN}"]
    assert made[-1] == "orphan-result"


def test_t3_a_result_that_nobody_asked_for_becomes_a_stub() -> None:
    assert repaired(USER, result("x")) == (["u hi", f"u {ORPHAN}"], ["orphan-result"])


def test_t3_a_result_before_its_call_is_an_orphan_and_its_call_is_interrupted() -> None:
    sent, made = repaired(USER, result("a"), call("a"), USER)
    assert sent == ["u hi", f"u {ORPHAN}", "a a()", "t =a", "u hi"]
    assert made == ["orphan-result", "missing-result", "moved"]


def test_t4_the_later_of_two_equal_ids_is_renamed_with_its_result() -> None:
    sent, made = repaired(
        USER, call("a"), result("a"), call("a"), result("a"), call("a", "a"), result("a"), result("a")
    )
    assert sent == ["u hi", "a a()", "t =a", "a a-2()", "t =a-2", "a a-3() a-4()", "t =a-3", "t =a-4"]
    assert made.count("renamed-id") == 3


def test_ids_are_spelled_as_the_wire_allows() -> None:
    history = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a:b", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a:b"}]},
    ]
    sent = prepare(messages(history, "anthropic"), "anthropic")
    assert [m.opened() or m.closed() for m in sent.messages[1:]] == [["a_b"], ["a_b"]]


def test_a_call_without_an_id_gets_one() -> None:
    assert repaired(USER, call(""), result(""))[0] == ["u hi", "a call()", "t =call"]


def test_words_between_a_call_and_its_result_are_sent_after_it() -> None:
    sent, made = repaired(USER, call("a", "b"), result("a"), {"role": "user", "content": "wait"}, result("b"))
    assert sent == ["u hi", "a a() b()", "t =a", "t =b", "u wait"]
    assert made == ["moved"]


def test_t10_an_empty_assistant_message_is_left_out() -> None:
    for nothing in (
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": ""},
    ):
        assert repaired(USER, nothing, USER) == (["u hi", "u hi"], ["empty-message"])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"role": "user", "content": []}, {"role": "user", "content": ""}),
        ({"role": "system", "content": [ ]}, {"role": "system", "content": ""}),
        ({"role": "assistant", "content": "x", "tool_calls": []}, {"role": "assistant", "content": "x"}),
        ({"role": "assistant", "content": "x", "tool_calls": None, "refusal": None}, {"role": "assistant", "content": "x", "refusal": None}),  # noqa: E501  (one case a line)
        ({"role": "assistant", "content": [], "refusal": "no"}, {"role": "assistant", "content": "", "refusal": "no"}),
        ({"role": "assistant", "content": "x", "y": {"content": []}}, {"role": "assistant", "content": "x", "y": {"content": []}}),  # noqa: E501  (one case a line)
    ],
)  # fmt: skip
def test_an_empty_list_is_not_sent_to_openai(given: dict[str, Any], sent: dict[str, Any]) -> None:
    prepared = prepare(messages([USER, given], "openai-chat"), "openai-chat")
    assert json.loads(write_fields(prepared.messages, (), "openai-chat")["messages"]) == [USER, sent]
    made = [(made.what, made.message) for made in prepared.repairs]
    what = "null-list" if given.get("tool_calls", ()) is None else "empty-list"
    assert made == ([] if given == sent else [(what, 1)])


def test_an_answer_that_was_kept_whole_is_sent_as_the_message_that_it_is() -> None:
    answer = {
        "id": "m", "type": "message", "role": "assistant", "model": "c", "content": [{"type": "text", "text": "yo"}],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 4},
    }  # fmt: skip
    speaks_of_it = {"role": "assistant", "content": 'its "stop_reason" was end_turn'}
    prepared = prepare(messages([USER, answer, USER, speaks_of_it, USER], "anthropic"), "anthropic")
    sent = {"role": "assistant", "content": [{"type": "text", "text": "yo"}]}
    written = json.loads(write_fields(prepared.messages, (), "anthropic")["messages"])
    assert written == [USER, sent, USER, speaks_of_it, USER]
    assert [(made.what, made.message) for made in prepared.repairs] == [("answer-fields", 1)]


def test_a_call_beside_an_empty_list_and_its_empty_result_are_sent_as_empty_text() -> None:
    history = [USER, {**call("a"), "content": []}, {"role": "tool", "tool_call_id": "a", "content": []}]
    prepared = prepare(messages(history, "openai-chat"), "openai-chat")
    written = json.loads(write_fields(prepared.messages, (), "openai-chat")["messages"])
    assert written == [USER, {**call("a"), "content": ""}, {"role": "tool", "tool_call_id": "a", "content": ""}]
    assert [(made.what, made.message) for made in prepared.repairs] == [("empty-list", 1), ("empty-list", 2)]


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_that_names_no_tool_is_given_a_name(wire: str) -> None:
    called: dict[str, Any] = {
        "openai-chat": call("a") | {"tool_calls": [{"id": "a", "type": "function", "function": {"name": ""}}]},
        "openai-responses": {"type": "function_call", "call_id": "a", "name": "", "arguments": "{}"},
        "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "", "input": {}}]},
    }[wire]
    prepared = prepare(messages([USER, called], wire), wire)
    assert [(made.what, made.message) for made in prepared.repairs] == [("unnamed-call", 1), ("missing-result", 1)]
    assert [block.name for m in prepared.messages for block in m.blocks if isinstance(block, ToolCall)] == [UNNAMED]
    assert UNNAMED.encode() in write_fields(prepared.messages, (), wire)[FIELDS[wire]]


def asked(**given: Any) -> list[dict[str, Any]]:
    """A call on Anthropic's wire, and its result, after a word of the user's."""
    return [
        USER,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": given["input"]}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": given["content"]}]},
    ]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (" ", {}),
        ("x\ud83d", {"INVALID_JSON": "x\ufffd"}),
        ([1], {"INVALID_JSON": "[1]"}),
        (5, {"INVALID_JSON": "5"}),
    ],
)
def test_a_call_is_made_with_an_object_on_anthropic(given: Any, sent: dict[str, Any]) -> None:
    prepared = prepare(messages(asked(input=given, content="r"), "anthropic"), "anthropic")
    written = json.loads(write_fields(prepared.messages, (), "anthropic")["messages"])
    assert written == asked(input=sent, content="r")
    assert [(made.what, made.message) for made in prepared.repairs] == [("arguments", 1)]


def test_blank_texts_inside_a_result_are_left_out_and_what_stands_beside_them_keeps_its_fields() -> None:
    said = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    history = asked(input={}, content=[{"type": "text", "text": " "}, said])
    prepared = prepare(messages(history, "anthropic"), "anthropic")
    written = json.loads(write_fields(prepared.messages, (), "anthropic")["messages"])
    assert written == asked(input={}, content=[said])
    assert [(made.what, made.message) for made in prepared.repairs] == [("blank-text", 2)]
    for nothing in ("\n", [{"type": "text", "text": ""}]):
        prepared = prepare(messages(asked(input={}, content=nothing), "anthropic"), "anthropic")
        written = json.loads(write_fields(prepared.messages, (), "anthropic")["messages"])
        assert written[2]["content"] == [{"type": "tool_result", "tool_use_id": "a"}]


def test_a_step_with_something_to_mend_is_not_passed_on() -> None:
    for broken in (asked(input={}, content=" "), asked(input="x", content="r")):
        preparing = Preparing("anthropic")
        preparing.take(messages(broken[:1], "anthropic"))
        preparing.take(messages(broken[1:], "anthropic"))
        assert len(preparing.repairs()) == 1


def test_results_stand_before_words_that_came_before_them() -> None:
    _, called, answered = asked(input={}, content="r")
    words = {"type": "text", "text": "wait"}
    sent, made = repaired(USER, called, {"role": "user", "content": [words, *answered["content"]]}, wire="anthropic")
    assert (sent[2], made) == ("u =a wait", ["sorted-results"])


def test_what_answers_another_kind_of_call_is_no_result_of_this_one() -> None:
    called = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    shell = {"type": "shell_call_output", "call_id": "a", "output": []}
    assert noted(USER, called, shell, wire="openai-responses") == [("orphan-result", 2)]
    assert repaired(USER, called, shell, wire="openai-responses")[0] == ["u hi", "a a()", "t =a"]


def test_thinking_that_nobody_signed_is_left_out_on_anthropic() -> None:
    unsigned = {"type": "thinking", "thinking": "hm"}
    said = {"type": "text", "text": "so"}
    blank = {"type": "text", "text": ""}
    history: list[dict[str, Any]] = [USER, {"role": "assistant", "content": [unsigned, blank, said]}, USER]
    prepared = prepare(messages(history, "anthropic"), "anthropic")
    written = json.loads(write_fields(prepared.messages, (), "anthropic")["messages"])
    assert written == [USER, {"role": "assistant", "content": [said]}, USER]
    assert noted(*history, wire="anthropic") == [("unsigned-thinking", 1), ("blank-text", 1)]
    # Who only speaks Anthropic's wire may sign nothing, and wants its thinking back.
    another = Preparing("anthropic", signs=False)
    another.take(messages(history, "anthropic"))
    assert another.sent().messages == messages(history, "anthropic")
    alone = {"role": "assistant", "content": [{**unsigned, "signature": ""}]}
    assert noted(USER, alone, USER, wire="anthropic") == [("unsigned-thinking", 1), ("empty-message", 1)]


def test_t10_an_empty_user_message_is_a_stub_where_the_wire_refuses_it() -> None:
    assert repaired({"role": "user", "content": ""}, wire="anthropic") == ([f"u {EMPTY}"], ["empty-message"])
    assert repaired({"role": "user", "content": ""}) == (["u "], [])


def test_t10_a_conversation_that_starts_with_the_assistant_is_given_a_beginning() -> None:
    sent, made = repaired({"role": "assistant", "content": "hello"}, USER, wire="anthropic")
    assert sent == [f"u {BEGINS}", "a hello", "u hi"]
    assert made == ["first-message"]


def test_what_stands_with_the_current_input_is_no_beginning() -> None:
    beside = {"role": "user", "content": f"{BESIDE}\nRemembered since:\n- the key is blue"}
    sent, made = repaired(beside, {"role": "assistant", "content": "hello"}, USER, wire="anthropic")
    assert sent[1:] == [f"u {BEGINS}", "a hello", "u hi"]
    assert made == ["first-message"]
    assert repaired(beside, USER, wire="anthropic")[1] == []


def test_t10_consecutive_messages_of_one_role_pass() -> None:
    assert repaired(USER, USER, wire="anthropic") == (["u hi", "u hi"], [])


def test_t10_only_a_system_prompt_is_refused_clearly() -> None:
    with pytest.raises(InvalidRequest, match="no message besides the system prompt"):
        prepare(read({"system": "x", "messages": []}, "anthropic").messages, "anthropic")


@pytest.mark.parametrize("wire", WIRES)
def test_t10_nothing_at_all_is_refused_clearly(wire: str) -> None:
    with pytest.raises(InvalidRequest, match="no message at all; give at least one"):
        prepare((), wire)


def test_instructions_alone_are_no_message_and_a_system_prompt_among_the_messages_is_one() -> None:
    with pytest.raises(InvalidRequest, match="no message besides the system prompt"):
        prepare(read({"instructions": "x", "input": []}, "openai-responses").messages, "openai-responses")
    system = {"role": "system", "content": "be kind"}
    for wire in ("openai-chat", "openai-responses"):
        assert len(prepare(messages([system], wire), wire).messages) == 1


def test_metadata_is_never_sent() -> None:
    history = (*messages([USER], "openai-chat"), Message(role="meta", blocks=(Text("mark"),)))
    assert [m.role for m in prepare(history, "openai-chat").messages] == ["user"]


def test_reasoning_stays_with_its_call_and_goes_where_its_item_is_missing() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    asked = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    kept = prepare(
        messages([{"role": "user", "content": "x"}, reasoning, asked], "openai-responses"), "openai-responses"
    )
    assert [m.role for m in kept.messages] == ["user", "assistant", "assistant", "tool"]
    alone = prepare(
        messages([{"role": "user", "content": "x"}, reasoning, {"role": "user", "content": "y"}], "openai-responses"),
        "openai-responses",
    )
    assert [made.what for made in alone.repairs] == ["dangling-reasoning"]
    assert [m.text for m in alone.messages] == ["x", "y"]


def test_items_that_share_an_id_are_told_apart() -> None:
    said = {"type": "message", "role": "user", "content": "x", "id": "msg_1"}
    searched = {"type": "web_search_call", "id": "ws_1"}
    sent = prepare(messages([said, said, searched, searched], "openai-responses"), "openai-responses")
    assert [made.what for made in sent.repairs] == ["duplicate-item", "duplicate-item"]
    assert [(made.message) for made in sent.repairs] == [1, 3]
    assert len(sent.messages) == 3
    assert b"msg_1" not in sent.messages[1].source


def test_the_result_of_a_custom_call_says_so_on_responses() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "grep", "input": "x"}}
    history = [USER, {"role": "assistant", "content": None, "tool_calls": [custom]}, result("a")]
    sent = prepare(messages(history, "openai-chat"), "openai-responses")
    assert b'"custom_tool_call_output"' in write_fields(sent.messages, (), "openai-responses")["input"]
    mixed = [
        {"type": "custom_tool_call", "call_id": "a", "name": "g", "input": "x"},
        {"type": "function_call_output", "call_id": "a", "output": "r"},
    ]
    sent = prepare(messages(mixed, "openai-responses"), "openai-responses")
    assert b'"custom_tool_call_output"' in write_fields(sent.messages, (), "openai-responses")["input"]


def test_a_result_may_answer_a_call_that_only_the_provider_knows() -> None:
    history = [
        {"type": "item_reference", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "a", "output": "r"},
    ]
    assert prepare(messages(history, "openai-responses"), "openai-responses").repairs == ()


def test_a_call_that_sash_cannot_answer_is_left_out_when_nobody_did() -> None:
    shell = {"type": "shell_call", "call_id": "a", "id": "sh_1", "action": {"commands": ["ls"]}}
    sent = prepare(
        messages([{"role": "user", "content": "x"}, shell, {"role": "user", "content": "y"}], "openai-responses"),
        "openai-responses",
    )
    assert [m.text for m in sent.messages] == ["x", "y"]
    assert [made.what for made in sent.repairs] == ["unanswered-call", "moved"]
    legacy = {"role": "assistant", "content": "let me", "function_call": {"name": "f", "arguments": "{}"}}
    chat = prepare(messages([USER, legacy, USER], "openai-chat"), "openai-chat")
    assert b"function_call" not in write_fields(chat.messages, (), "openai-chat")["messages"]


def test_of_two_calls_with_one_id_that_sash_cannot_rename_the_answered_one_stays() -> None:
    odd = {"id": "b", "type": "odd", "odd": {}}
    asked = {"role": "assistant", "content": "yes", "tool_calls": [odd, odd]}
    sent, made = repaired(USER, asked, result("b"))
    assert (sent, made) == (["u hi", "a yes b()", "t =b"], ["unanswered-call"])


def test_repairs_name_the_message_that_was_given() -> None:
    blocks = [{"type": "tool_use", "id": name, "name": "f", "input": {}} for name in "ab"]
    history = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": blocks},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a"}, {"type": "tool_result", "tool_use_id": "z"}],
        },
    ]
    sent = prepare(messages(history, "anthropic"), "openai-responses")
    assert [(made.what, made.message) for made in sent.repairs if made.what == "orphan-result"] == [
        ("orphan-result", 2)
    ]


def noted(*history: dict[str, Any], wire: str = "openai-chat") -> list[tuple[str, int]]:
    """What was done, and to which message of the history."""
    return [(made.what, made.message) for made in prepare(messages(list(history), wire), wire).repairs]


def test_a_message_after_words_that_had_to_wait_keeps_its_place() -> None:
    history = (USER, call("a"), USER, {"role": "assistant", "content": ""}, USER)
    assert noted(*history) == [("missing-result", 1), ("moved", 2), ("empty-message", 3)]
    preparing = Preparing("openai-chat")
    preparing.take(messages([USER, call("a"), USER, {"role": "assistant", "content": "so"}, USER], "openai-chat"))
    assert preparing.places == [0, 1, 1, 2, 3, 4]


def test_a_missing_result_is_told_of_the_call() -> None:
    assert noted(USER, call("a"), {"role": "assistant", "content": "so"}, USER) == [("missing-result", 1)]
    assert noted(USER, call("a"), USER) == [("missing-result", 1), ("moved", 2)]
    shell = {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}
    assert noted(USER, shell, USER, wire="openai-responses") == [("unanswered-call", 1), ("moved", 2)]
    first = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    second = {**first, "call_id": "b"}
    assert noted(USER, first, second, USER, wire="openai-responses") == [
        ("missing-result", 1),
        ("missing-result", 2),
        ("moved", 3),
    ]


@pytest.mark.parametrize(
    ("wire", "history", "problem"),
    [
        ("openai-chat", [call("a", "a"), result("a"), result("a")], "not unique"),
        ("openai-chat", [result("x")], "which no call before it"),
        ("openai-chat", [call("a"), USER], "before the next message"),
        ("openai-chat", [call("a"), {"role": "system", "content": "x"}, result("a")], "before the next message"),
        ("openai-chat", [USER, call("a")], "at the end"),
        ("openai-chat", [{"role": "assistant", "content": ""}], "empty"),
        ("anthropic", [{"role": "user", "content": ""}], "empty"),
        ("anthropic", [{"role": "user", "content": " "}], "blank"),
        ("anthropic", [{"role": "assistant", "content": "x"}], "not the user's"),
        ("anthropic", [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}], "just before it"),
        (
            "anthropic",
            [{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}],
            "a call in",
        ),
        (
            "anthropic",
            [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
            ],
            "a result in",
        ),
        ("openai-chat", [{"role": "user", "content": []}], "content is an empty list"),
        ("openai-chat", [USER, {"role": "assistant", "content": "x", "tool_calls": []}], "tool_calls is an empty list"),
        ("openai-responses", [{"type": "function_call", "call_id": "a", "name": ""}], "names no tool"),
        ("anthropic", asked(input="x", content="r"), "what is no object"),
        ("anthropic", asked(input={}, content=" "), "a text in a result is blank"),
        ("anthropic", [{"role": "user", "content": [{"type": "thinking", "thinking": ""}]}], "without its signature"),
        ("openai-responses", [{"type": "reasoning", "id": "r", "summary": []}], "reasoning without"),
        ("openai-responses", [{"type": "function_call", "call_id": "a", "name": "f", "arguments": ""}], "anywhere"),
        ("openai-responses", [{"type": "function_call_output", "call_id": "a", "output": ""}], "which no call"),
        (
            "openai-responses",
            [{"role": "user", "content": "x", "id": "i"}, {"role": "user", "content": "x", "id": "i"}],
            "item id",
        ),
    ],
)
def test_the_checker_sees_what_a_provider_would_refuse(wire: str, history: list[dict[str, Any]], problem: str) -> None:
    assert any(problem in found.what for found in wire_named(wire).problems(messages(history, wire)))


def test_the_checker_sees_results_that_come_too_late_or_behind_words() -> None:
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    answer = {"type": "tool_result", "tool_use_id": "a"}
    said = {"role": "user", "content": "x"}
    rules = wire_named("anthropic").RULES
    behind = [said, asked, {"role": "user", "content": [{"type": "text", "text": "x"}, answer]}]
    assert [p.what for p in check(messages(behind, "anthropic"), rules)] == ["result of 'a' stands after other blocks"]
    late = [said, asked, said, {"role": "assistant", "content": "y"}, said]
    assert [p.what for p in check(messages(late, "anthropic"), rules)] == [
        "no result of a before the assistant goes on"
    ]
    never = [said, asked]
    assert [p.what for p in check(messages(never, "anthropic"), rules)] == ["no result of a at the end"]
    mark = (*messages([USER], "openai-chat"), Message(role="meta"))
    assert [p.what for p in check(mark, wire_named("openai-chat").RULES)] == ["metadata is never sent"]


def test_an_error_that_shows_a_picture_is_sent_as_any_other_result() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    given = {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": [picture]}
    prepared = prepare(messages([USER, asked, {"role": "user", "content": [given]}], "anthropic"), "anthropic")
    written = json.loads(write_fields(prepared.messages, (), "anthropic")["messages"])
    assert written[2] == {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [picture]}]
    }  # fmt: skip
    assert [made.what for made in prepared.repairs] == ["error-shows"]


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
BLANK = {"type": "text", "text": " "}
SERVED = [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
]


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("Answer: ", "Answer:"),
        ([{"type": "text", "text": "Answer:\n"}], [{"type": "text", "text": "Answer:"}]),
        ([{"type": "text", "text": "Answer:"}, THOUGHT], [{"type": "text", "text": "Answer:"}]),
        ([THOUGHT, {"type": "text", "text": "k "}, BLANK], [THOUGHT, {"type": "text", "text": "k"}]),
        ([*SERVED, THOUGHT], SERVED),
        ([THOUGHT], None),
    ],
)  # fmt: skip
def test_what_the_assistant_says_last_ends_as_its_provider_takes_it(said: Any, sent: Any) -> None:
    last = {"role": "assistant", "content": said}
    prepared = prepare(messages([USER, last], "anthropic"), "anthropic")
    written = json.loads(write_fields(prepared.messages, (), "anthropic")["messages"])
    assert written == [USER, *([] if sent is None else [{"role": "assistant", "content": sent}])]
    assert [(made.what, made.message) for made in prepared.repairs] == [("trimmed-end", 1)]
    # Where the user speaks after it, it is sent as it was said.
    whole = prepare(messages([USER, last, USER], "anthropic"), "anthropic")
    assert whole.repairs == ()
    assert json.loads(write_fields(whole.messages, (), "anthropic")["messages"])[1] == last


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
ANSWER = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "A."}]}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
SHELL = {"type": "local_shell_call", "id": "l", "call_id": "c", "status": "completed"}
SHELL_OUTPUT = {"type": "local_shell_call_output", "id": "c", "output": "s"}


@pytest.mark.parametrize(
    ("history", "sent"),
    [
        ([USER, REASONING, ANSWER], ["user", "rs_1", "msg_1"]),
        ([USER, REASONING, {"role": "developer", "content": "d"}, ANSWER], ["user", "developer", "assistant"]),
        ([USER, REASONING, USER, ANSWER], ["user", "user", "msg_1"]),
        ([USER, REASONING, {"role": "developer", "content": "d"}, SEARCH], ["user", "developer", "assistant"]),
        (
            [USER, REASONING, {"role": "developer", "content": "d"}, SHELL, SHELL_OUTPUT],
            ["user", "developer", "l", "c"],
        ),
        ([USER, {"role": "assistant", "content": "[sash: redacted]"}, ANSWER], ["user", "assistant", "assistant"]),
        (
            [USER, REASONING, ANSWER, USER, REASONING, ANSWER | {"id": "m"}],
            ["user", "rs_1", "msg_1", "user", "assistant"],
        ),
        ([USER, SHELL, {"type": "function_call_output", "call_id": "c", "output": "s"}], ["user", "user"]),
    ],
)  # fmt: skip
def test_an_item_whose_reasoning_is_not_sent_goes_without_its_id(history: list[Any], sent: list[str]) -> None:
    prepared = prepare(messages(history, "openai-responses"), "openai-responses")
    written = json.loads(write_fields(prepared.messages, (), "openai-responses")["input"])
    assert [item.get("id") or item["role"] for item in written] == sent


def test_ids_stay_within_what_their_provider_takes() -> None:
    first = {"type": "function_call", "call_id": "c" * 64, "name": "f", "arguments": "{}"}
    pair = [first, {"type": "function_call_output", "call_id": "c" * 64, "output": "r"}]
    prepared = prepare(messages([USER, *pair, *pair, *pair], "openai-responses"), "openai-responses")
    called = [block.id for message in prepared.messages for block in message.blocks if isinstance(block, ToolCall)]
    assert [len(name) for name in called] == [64, 64, 64]
    assert len(set(called)) == 3
    crossed = prepare(messages([USER, *pair], "openai-responses"), "openai-chat")
    (made,) = [block for message in crossed.messages for block in message.blocks if isinstance(block, ToolCall)]
    assert made.id == "c" * 40
    own = prepare(messages([USER, call("d" * 90), result("d" * 90)], "openai-chat"), "openai-chat")
    assert own.repairs == ()


@pytest.mark.parametrize(
    ("spelled", "told"),
    [
        ('{"text": "\\u65e5\\u672c \\ud83d\\ude80"}', '{"text": "日本 🚀"}'),
        ('{"text": "\\\\u65e5 \\u0041 \\n \\u0007"}', '{"text": "\\\\u65e5 \\u0041 \\n \\u0007"}'),
    ],
)
def test_arguments_read_the_same_however_their_writer_spells_letters(spelled: str, told: str) -> None:
    called = f'{{"type": "tool_use", "id": "a", "name": "w", "input": {spelled}}}'
    (message,) = read(f'[{{"role": "assistant", "content": [{called}]}}]'.encode(), "anthropic").messages
    (block,) = message.blocks
    assert isinstance(block, ToolCall)
    assert block.arguments == told


def served(name: str) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": name, "name": "web_search", "input": {}}


def found(name: str) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": name, "content": []}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


OK = {"type": "text", "text": "ok"}
CALLED = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
GIVEN = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}
STOP = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": "stop"}]}


@pytest.mark.parametrize(
    ("history", "sent", "made"),
    [
        ([USER, said(served("s"), found("s"), OK), USER], None, []),
        # It pauses, and goes on in another message.
        ([USER, said(served("s"))], None, []),
        ([USER, said(OK, served("s")), said(found("s"), OK), USER], None, []),
        # What it runs calls a tool of the user's, whose result comes in between.
        ([USER, said(served("s"), CALLED), GIVEN, said(found("s"), OK), USER], None, []),
        ([USER, said(OK, served("s")), USER], [USER, said(OK), USER], ["unanswered-call"]),
        ([USER, said(served("s")), USER], [USER, USER], ["unanswered-call"]),
        ([USER, said(served("s"), served("x"), found("x")), USER], [USER, said(served("x"), found("x")), USER], ["unanswered-call"]),  # noqa: E501  (one case a line)
        ([USER, said(found("s"), OK), USER], [USER, said(OK), USER], ["orphan-result"]),
        ([USER, said({**served("s"), "id": 5}), USER], None, []),
        # The user goes on beside a result, or while a call is open.
        ([USER, said(served("s"), CALLED), STOP], [USER, said(CALLED), STOP], ["unanswered-call"]),
        ([USER, said(OK, served("s"), CALLED), USER, GIVEN], [USER, said(OK, CALLED), GIVEN, USER], ["unanswered-call", "moved"]),  # noqa: E501  (one case a line)
        ([said(OK, served("s")), USER], [{"role": "user", "content": BEGINS}, said(OK), USER], ["first-message", "unanswered-call"]),  # noqa: E501  (one case a line)
    ],
)  # fmt: skip
def test_what_a_provider_runs_by_itself_has_its_result_or_is_not_sent(
    history: list[Any], sent: list[Any] | None, made: list[str]
) -> None:
    prepared = prepare(messages(history, "anthropic"), "anthropic")
    assert json.loads(write_fields(prepared.messages, (), "anthropic")["messages"]) == (sent or history)
    assert [repair.what for repair in prepared.repairs] == made
    assert prepare(prepared.messages, "anthropic").repairs == ()
    # As it grows: what was sent before the user spoke is no reason to send it so for ever.
    growing = Preparing("anthropic")
    for message in messages(history, "anthropic"):
        growing.take([message])
    assert growing.sent().messages == prepared.messages


def test_nothing_stands_at_the_end_that_may_not_however_many_messages_that_takes() -> None:
    history = [USER, {"role": "assistant", "content": "abc "}, {"role": "assistant", "content": [THOUGHT]}]
    prepared = prepare(messages(history, "anthropic"), "anthropic")
    assert json.loads(write_fields(prepared.messages, (), "anthropic")["messages"]) == [
        USER, {"role": "assistant", "content": "abc"}
    ]  # fmt: skip
    assert prepare(prepared.messages, "anthropic").repairs == ()


def test_an_item_without_content_that_comes_twice_is_sent_once_with_its_id() -> None:
    empty = {"type": "message", "id": "m1", "role": "assistant", "content": []}
    prepared = prepare(messages([USER, empty, empty], "openai-responses"), "openai-responses")
    assert prepare(prepared.messages, "openai-responses").repairs == ()


def test_the_system_is_heeded_after_the_user_also_where_a_request_goes_on_from_one_that_was_sealed() -> None:
    told = {"role": "system", "content": "a hook says: go on"}
    (*before, last) = messages([USER, said(OK), USER, told], "anthropic")
    whole, first = Preparing("anthropic", heeds=True), Preparing("anthropic", heeds=True)
    whole.take([*before, last])
    first.take(before)
    passed = first.passed()
    assert passed is not None
    again = Preparing("anthropic", heeds=True)
    again.go_on(passed)
    again.take([last])
    assert again.messages == whole.messages[-1:] == [last]
