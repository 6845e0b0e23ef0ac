"""Why everything is where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest

from sash.core.because import BECAUSE
from sash.core.explain import explain
from sash.core.explanation import ExplainedResult, ExplainedTurn
from sash.core.fold import Fold
from sash.core.frame import Reason
from sash.core.limits import limits_of
from sash.core.message import Message, Text, Thinking, ToolCall, ToolResult
from sash.core.policy import Policy
from sash.core.size import size_of
from sash.core.tokens import NO_TOKENS, TokenCount
from sash.counters import counter_for

COUNTER = counter_for("", counter="chars4").counter
WORDS = "four " * 400
"""500 tokens."""


def user(text: str) -> Message:
    return Message(role="user", blocks=(Text(text),))


def assistant(text: str) -> Message:
    return Message(role="assistant", blocks=(Text(text),))


def step(call: str, size: int, *, signature: str = "") -> list[Message]:
    """A call and a result of about so many tokens."""
    thinking = (Thinking("hm " * 100, signature),) if signature else ()
    asked = Message(role="assistant", blocks=(*thinking, ToolCall(call, "bash", f'{{"command": "{call}"}}')))
    lines = "\n".join(f"{call} line {number:06}" for number in range(size // 5))
    return [asked, Message(role="tool", blocks=(ToolResult(call, (Text(lines),)),))]


def folded(log: Sequence[Message], policy: Policy) -> Fold:
    fold = Fold(policy, limits_of(policy, window=1_000_000), COUNTER)
    for message in log:
        fold.add(message, size_of(message, COUNTER))
    return fold


def turn(number: int, size: int = 1) -> list[Message]:
    return [user(f"question {number}"), assistant(WORDS * size)]


def by_number(fold: Fold) -> dict[int, ExplainedTurn]:
    return {explained.number: explained for explained in explain(fold).turns}


def by_handle(fold: Fold, log: Sequence[Message] = ()) -> dict[str, ExplainedResult]:
    return {explained.handle: explained for explained in explain(fold, log).results}


PLAIN = Policy(history_tokens=5_000, min_turns=2, step_digest_tokens=0, shorten_over_tokens=0)
LOG = [message for number in range(1, 13) for message in turn(number)]


def test_before_anything_happened_all_is_live() -> None:
    explanation = explain(folded(LOG[:4], PLAIN))
    assert [explained.state for explained in explanation.turns] == ["live", "live"]
    assert [frame.rule for frame in explanation.frames] == ["start"]
    assert explanation.turns[0].since == explanation.frame == 0
    assert explanation.turns[0].back == ()
    assert explain(folded([], PLAIN)).turns == ()


def test_every_turn_is_explained_once_and_in_order() -> None:
    fold = folded(LOG, PLAIN)
    assert [explained.number for explained in explain(fold).turns] == list(range(1, 13))
    assert {explained.state for explained in explain(fold).turns} == {"live", "evicted"}
    assert all(
        (explained.number < fold.frame.boundary) == (explained.state == "evicted") for explained in explain(fold).turns
    )


def test_an_evicted_turn_says_by_which_rule_since_when_and_how_it_comes_back() -> None:
    fold = folded(LOG, PLAIN)
    first = by_number(fold)[1]
    assert first.since == 1
    assert first.reason == f"it left at frame 1: {BECAUSE[fold.past.frames[1].reason]}"
    # What is stored is not folded anew: a larger window would admit nothing again.
    assert first.back == ("pin 1", "undo")
    assert explain(fold, stored=False).turns[0].back == ("raise `history_tokens`",)
    assert first.tokens == first.whole
    assert first.tokens.value > 500


def test_only_what_the_newest_slide_took_can_be_undone() -> None:
    fold = folded([message for number in range(1, 30) for message in turn(number)], PLAIN)
    assert fold.frame.number > 1
    turns = by_number(fold)
    assert "undo" not in turns[1].back
    last_out = max(number for number, explained in turns.items() if explained.state == "evicted")
    assert "undo" in turns[last_out].back


def test_a_live_turn_says_why_it_stays() -> None:
    turns = by_number(folded(LOG, PLAIN))
    assert turns[12].reason == "the current turn always stays"
    assert turns[11].reason == "the newest 2 turns leave last"
    assert turns[10].reason == "history was not full enough for it to leave"


def test_a_pinned_turn_is_carried_because_it_is_pinned() -> None:
    fold = folded(LOG[:4], PLAIN)
    fold.pinned |= {2}
    for message in LOG[4:]:
        fold.add(message, size_of(message, COUNTER))
    pinned = by_number(fold)[2]
    assert (pinned.state, pinned.reason, pinned.since) == ("carried", "it is pinned", 1)


def test_the_first_turn_is_carried_because_the_policy_keeps_it() -> None:
    first = by_number(folded(LOG, msgspec.structs.replace(PLAIN, keep_first=True)))[1]
    assert (first.state, first.reason) == ("carried", "the first turn stays as long as anything does")


def test_a_turn_kept_for_its_priority_shows_the_score_and_its_reasons() -> None:
    log = [*LOG[:2], user("always answer in verse"), assistant("fix"), *LOG[4:]]
    fold = folded(log, msgspec.structs.replace(PLAIN, carry_tokens=600))
    carried = [explained for explained in explain(fold).turns if explained.state == "carried"]
    assert carried
    for explained in carried:
        assert explained.priority is not None
        assert explained.reason == f"it is kept for its priority, {explained.priority.value}"
        assert explained.priority.reasons[0] == "50 base"


def test_signals_beside_the_seeds_are_shown_but_under_its_own_policy() -> None:
    log = [*LOG[:2], user("always answer in verse"), *LOG[3:6]]
    for policy, shown in ((PLAIN, True), (msgspec.structs.replace(PLAIN, order="priority"), False)):
        score = by_number(folded(log, policy))[2].priority
        assert score is not None
        assert ("+25 standing instruction" in score.reasons) is shown


SHORTENING = Policy(
    history_tokens=20_000, protect_results_tokens=2_000, worth_tokens=100, shorten_over_tokens=200, record_over_tokens=0
)


def test_a_shortened_result_says_how_much_is_shown_and_how_to_see_the_rest() -> None:
    log = [user("go"), *step("make", 6_000), *step("test", 6_000), *step("lint", 9_000), assistant("ok"), *turn(2)]
    fold = folded(log, SHORTENING)
    results = by_handle(fold)
    assert [short.handle for short in fold.frame.shortened if short.message == 2] == ["2.0"]
    first = results["2.0"]
    assert (first.state, first.tool, first.turn, first.since) == ("shortened", "bash", 1, 1)
    assert 0 < first.shown.value < 1_000 < first.whole.value
    assert first.back == ("expand 2.0", "undo")
    assert first.reason.startswith("shortened at frame 1: ")
    assert "shortened" in by_number(fold)[1].reason
    assert by_number(fold)[1].back == ("undo",)


def test_a_result_that_is_shown_whole_needs_nothing_to_come_back() -> None:
    (result,) = explain(folded([user("go"), *step("make", 1_000)], SHORTENING)).results
    assert (result.state, result.reason, result.back, result.since) == ("whole", "the model sees all of it", (), 0)
    assert result.shown == result.whole


def test_each_of_several_results_in_one_message_has_a_handle_and_a_size_of_its_own() -> None:
    asked = Message(role="assistant", blocks=(ToolCall("a", "read"), ToolCall("b", "bash")))
    given = Message(role="user", blocks=(ToolResult("a", (Text("four words of it"),)), ToolResult("b", (Text(WORDS),))))
    results = by_handle(folded([user("go"), asked, given], SHORTENING))
    assert {handle: result.tool for handle, result in results.items()} == {"2.0": "read", "2.1": "bash"}
    assert 0 < results["2.0"].whole.value < results["2.1"].whole.value


def test_a_result_whose_call_is_not_there_has_no_tool() -> None:
    orphan = Message(role="tool", blocks=(ToolResult("gone", (Text("x"),)),))
    assert by_handle(folded([user("go"), orphan], SHORTENING))["1.0"].tool == ""


def test_a_result_says_that_later_work_made_it_stale() -> None:
    again = [Message(role="assistant", blocks=(ToolCall("b", "bash", '{"command": "make"}'),)), step("b", 500)[1]]
    fold = folded([user("go"), *step("make", 500), *again], SHORTENING)
    assert {handle: result.superseded for handle, result in by_handle(fold).items()} == {"2.0": True, "4.0": False}


def test_a_result_shortened_as_it_came_in_says_so() -> None:
    log = [user("go"), *step("make", 9_000)]
    fold = folded(log, msgspec.structs.replace(SHORTENING, record_over_tokens=1_000))
    result = by_handle(fold)["2.0"]
    assert (result.state, result.since, result.back) == ("shortened", 0, ("expand 2.0",))
    assert "record_over_tokens" in result.reason
    assert by_number(fold)[1].reason.endswith("; 1 of its blocks is shortened")
    assert result.whole == COUNTER.block(log[2].blocks[0])
    assert result.shown.value < 1_000


def test_digested_steps_are_told_of_turn_and_result() -> None:
    log = [user("go")]
    for number in range(60):
        log += step(f"make {number}", 600)
    fold = folded(log, msgspec.structs.replace(SHORTENING, history_tokens=5_000, protect_results_tokens=None))
    current = by_number(fold)[1]
    assert current.digested_steps > 0
    assert f"a digest stands for its first {current.digested_steps} steps" in current.reason
    assert current.tokens.value < current.whole.value
    first = by_handle(fold)["2.0"]
    assert (first.state, first.shown) == ("digested", NO_TOKENS)
    assert first.since >= 1
    assert first.reason.startswith("a digest stands for its step: ")
    assert first.whole.value > 100
    assert first.back[0] == "expand 2.0"
    assert len(by_handle(fold)) == 60


def test_results_of_evicted_turns_are_explained_when_the_log_is_at_hand() -> None:
    log = [user("go"), *step("make", 500), assistant("ok"), *LOG]
    fold = folded(log, PLAIN)
    assert by_handle(fold) == {}
    result = by_handle(fold, log)["2.0"]
    assert (result.state, result.tool, result.turn, result.shown) == ("evicted", "bash", 1, NO_TOKENS)
    assert result.whole == COUNTER.block(log[2].blocks[0])
    assert result.back[:2] == ("expand 2.0", "pin 1")
    assert result.reason.startswith("it left with turn 1 at frame 1: ")


def test_thinking_that_a_slide_left_out_is_told() -> None:
    log = [user("go"), *step("make", 6_000, signature="s"), *step("test", 20_000, signature="s")]
    fold = folded(log, SHORTENING)
    assert fold.frame.number == 1
    current = by_number(fold)[1]
    assert "signed thinking is left out" in current.reason
    assert "its calls are told as text" in current.reason


def test_a_turn_that_thought_nothing_misses_no_thinking() -> None:
    log = [
        user("hm"),
        assistant("hm"),
        user("go"),
        *step("make", 6_000, signature="s"),
        *step("test", 20_000, signature="s"),
    ]
    turns = by_number(folded(log, msgspec.structs.replace(SHORTENING, min_turns=3)))
    assert turns[1].state == "live"
    assert "thinking" not in turns[1].reason
    assert "told as text" not in turns[1].reason
    assert "thinking" in turns[2].reason


def test_a_turn_is_counted_exactly_only_if_all_its_messages_are() -> None:
    fold = Fold(PLAIN, limits_of(PLAIN, window=1_000_000), COUNTER)
    for message, exact in zip([*turn(1), *turn(2)], [True, True, True, False], strict=True):
        fold.add(message, msgspec.structs.replace(size_of(message, COUNTER), exact=exact))
    assert [explained.tokens.exact for explained in explain(fold).turns] == [True, False]
    assert not explain(fold).tokens.exact


def test_frames_say_what_they_did_and_what_they_freed() -> None:
    fold = folded(LOG, PLAIN)
    frames = explain(fold).frames
    assert [frame.number for frame in frames] == [frame.number for frame in fold.past.frames]
    assert frames[1].evicted == tuple(range(1, fold.past.frames[1].boundary))
    assert frames[1].freed.value == frames[1].tokens_before.value - frames[1].tokens.value > 0
    assert frames[1].reason == BECAUSE[frames[1].rule]
    assert frames[1].at <= len(LOG)
    assert frames[1].fits
    assert frames[1].shortened == 0
    evicted = [number for frame in frames for number in frame.evicted]
    assert sorted(evicted) == [explained.number for explained in explain(fold).turns if explained.state == "evicted"]


def test_a_frame_counts_what_it_shortened_first() -> None:
    log = [user("go"), *step("make", 6_000), *step("test", 6_000), *step("lint", 9_000), assistant("ok"), *turn(2)]
    fold = folded(log, SHORTENING)
    assert [frame.shortened for frame in explain(fold).frames] == [0, len(fold.frame.shortened)]


def test_what_left_is_told_beside_what_was_freed() -> None:
    whole = explain(folded(LOG, PLAIN)).frames[1]
    assert whole.left.value == whole.freed.value > 0
    # A result that was shortened as it came in had left in part before its turn did.
    giant = [user("go"), *step("make", 9_000), assistant("ok")]
    policy = msgspec.structs.replace(PLAIN, record_over_tokens=100)
    fold = folded([*giant, *LOG], policy)
    frame = explain(fold).frames[1]
    sizes = {turn.number: turn.whole.value for turn in explain(fold).turns}
    assert 1 in frame.evicted
    assert frame.left.value == sum(sizes[number] for number in frame.evicted) > frame.freed.value


def test_what_the_turns_in_the_window_take_adds_up_to_the_history() -> None:
    log = [*LOG, user("go"), *step("make", 600), *step("test", 600)]
    for policy in (PLAIN, SHORTENING, msgspec.structs.replace(PLAIN, carry_tokens=600)):
        explanation = explain(folded(log, policy))
        shown = [explained.tokens.value for explained in explanation.turns if explained.state != "evicted"]
        assert sum(shown) == explanation.tokens.value


def test_sizes_are_what_the_provider_counts() -> None:
    fold = folded(LOG[:4], PLAIN)
    plain = explain(fold)
    fold.factor = 1.5
    scaled = explain(fold)
    assert scaled.tokens == plain.tokens.scaled(1.5)
    assert scaled.turns[0].tokens == TokenCount(plain.turns[0].tokens.value, plain.turns[0].tokens.exact).scaled(1.5)


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_for_a_frame_has_its_sentence(reason: Reason) -> None:
    assert BECAUSE[reason]


def test_another_setting_is_named_where_another_limit_was_reached() -> None:
    fold = folded(LOG[:20], Policy.recent(turns=3))
    turns = {turn.number: turn for turn in explain(fold, stored=False).turns}
    assert turns[1].back == ("raise `recent_turns`",)
    kept = [number for number, turn in turns.items() if turn.reason.startswith("the policy keeps the newest 3 turns")]
    assert kept == [*turns][-4:-1]
    assert turns[1].reason.endswith(BECAUSE["recent turns"])


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("high mark", "raise `history_tokens`"),
        ("bytes", "raise `body_bytes`"),
        ("window", "raise `window`, or lower `reserve_tokens`"),
    ],
)
def test_what_would_bring_a_turn_back_is_what_its_slide_was_made_for(reason: Reason, remedy: str) -> None:
    fold = folded(LOG[:20], msgspec.structs.replace(PLAIN, history_tokens=9_000, window=20_000, reserve_tokens=100))
    assert fold.slide(reason, low=200) is not None
    assert explain(fold, stored=False).turns[0].back == (remedy,)


def test_an_explanation_reads_as_a_line_for_history_and_one_for_turns_alike() -> None:
    policy = Policy(history_tokens=2_200, counter="chars4")
    told = explain(folded([message for number in range(1, 8) for message in turn(number)], policy))
    head, *lines = str(told).splitlines()
    assert head == "history ~1.5k: slides above 2,200, down to 1,100; frame 2, live from turn 5"
    assert [line[:23] for line in lines] == [
        "turn    state    tokens",
        "1 to 2  evicted   ~1.0k",
        "3 to 4  evicted   ~1.0k",
        "5       live       ~502",
        "6       live       ~502",
        "7       live       ~502",
    ]
    assert lines[1][23:] == f"  {told.turns[0].reason}"
    assert str(explain(folded([], policy))) == "history 0: slides above 2,200, down to 1,100; frame 0, live from turn 0"
