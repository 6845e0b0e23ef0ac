"""The difference of two requests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.cost import ANTHROPIC, NO_CACHE, Prices
from sash.core.difference import Difference, diff
from sash.core.message import Image, Message, Text, ToolCall, ToolResult, by_sash
from sash.core.shorten import shorten
from sash.core.tokens import TokenCount
from sash.counters import counter_for
from sash.wire import read

COUNTER = counter_for("", counter="chars4").counter
CHEAP = Prices(read=0.1, write=1.25, smallest=0)


def said(text: str, role: str = "user") -> Message:
    assert role in ("user", "assistant")
    return Message(role="user" if role == "user" else "assistant", blocks=(Text(text),))


def ten(_: Message) -> TokenCount:
    """Every message takes ten tokens."""
    return TokenCount(10)


def compare(before: list[Message], after: list[Message]) -> Difference:
    return diff(before, after, ten, prices=CHEAP)


A, B, C, D, E = (said(letter) for letter in "abcde")


def test_a_request_that_grew_loses_nothing_and_costs_nothing_extra() -> None:
    grown = compare([A, B], [A, B, C])
    assert [change.title for change in grown.entered] == ["c"]
    assert grown.left == grown.changed == ()
    assert grown.grew
    assert (grown.alike, grown.cached, grown.again) == (2, TokenCount(20), TokenCount(0))
    assert (grown.extra, grown.saves, grown.pays_after) == (0, 0, 0)


def test_a_slide_says_what_left_and_what_is_paid_for_again() -> None:
    slid = compare([A, B, C, D], [A, D, E])
    assert [(change.place, change.title) for change in slid.left] == [(1, "b"), (2, "c")]
    assert [(change.place, change.title) for change in slid.entered] == [(2, "e")]
    assert not slid.grew
    assert (slid.cached, slid.again) == (TokenCount(10), TokenCount(10))
    assert (slid.before, slid.after) == (TokenCount(40), TokenCount(30))


def test_a_slide_is_weighed_against_a_request_that_had_only_grown() -> None:
    slid = compare([A, B, C, D], [A, D, E])
    # Sent: 10 read, 20 written. Otherwise: 40 read, 10 written.
    assert slid.extra == pytest.approx((1 + 25) - (4 + 12.5))
    assert slid.saves == pytest.approx(20 * 0.1)
    assert slid.pays_after == 5


def test_a_slide_that_frees_nothing_never_pays() -> None:
    assert compare([A, B], [B, A]).pays_after is None


def test_without_a_cache_every_slide_pays_at_once() -> None:
    slid = diff([A, B, C], [C], ten, prices=NO_CACHE)
    assert slid.extra == -20
    assert slid.pays_after == 0


def test_the_digest_that_a_slide_brings_in_is_part_of_its_cost() -> None:
    digest = said(by_sash("earlier turns left"))
    slid = compare([A, B, C], [digest, C, D])
    assert [change.by_sash for change in slid.entered] == [True, False]
    # Without the slide only `d` would have come: 30 read, 10 written.
    assert slid.extra == pytest.approx(30 * 1.25 - (3 + 12.5))
    assert slid.saves == pytest.approx(10 * 0.1)


def test_of_messages_that_say_the_same_the_older_one_left() -> None:
    slid = compare([said("ok"), B, said("ok"), C], [said("ok"), C])
    assert [change.place for change in slid.left] == [1, 2]
    slid = compare([A, said("ok"), B, said("ok"), C], [said("ok"), C])
    assert [change.place for change in slid.left] == [0, 1, 2]


def test_a_shortened_result_is_changed_and_neither_left_nor_entered() -> None:
    result = ToolResult("a", (Text("line\n" * 1_000),))
    whole = Message(role="tool", blocks=(result,))
    short = whole.edit((shorten(result, "1.0"),))
    call = Message(role="assistant", blocks=(ToolCall("a", "bash"),))
    slid = diff([A, call, whole, B], [A, call, short, B], COUNTER.message)
    assert slid.left == slid.entered == ()
    (changed,) = slid.changed
    assert (changed.place, changed.title, changed.was) == (2, "1 result", COUNTER.message(whole))
    assert changed.tokens == COUNTER.message(short)
    assert not slid.grew


def test_a_message_that_came_over_a_wire_is_known_again_by_its_bytes() -> None:
    (whole,) = read([{"role": "assistant", "content": "word " * 1_000}], "openai-chat").messages
    short = whole.edit((Text("word"),))
    slid = compare([A, whole], [A, short])
    assert [change.place for change in slid.changed] == [1]


def test_a_moved_breakpoint_is_no_difference() -> None:
    def messages(cached: int) -> list[Message]:
        bodies: list[dict[str, Any]] = []
        for place, text in enumerate("ab"):
            block: dict[str, Any] = {"type": "text", "text": text}
            bodies.append(
                {
                    "role": "user",
                    "content": [block | {"cache_control": {"type": "ephemeral"}} if place == cached else block],
                }
            )
        return list(read(json.dumps(bodies).encode(), "anthropic").messages)

    assert compare(messages(0), messages(1)).grew


def test_a_message_without_words_is_named_by_what_it_does() -> None:
    call = Message(role="assistant", blocks=(ToolCall("a", "bash"), ToolCall("b", "read")))
    results = Message(role="user", blocks=(ToolResult("a"), ToolResult("b")))
    picture = Message(role="user", blocks=(Image(url="x"),))
    entered = compare([], [call, results, picture]).entered
    assert [change.title for change in entered] == ["called bash, read", "2 results", ""]


def test_system_prompt_and_tools_stay_cached() -> None:
    slid = diff([A, B], [B], ten, prices=CHEAP, fixed=1_000)
    assert slid.extra == pytest.approx(10 * 1.25 - 20 * 0.1)


def test_below_the_smallest_prompt_that_is_cached_nothing_is_gained_or_lost() -> None:
    assert diff([A, B], [B], ten, prices=ANTHROPIC).extra == -10


@given(before=st.text("abcd", max_size=8), after=st.text("abcd", max_size=8))
def test_everything_is_alike_moved_left_or_entered(before: str, after: str) -> None:
    found = compare([said(letter) for letter in before], [said(letter) for letter in after])
    assert len(after) == found.alike + found.again.value // 10 + len(found.entered)
    assert len(before) == found.alike + found.again.value // 10 + len(found.left)
    assert not found.changed
    assert found.grew == after.startswith(before)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ([A, B], [A, B, C], """20 before, 30 after
cached   2 messages  20  the same at the beginning of both
entered   1 message  10  only in the second
it only grew: all of the first is cached"""),
        ([A, B, C, D], [A, D, E], """40 before, 30 after
cached    1 message  10  the same at the beginning of both
again                10  in both, but behind the first difference: paid for again
entered   1 message  10  only in the second
left     2 messages  20  only in the first
costs 10 tokens at list price more than having only grown, saves 2 with each later request: pays after 5"""),
        ([A, B], [A], """20 before, 10 after
cached  1 message  10  the same at the beginning of both
left    1 message  10  only in the first
costs no more than having only grown"""),
        ([A, B], [B, A], """20 before, 20 after
cached  0 messages   0  the same at the beginning of both
again               20  in both, but behind the first difference: paid for again
costs 23 tokens at list price more than having only grown, and never pays"""),
    ],
)  # fmt: skip
def test_a_difference_reads_as_a_few_lines(before: list[Message], after: list[Message], shown: str) -> None:
    assert str(compare(before, after)) == shown
