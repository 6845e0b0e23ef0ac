"""The fold: when a slide is considered, when it is made, and what it costs to go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from sash.core.calibration import Calibration, Report
from sash.core.commands import pin, reframe
from sash.core.fold import Fold
from sash.core.frame import START
from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Block, Message, Text, ToolResult
from sash.core.policy import Policy
from sash.core.size import Size, size_of
from sash.core.slide import Slide
from sash.core.tokens import Counter, TokenCount
from sash.counters import counter_for
from tests.builders import (
    CHARS4,
    Call,
    Script,
    assistant,
    fold_of,
    grow,
    limits,
    lines,
    numbers,
    result,
    turns_of,
    user,
    words,
)


def small(**fields: Any) -> Policy:
    """A cap of a thousand tokens; turns leave whole and nothing else happens, unless said otherwise."""
    plain: dict[str, Any] = {"history_tokens": 1_000, "shorten_over_tokens": 0, "record_over_tokens": 0}
    return Policy(**{**plain, **fields})


def test_below_the_high_mark_nothing_happens() -> None:
    fold = fold_of(turns_of(100, 100, 100), small())
    assert fold.past.frames == [START]
    assert numbers(fold) == [1, 2, 3]


def test_above_the_high_mark_whole_turns_leave_down_to_the_low_mark() -> None:
    fold = fold_of([*turns_of(*[100] * 9), user(words(50))], small(history_tokens=1_000))
    assert (fold.frame.reason, fold.frame.boundary, fold.frame.freed) == ("between turns", 6, 500)
    assert fold.tokens == fold.frame.tokens == 450
    assert [left.number for left in fold.past.evicted] == [1, 2, 3, 4, 5]
    told = [(left.messages, left.first, left.tokens, left.frame) for left in fold.past.evicted[:2]]
    assert told == [(2, 0, 100, 1), (2, 2, 100, 1)]


def test_the_high_mark_alone_forces_a_slide_where_no_turn_is_expected() -> None:
    fold = fold_of([*turns_of(100), user(words(950))], small())
    assert fold.frame.reason == "high mark"
    assert numbers(fold) == [2]


def test_a_slide_between_turns_that_would_free_too_little_waits() -> None:
    said = [*turns_of(100, 400, 320), user(words(50))]
    assert fold_of(said, small(min_turns=3)).frame is not START
    assert fold_of(said, small(min_turns=3, worth_tokens=400)).frame is START


def test_a_slide_that_can_wait_may_be_vetoed_and_one_that_cannot_may_not() -> None:
    asked: list[Slide] = []

    def veto(slide: Slide) -> bool:
        asked.append(slide)
        return False

    fold = Fold(small(), limits(small()), CHARS4)
    fold.before_slide = veto
    grow(fold, [*turns_of(*[100] * 10), user(words(10))])
    assert [slide.frame.reason for slide in asked][-1] == "between turns"
    assert fold.frame.reason == "high mark"


def test_a_pause_longer_than_the_cache_lives_slides_from_the_soft_mark_on() -> None:
    def after(pause: float | None) -> Fold:
        fold = fold_of([*turns_of(110), user(words(750))], small(min_turns=1))
        call, answer = assistant("", Call("a")), result("a", "x")
        fold.add(call, size_of(call, CHARS4), at=1_000)
        fold.add(answer, size_of(answer, CHARS4), at=None if pause is None else 1_000 + pause)
        return fold

    assert after(301).frame.reason == "cold cache"
    assert after(300).frame is START
    assert after(None).frame is START


def test_when_a_turn_closes_is_when_the_seeds_look() -> None:
    policy = Policy.sliding(100)
    said = [*turns_of(40, 40), user(words(59))]
    assert fold_of(said, policy).frame is START
    assert fold_of([*said, assistant("", Call("a"))], policy).frame is START
    assert numbers(fold_of([*said, assistant("done")], policy)) == [2, 3]
    assert fold_of([*said, assistant("done")], policy).frame.reason == "high mark"


def test_the_seeds_look_earlier_where_the_window_would_overflow() -> None:
    fold = fold_of([*turns_of(40, 40), user(words(2_000))], Policy.sliding(100), window=2_200)
    assert (fold.frame.reason, numbers(fold)) == ("window", [3])


def test_only_so_many_recent_turns_stay_where_the_policy_counts_turns() -> None:
    fold = fold_of([*turns_of(*[10] * 6), user("now")], Policy.recent(3))
    assert (fold.frame.reason, numbers(fold)) == ("recent turns", [4, 5, 6, 7])


def test_a_body_that_is_too_large_slides_whatever_its_tokens() -> None:
    script = Script("anthropic")
    for _ in range(8):
        script.user("look", image="A" * 4_000).assistant("I see.")
    fold = fold_of(script.user("and?"), Policy(body_bytes=20_000))
    assert fold.frame.reason == "bytes"
    assert fold.body <= 20_000 * 0.6
    assert numbers(fold)[0] == 1, "pictures go before turns do"
    assert fold.frame.shortened


def test_screenshots_among_the_results_of_the_current_turn_go_too() -> None:
    script = Script("anthropic").user("go")
    for number in range(12):
        script.assistant("", Call(f"c{number}")).results((f"c{number}", "x" * 300), image=True)
    fold = fold_of(script, Policy(body_bytes=4_000))
    assert fold.body <= 4_000
    assert fold.frame.digested


def test_after_an_undo_only_the_window_forces_a_slide() -> None:
    policy = small()
    fold = fold_of(turns_of(400, 400), policy, window=40_000)
    fold.suspended = True
    grow(fold, [user(words(900))])
    assert fold.frame is START
    grow(fold, [assistant("ok"), user(words(35_000))])
    assert fold.frame.reason == "window"
    assert not fold.suspended


def test_what_an_undo_leaves_to_do_while_calls_are_open_keeps_the_mark_suspended() -> None:
    script = Script("anthropic").user("one").assistant("1", thinking=words(20)).user("go")
    fold = fold_of(script.assistant("", Call("a"), thinking=words(20)), small())
    fold.suspended = True
    reframe(fold, "undo")
    assert fold.due is not None
    grow(fold, script.results(("a", "done")).messages()[-1:])
    # What was signed was bound to the head that is gone.
    assert (fold.frame.number, fold.frame.reason, fold.suspended) == (2, "undo", True)


def test_a_command_while_calls_are_open_waits_for_their_results() -> None:
    fold = fold_of([*turns_of(100, 100, 100), user("go"), assistant("", Call("a"))], small())
    assert fold.slide("compact", low=0) is None
    assert fold.frame is START
    twin = fold.copy()
    grow(fold, [result("a", "x")])
    assert (fold.frame.reason, numbers(fold)) == ("compact", [3, 4])
    assert grow(twin, [result("a", "x")]).past.frames == fold.past.frames


def test_a_command_that_waits_for_results_does_not_hold_up_what_the_window_needs() -> None:
    said = [*turns_of(400, 400), user("go"), assistant("", Call("a"))]
    fold = fold_of(said, small(min_turns=1))
    reframe(fold, "summary")
    assert fold.due is not None
    grow(fold, [result("a", words(500))])
    # The turns leave, and what the model has not read yet is not cut short for them.
    assert (fold.frame.reason, numbers(fold), fold.frame.shortened) == ("high mark", [3], ())
    assert fold.due is None


def test_a_head_that_changes_above_the_mark_slides_as_the_next_request_would() -> None:
    said = [*turns_of(200, 300, 300), user("go"), assistant("", Call("a")), result("a", words(150)), assistant("ok")]
    fold = fold_of(said, small(soft_share=1.0, min_turns=1))
    grow(fold, [assistant(words(60))])
    assert (fold.frame, fold.tokens > fold.limits.high) == (START, True)
    pin(fold, fold.turns[1])
    reframe(fold, "pin")
    assert (fold.frame.reason, numbers(fold), fold.frame.fits) == ("pin", [1, 4], True)


def test_an_empty_log_has_nothing_to_slide() -> None:
    assert fold_of([], Policy()).slide("compact") is None
    assert next(fold_of([Message(role="system", blocks=(Text("be brief"),))]).window()).position == 0


def test_what_the_log_says_about_itself_belongs_to_its_turn_and_takes_nothing() -> None:
    mark = Message(role="meta", blocks=(Text(words(5_000)),))
    fold = fold_of([*turns_of(10), mark], small())
    assert (len(fold), fold.tokens, len(fold.turns[1])) == (3, 10, 3)


def test_a_giant_result_is_shortened_before_anybody_sees_it() -> None:
    fold = fold_of([user("go"), assistant("", Call("a")), result("a", lines(2_000))], Policy(history_tokens=40_000))
    assert fold.frame is START
    (_, _, live) = fold.turns[1].messages()
    assert live.came is not None
    assert fold.tokens < 5_000 < fold.turns[1].whole_tokens
    assert fold.body < 20_000
    assert live.block(0) == live.came.blocks[0] != live.message.blocks[0]


def test_what_the_turns_take_as_they_came_is_known_at_every_moment() -> None:
    policy = Policy(history_tokens=8_000, record_over_tokens=1_000)
    said = [user("go"), assistant("", Call("a")), result("a", lines(2_000)), *turns_of(*[900] * 9)]
    fold, slid = fold_of([], policy), 0
    for message in said:
        slid += fold.add(message, size_of(message, CHARS4)) is not None
        assert fold.whole_tokens == sum(turn.whole_tokens for turn in fold.turns.values())
    assert slid
    fold.configure(policy, fold.limits, counter_for("", counter="bytes4").counter)
    assert fold.whole_tokens == sum(turn.whole_tokens for turn in fold.turns.values())


def test_many_giant_results_at_once_still_fit() -> None:
    calls = [Call(str(number)) for number in range(12)]
    said = [user("go"), assistant("", *calls), *(result(call.id, lines(2_000)) for call in calls)]
    fold = fold_of(said, Policy(history_tokens=8_000))
    assert fold.frame.fits
    assert fold.tokens <= fold.limits.high
    kept = {fold.counter.message(message).value for message in _shown(fold)[2:]}
    assert max(kept) - min(kept) < 100, "they shrink to one size"


def _shown(fold: Fold) -> tuple[Message, ...]:
    from sash.core.request import assemble

    return assemble(fold).messages


def test_a_large_message_without_a_giant_result_is_left_as_it_is() -> None:
    fold = fold_of([user(words(700))], Policy(history_tokens=1_000))
    assert next(fold.window()).came is None


def test_what_the_provider_reports_moves_what_is_ahead() -> None:
    said = turns_of(*[100] * 6)
    fold = fold_of(said, small())
    fold.factor = 2.0
    grow(fold, [user("x")])
    assert fold.tokens * fold.factor <= fold.limits.low
    assert fold_of([*said, user("x")], small()).frame is START


def test_what_was_told_of_a_window_is_forgotten_when_it_slides_and_never_outweighs_what_can_be_freed() -> None:
    fold = fold_of(turns_of(*[100] * 6), small())
    told = Calibration(last=Report(context=fold.tokens + 10_000, messages=fold.tokens))
    fold.calibrate(told)
    assert fold.beyond == (fold.limits.high - fold.limits.low) / 2
    assert fold.total.value == fold.tokens + fold.beyond
    fold.slide("compact")
    assert (fold.beyond, fold.total.value) == (0.0, fold.tokens)


def test_what_was_said_never_counts_as_nothing_whatever_the_provider_told() -> None:
    fold = fold_of(turns_of(100, 100), small())
    fold.calibrate(Calibration(ratio=1.0, last=Report(context=1, messages=200, fixed=400)))
    assert (fold.asked, fold.total.value) == (150, 125)


def test_turns_that_are_to_leave_last_leave_where_what_the_provider_told_is_above_the_mark() -> None:
    fold = fold_of(turns_of(400, 400), small())
    fold.calibrate(Calibration(ratio=1.0, last=Report(context=250, messages=0)))
    grow(fold, [user("go on")])
    assert (fold.frame.reason, numbers(fold)) == ("high mark", [2, 3])


def test_where_the_users_words_alone_are_too_large_slides_stay_rare() -> None:
    said: list[Message] = [user(words(1_200))]
    frames = []
    for number in range(60):
        said += [assistant("", Call(str(number))), result(str(number), words(20))]
    fold = Fold(Policy(history_tokens=1_000), limits(Policy(history_tokens=1_000)), CHARS4)
    for message in said:
        frames += [frame] if (frame := fold.add(message, size_of(message, CHARS4))) else []
    assert not fold.frame.fits
    assert 1 < len(frames) < 25


def test_an_adaptive_policy_computes_its_low_mark_from_growth() -> None:
    said = [*turns_of(*[100] * 12), user("x")]
    fixed, adaptive = fold_of(said, small()), fold_of(said, small(adaptive=True))
    assert adaptive.frame.number
    assert fixed.frame.number


class Watched:
    """A counter that tells how often it was asked to count."""

    def __init__(self) -> None:
        self.counted = 0

    def __getattr__(self, name: str) -> object:
        return getattr(CHARS4, name)

    def block(self, block: Block) -> TokenCount:
        self.counted += 1
        return CHARS4.block(block)


@pytest.mark.parametrize("length", [100, 2_000])
def test_adding_a_message_takes_the_same_work_however_long_the_log_is(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched()
    counter = cast("Counter", watched)
    fold = Fold(Policy(history_tokens=100_000), limits(Policy(history_tokens=100_000)), counter)
    grow(fold, turns_of(*[20] * length))
    before = watched.counted

    def visit(turn: LiveTurn) -> Iterator[LiveMessage]:
        raise AssertionError("the window was walked through")

    monkeypatch.setattr("sash.core.live.LiveTurn.messages", visit)
    fold.add(user(words(10)), size_of(user(words(10)), counter))
    assert watched.counted - before == 1


def test_a_slide_costs_what_is_in_the_window_and_not_what_has_left() -> None:
    def visits(length: int) -> int:
        fold = fold_of(turns_of(*[100] * length), small())
        seen = 0
        original = type(fold.turns[max(fold.turns)]).messages

        def counting(turn: LiveTurn) -> Iterator[LiveMessage]:
            nonlocal seen
            for live in original(turn):
                seen += 1
                yield live

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sash.core.live.LiveTurn.messages", counting)
            fold.plan("compact", low=0)
        return seen

    assert visits(3_000) <= visits(30) + 20


def test_a_size_is_taken_as_it_is_given() -> None:
    fold = Fold(small(), limits(small()), CHARS4)
    fold.add(user("a"), Size(7, exact=False))
    assert (fold.tokens, fold.exact) == (7, False)


def test_results_of_an_earlier_turn_go_to_it_also_when_the_user_has_spoken_since() -> None:
    fold = fold_of([user("go"), assistant("", Call("a")), user("and this"), result("a", "x")], small())
    assert [live.position for live in fold.turns[1].messages()] == [0, 1, 3]
    assert isinstance(fold.turns[1].unseen()[0].message.blocks[0], ToolResult)
