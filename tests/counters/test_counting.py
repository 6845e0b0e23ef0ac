"""`sash.count_tokens`, and where the tokens of a conversation go."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sash.core.tokens import TokenCount, total
from sash.counters import counter_for
from sash.counting import count_tokens, tally
from sash.errors import InvalidMessage
from sash.wire import read
from tests.real import DATA, needs_data

COOKBOOK: list[dict[str, Any]] = [
    {
        "role": "system",
        "content": "You are a helpful, pattern-following assistant that translates corporate jargon "
        "into plain English.",
    },
    {"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
    {"role": "system", "name": "example_assistant", "content": "Things working well together will increase revenue."},
    {
        "role": "system",
        "name": "example_user",
        "content": "Let's circle back when we have more bandwidth to touch base on opportunities for "
        "increased leverage.",
    },
    {
        "role": "system",
        "name": "example_assistant",
        "content": "Let's talk later when we're less busy about how to do better.",
    },
    {
        "role": "user",
        "content": "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    },
]

BODY: dict[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 1000,
    "system": "Be brief.",
    "tools": [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}}],
    "messages": [
        {"role": "user", "content": "What is in a.py?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "print(1)"}]},
        {"role": "assistant", "content": "It prints 1."},
        {"role": "user", "content": "Thanks."},
    ],
}


@pytest.mark.parametrize(
    ("model", "tokens"), [("gpt-4o", 124), ("gpt-4o-mini", 124), ("gpt-4", 129), ("gpt-3.5-turbo", 129)]
)
def test_openais_example_conversation_gives_openais_numbers(model: str, tokens: int) -> None:
    # The cookbook's "How to count tokens with tiktoken" prints these, and the API confirmed them.
    assert count_tokens(COOKBOOK, model=model) == TokenCount(tokens)


def test_text_is_counted_bare() -> None:
    assert count_tokens("hello world", model="gpt-5") == TokenCount(2)
    assert count_tokens("", model="gpt-5") == TokenCount(0)
    assert not count_tokens("hello world", model="claude-opus-5").exact


def test_without_a_model_the_count_is_an_estimate() -> None:
    assert not count_tokens("hello world").exact


def test_a_counter_can_be_asked_for_by_name() -> None:
    assert count_tokens("x" * 40, counter="chars4").value == 10
    assert count_tokens([{"role": "user", "content": "x" * 40}], counter="bytes4").value == 20


def test_the_whole_body_counts_with_its_system_prompt_and_tools() -> None:
    without = {name: field for name, field in BODY.items() if name not in ("system", "tools")}
    counts = [
        count_tokens(body, model="claude-opus-5", wire="anthropic").value for body in (BODY, without, BODY["messages"])
    ]
    assert counts[0] > counts[1] == counts[2]


def test_what_is_no_message_is_an_error_that_says_where() -> None:
    with pytest.raises(InvalidMessage, match="message 1"):
        count_tokens([{"role": "user", "content": "hi"}, {"role": "nobody"}])


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5", "nobody-knows"])
def test_by_role_and_by_type_both_add_up_to_the_total(model: str) -> None:
    divided = tally(read(BODY, "anthropic"), counter_for(model).counter)
    assert total(divided.by_role.values()) == total(divided.by_type.values()) == divided.total
    assert divided.total == count_tokens(BODY, model=model, wire="anthropic")
    assert {"system", "user", "assistant", "tools"} <= set(divided.by_role)
    assert {"text", "tool_call", "tool_result", "framing", "tools"} <= set(divided.by_type)


def test_turns_are_what_the_user_wrote_and_not_what_tools_answered() -> None:
    divided = tally(read(BODY, "anthropic"), counter_for("claude-opus-5").counter)
    assert divided.turns == 2
    assert (divided.messages, divided.system) == (5, 1)


def test_an_empty_conversation_costs_nothing() -> None:
    divided = tally(read([], "openai-chat"), counter_for("gpt-5").counter)
    assert divided.total == TokenCount(0)
    assert (divided.turns, divided.messages) == (0, 0)


def test_a_picture_of_a_megabyte_is_no_million_tokens() -> None:
    # 1 MB of base64 whose header says 800 x 600.
    data = "iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAYAAAA" + "A" * 1_000_001
    said = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]}]
    assert count_tokens(said, model="gpt-4o") == TokenCount(4 * 170 + 85 + 4 + 3)


def test_a_body_may_be_bytes() -> None:
    assert count_tokens(json.dumps(BODY).encode(), wire="anthropic") == count_tokens(BODY, wire="anthropic")


@needs_data
@pytest.mark.parametrize(
    ("spelled", "model", "off"), [("claude", "claude-sonnet-4-20250514", 0.06), ("deepseek", "deepseek-v3.1", 0.02)]
)
def test_whole_requests_cost_about_what_the_provider_reported(spelled: str, model: str, off: float) -> None:
    logs = sorted((DATA / "openhands-llm-logs").glob(f"*logs_*{spelled}*.json"))
    assert len(logs) >= 4
    for log in logs:
        said = json.loads(log.read_bytes())
        body = {"messages": said["messages"], "tools": said["kwargs"]["tools"]}
        reported = said["response"]["usage"]["prompt_tokens"]
        assert count_tokens(body, model=model).value == pytest.approx(reported, rel=off)
