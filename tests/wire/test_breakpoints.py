"""Cache breakpoints: where they pay, never more than four, never among the caller's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sash.core.message import Message, Text, Thinking, identity
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.fitting import fit
from sash.store import MemoryStore
from sash.thread import open_thread
from sash.wire import prepare, read, wire_named, write_fields
from sash.wire.breakpoints import place_breakpoints

MARK = {"type": "ephemeral"}


def placed(messages: list[dict[str, Any]], *, system: Any = None, head: int = 0) -> dict[str, Any]:
    body = {"messages": messages} | ({"system": system} if system else {})
    conversation = read(body, "anthropic")
    marked = place_breakpoints(conversation.messages, head=head)
    assert [message.blocks for message in marked] == [message.blocks for message in conversation.messages]
    return {name: json.loads(value) for name, value in write_fields(marked, (), "anthropic").items()}


def test_breakpoints_stand_after_the_system_prompt_the_head_and_the_last_message() -> None:
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "head"},
        {"role": "user", "content": [{"type": "text", "text": "first"}]},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "extra": 1}]},
    ]
    fields = placed(said, system="be kind", head=2)
    assert fields["system"] == [{"type": "text", "text": "be kind", "cache_control": MARK}]
    assert fields["messages"][0]["content"] == [{"type": "text", "text": "head", "cache_control": MARK}]
    assert fields["messages"][1:3] == said[1:3]
    assert fields["messages"][3]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b", "extra": 1, "cache_control": MARK},
    ]


def test_one_stands_before_what_is_recalled_for_the_input_and_leaves_with_it() -> None:
    said: list[dict[str, Any]] = [
        {"role": "user", "content": f"{'My dog is called Rufus. ' if n == 0 else ''}{'word ' * 60}{n}"}
        if n % 2 == 0
        else {"role": "assistant", "content": f"yes {n}"}
        for n in range(20)
    ]
    policy = Policy.chat(history_tokens=400, breakpoints=True)
    asked = [*said, {"role": "user", "content": "How is my dog called?"}]
    sent = fit({"system": "be kind", "messages": asked}, wire="anthropic", policy=policy).request
    marked = [n for n, message in enumerate(sent["messages"]) if "cache_control" in json.dumps(message)]
    recalled = next(n for n, message in enumerate(sent["messages"]) if "Recalled from" in json.dumps(message))
    assert marked == [0, recalled - 1, len(sent["messages"]) - 1]
    assert json.dumps(sent).count("cache_control") == 4


def test_a_request_without_system_prompt_and_head_has_one_at_its_end_only() -> None:
    fields = placed([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    assert json.dumps(fields).count("cache_control") == 1


@pytest.mark.parametrize("where", ["system", "messages", "tools"])
def test_where_the_caller_placed_some_none_is_added(where: str) -> None:
    cached = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    given: dict[str, Any] = {"messages": [{"role": "user", "content": "a"}]}
    if where == "system":
        given["system"] = cached
    elif where == "messages":
        given["messages"] = [{"role": "user", "content": cached}]
    else:
        given["tools"] = [{"name": "f", "input_schema": {}, "cache_control": MARK}]
    conversation = read(given, "anthropic")
    assert place_breakpoints(conversation.messages, conversation.tools, head=0) == conversation.messages


def test_thinking_and_nothing_at_all_carry_no_breakpoint() -> None:
    thinking = Message(role="assistant", blocks=(Text("so"), Thinking("hm", "c2ln")))
    empty = Message(role="user")
    assert place_breakpoints([thinking], head=0) == (thinking,)
    assert place_breakpoints([empty], head=1) == (empty,)


def test_what_came_on_another_wire_gets_them_too() -> None:
    sent = prepare(read([{"role": "user", "content": "hi"}], "openai-chat").messages, "anthropic")
    fields = write_fields(place_breakpoints(sent.messages, head=0), (), "anthropic")
    assert json.loads(fields["messages"])[0]["content"][0]["cache_control"] == MARK


def cached(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral", **more}}


def turn(number: int, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """What is asked in a turn, marked as clients mark their newest message, and what is answered."""
    return [{"role": "user", "content": [*blocks, cached(f"q{number}")]}, {"role": "assistant", "content": "yes"}]


def gathered(turns: int) -> list[dict[str, Any]]:
    return [message for number in range(turns) for message in turn(number)]


def marked(messages: list[dict[str, Any]]) -> list[int]:
    return [place for place, message in enumerate(messages) if "cache_control" in json.dumps(message)]


def test_of_more_than_four_that_the_caller_placed_the_newest_are_kept() -> None:
    sent = prepare(read(gathered(7), "anthropic").messages, "anthropic")
    assert marked(json.loads(write_fields(sent.messages, (), "anthropic")["messages"])) == [6, 8, 10, 12]
    assert [(made.what, made.message) for made in sent.repairs] == [("left-out-breakpoint", n) for n in (0, 2, 4)]
    assert prepare(read(gathered(4), "anthropic").messages, "anthropic").repairs == ()


def test_those_of_system_prompt_and_tools_count_and_stay_beside_the_newest() -> None:
    tool = {"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    system = [cached("be kind", ttl="1h"), cached("and brief", ttl="1h")]
    fitted = fit({"system": system, "tools": [tool], "messages": gathered(5)}, wire="anthropic")
    assert fitted.request["system"] == system
    assert fitted.request["tools"] == [tool]
    assert marked(fitted.messages) == [8]
    assert {made.what for made in fitted.report.repairs} == {"left-out-breakpoint"}
    assert [made.message for made in fitted.report.repairs] == [0, 2, 4, 6]


def test_the_newest_message_keeps_its_own_even_where_the_system_prompt_has_four() -> None:
    system = [cached(word) for word in "abcd"]
    fitted = fit({"system": system, "messages": gathered(2)}, wire="anthropic")
    assert marked(fitted.messages) == [2]
    assert marked(fitted.request["system"]) == [1, 2, 3]


def test_of_more_than_four_tools_that_are_marked_the_last_are_kept() -> None:
    tools = [{"name": f"f{n}", "input_schema": {}, "cache_control": {"type": "ephemeral"}} for n in range(6)]
    fitted = fit({"tools": tools, "messages": gathered(2)}, wire="anthropic")
    assert marked(fitted.request["tools"]) == [2, 3, 4, 5]
    assert marked(fitted.messages) == []
    assert [made.message for made in fitted.report.repairs] == [-1, -1, 0, 2]


def test_marks_inside_results_and_documents_count_and_words_about_marks_do_not() -> None:
    document = {"type": "document", "source": {"type": "content", "content": [cached("d")]}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [cached("r"), document], "cache_control": MARK}
    asked = {"type": "tool_use", "id": "a", "name": "f", "input": {"cache_control": {"type": "ephemeral"}}}
    history = [
        {"role": "user", "content": 'what is "cache_control"?'},
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "so"},
    ]
    assert prepare(read([*history, *turn(1)], "anthropic").messages, "anthropic").repairs == ()
    sent = prepare(read([*history, *turn(1), *turn(2)], "anthropic").messages, "anthropic")
    written = json.loads(write_fields(sent.messages, (), "anthropic")["messages"])
    assert "cache_control" not in written[2]["content"][0]["content"][0]
    assert "cache_control" in json.dumps(written[2]["content"][0]["content"][1])
    assert written[1] == history[1]
    assert [(made.what, made.message) for made in sent.repairs] == [("left-out-breakpoint", 2)]


def test_a_history_that_grows_is_the_same_but_for_its_breakpoints() -> None:
    before: list[Any] = []
    for turns in range(1, 9):
        history = [*gathered(turns), {"role": "user", "content": "and now?"}]
        fitted = fit(history, wire="anthropic", policy=Policy(breakpoints=True))
        said = [identity(message) for message, _ in fitted.sent]
        assert said[: len(before)] == before
        assert len(marked(fitted.messages)) == min(turns, 4)
        before = said[:-1]


def test_the_checker_counts_breakpoints() -> None:
    problems = wire_named("anthropic").problems(read(gathered(5), "anthropic").messages)
    assert [(problem.message, problem.what) for problem in problems] == [(8, "more than 4 breakpoints for the cache")]


def test_a_thread_that_is_opened_again_still_knows_how_many_there_are() -> None:
    store = MemoryStore()
    thread = open_thread("t", store=store, wire="anthropic")
    thread.append(gathered(5), wire="anthropic")
    thread.append({"role": "user", "content": "and now?"}, wire="anthropic")
    sent = thread.request(wire="anthropic")
    assert marked(sent["messages"]) == [2, 4, 6, 8]
    again = open_thread("t", store=store, wire="anthropic").prepared(wire="anthropic")
    assert again.request == sent
    assert [made.what for made in again.report.repairs] == ["left-out-breakpoint"]


def test_no_breakpoint_stands_on_an_empty_text() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    said = {"role": "assistant", "content": [thought, {"type": "text", "text": ""}]}
    history = [{"role": "user", "content": "hi"}, said, {"role": "user", "content": "go"}]
    beside = Source("now", "noon", stable=False)
    sent = fit(history, wire="anthropic", policy=Policy(breakpoints=True), sources=[beside]).messages
    assert sent[1] == said
    assert marked(sent)
