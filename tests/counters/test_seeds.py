"""The plain estimators, against the sources they come from."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis.strategies import characters, lists, sampled_from, text

from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.counters import counter_for
from sash.counters.seeds import Bytes4, Chars4, Gitclaw

PIECES = ["```", "``", "`", "code", "\n", "é", "😀", "text ", "```py\nx = 1\n```", "```a```", "\ud83d"]
FENCED = lists(sampled_from(PIECES), max_size=25).map("".join)
ANYTHING = text(characters(codec=None), max_size=200)


def as_javascript_does(source: str) -> int:
    """`estimateTokens` of seed 001, line by line, on UTF-16 units as JavaScript has them."""

    def length(part: str) -> int:
        return sum(2 if ord(character) > 0xFFFF else 1 for character in part)

    if not source:
        return 0
    code_tokens = 0
    non_code = source
    for block in re.findall(r"```[\s\S]*?```", source):
        code_tokens += math.ceil(length(block) / 3.5)
        non_code = non_code.replace(block, "", 1)
    return math.ceil(length(non_code) / 4) + code_tokens


@given(FENCED)
def test_gitclaw_counts_as_its_source_does(source: str) -> None:
    assert Gitclaw().count(source).value == as_javascript_does(source)


@given(ANYTHING)
def test_gitclaw_counts_any_text_as_its_source_does(source: str) -> None:
    assert Gitclaw().count(source).value == as_javascript_does(source)


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("😀", 1),  # two units
        ("😀😀x", 2),  # five units
        ("```abc```", 3),  # nine units at 3.5
        ("```abc``````abc```", 6),  # two equal blocks, each cut once
        ("ab```abc```cd", 4),
        ("```abc", 2),  # never closed: plain text
    ],
)
def test_gitclaw_by_hand(source: str, tokens: int) -> None:
    assert Gitclaw().count(source).value == tokens


@given(ANYTHING)
def test_chars4_is_a_quarter_of_the_code_points(source: str) -> None:
    assert Chars4().count(source).value == len(list(source)) // 4


@given(text(max_size=200))
def test_bytes4_is_a_quarter_of_the_bytes(source: str) -> None:
    assert Bytes4().count(source).value == len(source.encode()) // 4


def test_bytes4_takes_half_a_surrogate_pair() -> None:
    assert Bytes4().count("\ud83d" * 4).value == 3


def test_a_plain_estimate_is_marked_as_one() -> None:
    for estimator in (Chars4(), Bytes4(), Gitclaw()):
        assert not estimator.count("some words").exact
        assert estimator.count("").exact


def test_bytes4_adds_ten_to_each_message_and_the_others_nothing() -> None:
    said = Message(role="user", blocks=(Text("x" * 40),))
    answered = Message(role="tool", blocks=(ToolResult(call_id="1", content=(Text("x" * 40),)),))
    for message in (said, answered):
        assert counter_for(counter="bytes4").counter.message(message).value == 20
        assert counter_for(counter="chars4").counter.message(message).value == 10
        assert counter_for(counter="gitclaw").counter.message(message).value == 10


def test_a_call_costs_its_arguments_as_json_and_no_more() -> None:
    call = Message(role="assistant", blocks=(ToolCall(id="1", name="read", arguments='{ "path": "a.py" }'),))
    assert counter_for(counter="gitclaw").counter.message(call).value == math.ceil(len('{"path":"a.py"}') / 4)
    broken = Message(role="assistant", blocks=(ToolCall(id="1", name="read", arguments='{"path": "a.'),))
    assert counter_for(counter="gitclaw").counter.message(broken).value == 3
