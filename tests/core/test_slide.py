"""The ladder, rung by rung: least loss first, and it stops where the low mark is reached."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sash.core.commands import reframe
from sash.core.frame import DigestedSteps, Shortened
from sash.core.live import LiveMessage
from sash.core.message import Block, Message, Opaque, Text, Thinking
from sash.core.policy import Policy
from sash.core.request import assemble
from sash.core.shorter import EXPANDED
from sash.core.shown import ShortForms
from sash.core.slide.current import LEAST_CHARS, _level
from tests.builders import Call, Script, assistant, fold_of, grow, lines, numbers, result, turns_of, user, words
from tests.core.test_fold import small


def test_old_results_are_shortened_before_any_turn_leaves() -> None:
    said: list[Message] = []
    for number in range(4):
        said += [
            user("go"),
            assistant("", Call(f"c{number}", json.dumps({"path": str(number)}))),
            result(f"c{number}", lines(200)),
        ]
    policy = Policy(history_tokens=7_000, protect_results_tokens=2_500, record_over_tokens=0)
    fold = fold_of(said, policy)
    assert numbers(fold) == [1, 2, 3, 4]
    assert fold.frame.shortened == (Shortened(2, 0), Shortened(5, 0))


def test_what_leaves_with_its_turn_is_not_shortened_first() -> None:
    said: list[Message] = []
    for number in range(6):
        said += [
            user(words(1_000)),
            assistant("", Call(f"c{number}", json.dumps({"path": str(number)}))),
            result(f"c{number}", lines(200)),
        ]
    policy = Policy(
        history_tokens=17_000, keep_share=0.3, protect_results_tokens=100, record_over_tokens=0, worth_tokens=0
    )
    fold, measured = fold_of(said[:-3], policy), set[int]()
    assert fold.frame.number == 0

    class Watched(ShortForms):
        def __call__(self, live: LiveMessage, place: int, keep: int) -> Block:
            measured.add(live.position)
            return super().__call__(live, place, keep)

    fold.short = Watched()
    grow(fold, said[-3:])
    assert fold.past.evicted[0].number == 1
    assert measured >= {short.message for short in fold.frame.shortened} == {8, 11, 14}
    assert 2 not in measured


def test_a_turn_may_be_carried_because_it_was_shortened() -> None:
    said: list[Message] = [
        user("Please always fix the bug we decided on"),
        assistant("", Call("c", json.dumps({"path": "a"}))),
        result("c", lines(200)),
        assistant("the answer is here"),
        *turns_of(*[500] * 6),
        user("x"),
    ]
    policy = Policy(
        history_tokens=3_500, protect_results_tokens=100, record_over_tokens=0, worth_tokens=0, carry_tokens=1_000
    )
    assert fold_of(said, policy).frame.carried == (1,)


def test_a_superseded_result_goes_first() -> None:
    said: list[Message] = []
    for number, path in enumerate(["a", "b", "b", "c"]):
        said += [
            user("go"),
            assistant("", Call(f"c{number}", json.dumps({"path": path}))),
            result(f"c{number}", lines(200)),
        ]
    policy = Policy(
        history_tokens=7_900, keep_share=0.9, protect_results_tokens=2_500, record_over_tokens=0, worth_tokens=0
    )
    fold = fold_of(said, policy)
    assert fold.frame.shortened == (Shortened(5, 0),)


def test_what_was_expanded_is_not_shortened_again_among_results_that_are() -> None:
    said: list[Message] = []
    for number, text in enumerate([lines(200), f"{EXPANDED}m0.0]\n{lines(200)}", lines(200), lines(200)]):
        said += [
            user("go"),
            assistant("", Call(f"c{number}", json.dumps({"path": str(number)}))),
            result(f"c{number}", text),
        ]
    policy = Policy(history_tokens=7_900, keep_share=0.6, protect_results_tokens=100, record_over_tokens=0)
    assert fold_of(said, policy).frame.shortened == (Shortened(2, 0), Shortened(8, 0))


def test_results_that_cannot_be_shortened_free_nothing() -> None:
    said: list[Message] = []
    for number in range(4):
        said += [user("go"), assistant("", Call(f"c{number}")), result(f"c{number}", f"{EXPANDED}m0.0]\n{lines(200)}")]
    policy = Policy(
        history_tokens=7_900, keep_share=0.6, protect_results_tokens=100, record_over_tokens=0, worth_tokens=500
    )
    fold = fold_of(said, policy)
    assert fold.frame.shortened == ()
    assert fold.past.evicted


def test_shortening_that_frees_too_little_is_not_worth_a_broken_cache() -> None:
    said: list[Message] = [
        user("go"),
        assistant("", Call("c")),
        result("c", lines(40)),
        *turns_of(*[100] * 9),
        user("x"),
    ]
    fold = fold_of(
        said, Policy(history_tokens=1_100, record_over_tokens=0, protect_results_tokens=0, worth_tokens=2_000)
    )
    assert fold.frame.shortened == ()
    assert fold.past.evicted


def test_the_lowest_priority_leaves_first_where_the_policy_says_so() -> None:
    said = [user("Please always fix the bug we decided on"), assistant("ok"), *turns_of(*[300] * 3), user("x")]
    fold = fold_of(said, small(order="priority", min_turns=1))
    assert fold.frame.carried[0] == 1
    assert fold.past.evicted[0].number == 2
    assert fold.frame.boundary > 2


def test_old_turns_are_carried_for_their_priority_within_their_allowance() -> None:
    said = [
        user("Please always fix the bug we decided on"),
        assistant("the answer is here"),
        *turns_of(*[300] * 3),
        user("x"),
    ]
    assert 1 not in fold_of(said, small()).turns
    fold = fold_of(said, small(carry_tokens=50))
    assert fold.frame.carried == (1,)
    assert 1 not in fold_of(said, small(carry_tokens=5)).turns


def test_turns_that_hold_the_newest_messages_leave_last() -> None:
    said = [*turns_of(*[300] * 3), user("x")]
    one, five = fold_of(said, small(min_turns=1)), fold_of(said, small(min_turns=1, min_messages=4))
    one.slide("compact", low=0)
    five.slide("compact", low=0)
    assert (numbers(one), numbers(five)) == ([4], [2, 3, 4])


def test_pins_and_the_first_turn_stay_and_are_carried() -> None:
    fold = fold_of(turns_of(*[100] * 6), small(keep_first=True))
    fold.pinned = frozenset({3})
    fold.slide("compact", low=0)
    assert numbers(fold) == [1, 3, 5, 6]
    assert (fold.frame.boundary, fold.frame.carried) == (5, (1, 3))
    fold.pinned = frozenset()
    fold.slide("unpin", low=0)
    assert (numbers(fold), fold.frame.carried) == ([1, 5, 6], (1,))


def test_a_pinned_turn_is_not_shortened() -> None:
    said = [user("go"), assistant("", Call("c")), result("c", lines(300)), assistant("done"), *turns_of(100, 100)]
    fold = fold_of(said, Policy(history_tokens=20_000, protect_results_tokens=0, worth_tokens=0))
    fold.pinned = frozenset({1})
    fold.slide("pin", low=0)
    assert fold.frame.shortened == ()


def test_of_a_first_turn_that_is_too_large_the_request_stays() -> None:
    said: list[Message] = [user("the task")]
    for number in range(40):
        said += [assistant("", Call(str(number))), result(str(number), words(60))]
    said += [assistant("done"), user("more")]
    fold = fold_of(said, small(keep_first=True))
    grow(fold, [assistant("ok"), user(words(900))])
    assert numbers(fold) == [1, 3]
    assert next(fold.window()).message.text == "the task"
    assert fold.frame.digested[0].turn == 1
    assert fold.frame.fits


def test_inside_the_current_turn_results_go_before_arguments_and_text() -> None:
    script = Script().user("go")
    for number in range(4):
        arguments = json.dumps({"path": str(number), "text": words(300)})
        script.step(str(number), lines(120), text=words(700), arguments=arguments)
    policy = Policy(history_tokens=8_000, keep_share=0.8, shorten_over_tokens=0, record_over_tokens=0)
    assert not fold_of(script, policy).frame.digested
    assert {(short.message, short.block) for short in fold_of(script, policy).frame.shortened} == {
        (2, 0),
        (4, 0),
        (6, 0),
    }
    tight = msgspec.structs.replace(policy, keep_share=0.6)
    assert {(short.message, short.block) for short in fold_of(script, tight).frame.shortened} > {(2, 0), (6, 0), (1, 1)}


def test_a_step_digest_stands_for_the_oldest_steps_and_never_for_the_last() -> None:
    script = Script().user("go")
    for number in range(30):
        script.step(str(number), words(60))
    fold = fold_of(script, Policy(history_tokens=1_000))
    (digested,) = fold.frame.digested
    assert 0 < digested.steps < 30
    assert fold.tokens <= 1_000
    grow(fold, Script().assistant("done").messages())
    fold.slide("compact", low=0)
    assert fold.frame.digested == (DigestedSteps(1, 30),)
    assert [message.text for message in assemble(fold).messages][-1] == "done"


def test_results_not_seen_yet_shrink_only_as_far_as_they_must() -> None:
    said = [user("go"), assistant("", Call("a"), Call("b")), result("a", words(1_500)), result("b", words(100))]
    fold = fold_of(said, Policy(history_tokens=1_000, record_over_tokens=0))
    assert [(short.message, short.keep > 2_000) for short in fold.frame.shortened] == [(2, True)]
    assert 800 < fold.tokens <= 1_000


def test_not_even_the_last_results_are_cut_to_nothing() -> None:
    said = [user(words(990)), assistant("", Call("a")), result("a", words(1_500))]
    fold = fold_of(said, Policy(history_tokens=1_000))
    assert fold.frame.shortened == (Shortened(2, 0, LEAST_CHARS),)
    assert not fold.frame.fits


def test_text_of_which_some_is_far_denser_still_shrinks_under_the_mark() -> None:
    from sash.counters import counter_for

    text = "字" * 3_000 + " " * 60_000 + "字" * 3_000
    said = [user("go"), assistant("", Call("a")), result("a", text)]
    fold = fold_of(
        said, Policy(history_tokens=1_000, record_over_tokens=0), counter=counter_for("claude-opus-4").counter
    )
    assert fold.tokens <= 1_000


def test_a_text_that_is_densest_at_both_ends_is_measured_until_it_fits() -> None:
    from sash.counters import counter_for

    dense = "".join("字" * (2 ** (10 - step)) + "a " * 4**step for step in range(8))
    said = [user("go"), assistant("", Call("a")), result("a", dense + dense[::-1])]
    counter = counter_for("claude-opus-4").counter
    fold = fold_of(said, Policy(history_tokens=1_000, record_over_tokens=0), counter=counter)
    assert fold.frame.shortened[0].keep > LEAST_CHARS
    assert fold.tokens <= 1_000


def test_min_turns_yields_when_nothing_else_is_left() -> None:
    fold = fold_of([*turns_of(200, 700), user(words(600))], small())
    assert (numbers(fold), fold.frame.fits) == ([3], True)


def test_a_turn_that_bars_the_low_mark_leaves_before_the_current_one_is_told_in_pieces() -> None:
    said: list[Message] = [user("before"), assistant(words(1_200)), user("now")]
    for number in range(12):
        said += [assistant(words(60), Call(f"c{number}")), result(f"c{number}", words(60))]
    fold = fold_of(said, Policy(history_tokens=2_000))
    assert [frame.reason for frame in fold.past.frames[1:]] == ["high mark"]
    assert numbers(fold) == [2]
    assert not fold.frame.digested
    assert fold.frame.tokens <= fold.limits.low


def test_the_steps_of_a_large_first_turn_leave_before_the_current_one_is_told_in_pieces() -> None:
    script = Script().user("the whole task")
    for number in range(12):
        script.step(f"a{number}", words(100))
    script.assistant("done")
    for turn in range(4):
        script.user("go on")
        for number in range(8):
            script.step(f"b{turn} {number}", words(100))
        script.assistant("done")
    kept, plain = (fold_of(script, small(keep_first=first)) for first in (True, False))
    assert kept.turns[1].opening[0].message.text == "the whole task"
    assert kept.frame.number <= 2 * plain.frame.number
    assert min(frame.freed for frame in kept.past.frames[1:]) > 500


@pytest.mark.parametrize("fields", [{"worth_tokens": 900}, {"keep_share": 0.95}, {}])
def test_turns_that_leave_last_leave_no_further_than_the_low_mark(fields: dict[str, Any]) -> None:
    fold = fold_of([*turns_of(*[67] * 20), user(words(30))], small(min_turns=30, soft_share=1.0, **fields))
    assert fold.frame.number > 0
    assert all(frame.tokens + 67 > fold.limits.low for frame in fold.past.frames[1:])
    planned = fold.plan("window", low=400)
    assert planned is None or planned.frame.tokens + 67 > 400


def test_what_the_provider_compacted_leaves_after_all_other_turns() -> None:
    covering = Message(role="assistant", blocks=(Opaque("compaction", b"x" * 40, covers=True),))
    said: list[Message] = [user("long ago"), covering, *turns_of(*[100] * 12), user("now")]
    policy = Policy(history_tokens=800, recall_tokens=0)
    fold = fold_of(said, policy)
    assert fold.frame.carried == (1,)
    # A later one stands for the earlier one too.
    grow(fold, [covering, *turns_of(*[100] * 12), user("now")])
    assert len(fold.frame.carried) == 1
    assert fold.frame.carried[0] > 1
    grow(fold, [assistant(words(900)), user(words(799))])
    assert numbers(fold)[0] == fold.frame.boundary


def test_seeds_know_whole_turns_alone_whatever_the_provider_compacted() -> None:
    covering = Message(role="assistant", blocks=(Opaque("compaction", b"x" * 40, covers=True),))
    said: list[Message] = [user("long ago"), covering, assistant(words(900)), *turns_of(*[100] * 12), user("now")]
    assert 1 not in fold_of(said, Policy.sliding(1_000)).turns


def test_turns_leave_as_late_as_ever_where_the_low_mark_is_out_of_reach_without_them_too() -> None:
    said: list[Message] = [user(words(1_500)), *turns_of(20, 20), user("now")]
    for number in range(12):
        said += [assistant(words(60), Call(f"c{number}")), result(f"c{number}", words(60))]
    fold = fold_of(said, Policy(history_tokens=2_500, keep_first=True))
    assert fold.frame.number
    assert numbers(fold) == [1, 3, 4]


def test_seeds_go_no_further_than_whole_turns() -> None:
    fold = fold_of(
        [*turns_of(300), user("go"), assistant("", Call("a")), result("a", words(2_000))], Policy.threshold(1_000)
    )
    assert (fold.frame.digested, fold.frame.shortened) == ((), ())


def test_a_slide_drops_signed_thinking_of_what_was_said_before_it() -> None:
    script = Script("anthropic")
    for _ in range(3):
        script.user(words(20)).assistant(words(20), thinking=words(20))
    fold = fold_of(script.user("x"), small())
    before = fold.tokens
    frame = fold.slide("compact")
    assert frame is not None
    assert (frame.unsigned_before, frame.freed, frame.boundary) == (7, 60, 1)
    assert fold.tokens == before - 60
    assert not any(type(block) is Thinking for message in assemble(fold).messages for block in message.blocks)
    grow(fold, script.assistant("y", thinking="hm").messages()[7:])
    assert type(assemble(fold).messages[-1].blocks[0]) is Thinking


def test_unsigned_thinking_stays() -> None:
    script = Script("anthropic").user("a").assistant("b", thinking=words(20), signed=False).user("c")
    script.assistant("d", thinking=words(20)).user("e")
    fold = fold_of(script, small())
    fold.slide("compact")
    assert fold.frame.freed == 20


def test_in_a_tool_loop_steps_that_lost_their_thinking_are_told_as_text() -> None:
    script = Script("anthropic").user("go")
    for number in range(3):
        script.assistant("", Call(f"c{number}"), thinking=words(10)).results((f"c{number}", "fine"))
    fold = fold_of(script, small())
    fold.slide("compact")
    assert fold.frame.plain == (1, 7)
    told = assemble(fold).messages
    assert {message.role for message in told} == {"user", "assistant"}
    assert all(type(block) is Text for message in told for block in message.blocks)
    assert fold.tokens == sum(fold.counter.message(message).value for message in told)
    script.assistant("", Call("d"), thinking=words(10)).results(("d", "fine"))
    grow(fold, script.messages()[7:])
    assert assemble(fold).messages[-2].opened() == ["d"]


def test_when_a_later_loop_is_told_as_text_an_earlier_one_is_calls_again() -> None:
    script = Script("anthropic").user("go").assistant("", Call("a"), thinking="hm").results(("a", "x"))
    fold = fold_of(script, small())
    fold.slide("compact")
    script.assistant("done").user("again").assistant("", Call("b"), thinking="hm").results(("b", "x"))
    grow(fold, script.messages()[3:])
    fold.slide("compact")
    assert fold.frame.plain == (5, 7)
    assert fold.tokens == sum(fold.counter.message(message).value for message in assemble(fold).messages)


def test_where_nothing_else_may_leave_thinking_is_left_out_only_if_that_is_enough() -> None:
    script = Script("anthropic").user(words(200)).assistant("", Call("a"), thinking=words(40)).results(("a", "x"))
    fold = fold_of(script, small(history_tokens=180, step_digest_tokens=0))
    assert (fold.frame.number, fold.over_high()) == (0, True)
    script.assistant("", Call("b"), thinking=words(40)).results(("b", "x"))
    grow(fold, script.messages()[3:])
    assert fold.frame.number == 0
    enough = fold_of(script, small(history_tokens=230, step_digest_tokens=0))
    assert (enough.frame.reason, enough.frame.fits) == ("high mark", True)


def test_a_step_that_comes_in_pieces_keeps_its_thinking_as_long_as_it_may_go_on() -> None:
    script = Script("openai-responses").turn(ask=50, answer=50).user("go")
    script.assistant("first I look", Call("a"), thinking=words(20))
    *said, words_of_it, call = script.messages()
    fold = fold_of([*said, words_of_it], Policy.sliding(80))
    assert (fold.frame.reason, numbers(fold), fold.frame.unsigned_before) == ("high mark", [2], 0)
    grow(fold, [call])
    # As it was said: a call without the thinking that it came with is refused.
    assert [message.source for message in assemble(fold).messages[-3:]] == [
        message.source for message in (said[-1], words_of_it, call)
    ]
    grow(fold, [*script.results(("a", "done")).messages()[-1:], *Script("openai-responses").user("on").messages()])
    reframe(fold, "pin")
    assert fold.frame.unsigned_before == fold.frame.at


def test_a_slide_that_changes_nothing_is_none() -> None:
    fold = fold_of([*turns_of(10, 10), user("x")], small())
    assert fold.slide("compact") is None
    assert fold.frame.number == 0


@pytest.mark.parametrize(
    ("sizes", "room", "level"),
    [((), 5, 0), ((5, 5), 10, 5), ((5, 9), 10, 5), ((1, 9, 9), 11, 5), ((9, 9), -3, 0)],
)
def test_the_largest_shrink_to_one_level(sizes: tuple[int, ...], room: int, level: int) -> None:
    assert _level(sizes, room) == level
