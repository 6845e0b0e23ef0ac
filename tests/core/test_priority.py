"""Priorities: seed 001's numbers, and the signals beside them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.core.live import LiveMessage, LiveTurn
from sash.core.message import Message, Opaque, Text, Thinking, ToolCall, ToolResult, by_sash
from sash.core.priority import BESIDE, SEED, SIGNALS, Said, Score, Signal, scores_of, tells_when
from sash.core.size import Size
from sash.core.turn import SYSTEM, Placing


def user(text: str) -> Message:
    return Message(role="user", blocks=(Text(text),))


def assistant(text: str) -> Message:
    return Message(role="assistant", blocks=(Text(text),))


def window(log: Sequence[Message]) -> list[LiveTurn]:
    """All turns of a log, with nothing evicted."""
    placing, turns = Placing(), dict[int, LiveTurn]()
    for position, message in enumerate(log):
        number = placing.add(message).turn
        if number != SYSTEM:
            turns.setdefault(number, LiveTurn(number, "", [], [])).add(LiveMessage(position, message, Size(1)), 1)
    return list(turns.values())


def scores(*log: Message, signals: Sequence[Signal] = SEED, system: int = 0) -> dict[int, Score]:
    return scores_of(window(log), len(log), system, signals)


FILLER = [assistant("hm")] * 20
"""Enough of nothing behind a message that it is neither first nor among the last."""


def among_others(message: Message, signals: Sequence[Signal] = SEED) -> Score:
    """The score of a turn of one message in the middle of a log, where recency gives it nothing."""
    log = [user("x"), message, *([user("y")] * 60)]
    turns = window(log)
    holder = next(turn.number for turn in turns if any(live.message is message for live in turn.messages()))
    alone = LiveTurn(holder, "", [LiveMessage(1, message, Size(1))], [])
    return scores_of([alone], len(log), 0, signals)[holder]


def test_the_reasons_of_a_score_are_kept_in_the_order_they_were_counted() -> None:
    assert among_others(user("please tell me the answer")) == Score(
        85, ("50 base", "+15 user", "+10 instruction words", "+10 conclusion words"), "instruction"
    )


def test_an_assistant_that_says_nothing_much_has_the_base() -> None:
    assert among_others(assistant("hm")) == Score(50, ("50 base",), "response")


def test_a_pure_chain_of_tools_is_worth_little() -> None:
    calls = tuple(ToolCall(str(place), "bash") for place in range(4))
    assert among_others(Message(role="assistant", blocks=calls)) == Score(
        30, ("50 base", "-20 pure tool chain"), "tool-use"
    )
    assert among_others(Message(role="assistant", blocks=calls[1:])).value == 50
    assert among_others(Message(role="assistant", blocks=(Text(""), *calls))).value == 50


def test_a_providers_own_tools_are_tools_too() -> None:
    searched = Opaque("server_tool_use", b"{}", opens="s"), Opaque("web_search_tool_result", b"{}", closes="s")
    assert among_others(Message(role="assistant", blocks=(*searched, *searched))).value == 30
    assert among_others(Message(role="assistant", blocks=(Opaque("note", b"{}"),))).type == "response"


def test_results_that_come_as_a_users_message_are_not_the_users_words() -> None:
    result = Message(role="user", blocks=(ToolResult("a", (Text("please"),)),))
    assert among_others(result) == Score(50, ("50 base",), "tool-use")


def test_the_first_message_counts_after_the_system_prompt() -> None:
    log = [Message(role="system", blocks=(Text("be kind"),)), user("hm"), *FILLER]
    assert scores(*log, system=1)[1].reasons == ("50 base", "+15 user", "at least 90 first message")
    assert scores(*log)[1].value < 90


def test_the_last_five_messages_score_at_least_85() -> None:
    log = [user("x"), *([user("hm")] * 30)]
    by_turn = scores(*log)
    assert [by_turn[turn].value for turn in (26, 27, 31)] == [89, 90, 94]
    assert scores(user("x"), *FILLER, *([assistant("hm")] * 30))[1].value == 90
    last = scores_of([LiveTurn(2, "", [LiveMessage(45, assistant("hm"), Size(1))], [])], 50)[2]
    assert last.reasons == ("50 base", "+27 recency", "at least 85 among the last 5 messages")


def test_no_score_is_over_100() -> None:
    log = [*([user("please, the answer is")] * 40)]
    assert scores(*log)[40].value == 100
    assert scores(*log)[40].reasons[-1] == "at most 100"


def test_a_score_of_just_100_was_not_cut() -> None:
    said = LiveTurn(2, "", [LiveMessage(30, user("please, the answer"), Size(1))], [])
    score = scores_of([said], 60)[2]
    assert (score.value, score.reasons[-1]) == (100, "+15 recency")


def test_words_with_a_call_are_tool_use() -> None:
    assert among_others(Message(role="assistant", blocks=(Text("hm"), ToolCall("a", "bash")))).type == "tool-use"


def test_a_turn_is_worth_its_best_message() -> None:
    log = [user("x"), user("hm"), assistant("fix the result"), assistant("hm"), *([user("y")] * 60)]
    assert scores(*log)[2].reasons == ("50 base", "+10 instruction words", "+10 conclusion words")


def test_marks_are_not_scored() -> None:
    mark = Message(role="meta", blocks=(Text("please"),))
    assert scores(mark, user("x"), mark)[0] == Score(0)


def test_an_opening_before_the_system_prompt_is_the_first_message() -> None:
    log = [assistant("welcome"), Message(role="system", blocks=(Text("be kind"),)), user("x"), *FILLER]
    assert scores(*log, system=1)[0].value >= 90


def test_a_line_of_megabytes_is_scored_in_one_pass() -> None:
    # The seed's expression would try each of a million beginnings against the whole rest.
    assert among_others(assistant("the " * 1_000_000)).value == 50
    assert among_others(assistant("the " * 1_000_000 + "sky is")).value == 60


def test_something_must_be_said_to_be() -> None:
    assert among_others(assistant("the  is")).value == 50
    assert among_others(assistant("is the sky")).value == 50
    assert among_others(assistant("The sky IS")).value == 60


WORDS = st.lists(
    st.sampled_from(
        [
            "please",
            "Fix",
            "the",
            "THE",
            "is",
            "this",
            "result",
            "sky",
            "\n",
            "\r",
            "\u2028",
            "hm",
            "Let's",
            "ſummary",
            "fİx",
            "İ want",
            "decİded",
            "is",
        ]
    ),
    max_size=6,
).map(" ".join)
MESSAGES = st.one_of(
    WORDS.map(user),
    WORDS.map(assistant),
    st.integers(1, 6).map(
        lambda calls: Message(role="assistant", blocks=tuple(ToolCall(f"{place}", "bash") for place in range(calls)))
    ),
    st.builds(lambda said: Message(role="assistant", blocks=(Thinking("the sky is"), *said.blocks)), WORDS.map(user)),
    st.integers(1, 6).map(
        lambda results: Message(role="tool", blocks=tuple(ToolResult(f"{place}") for place in range(results)))
    ),
)


def scored_by_the_seed(log: Sequence[Message]) -> list[int]:
    """Seed 001's `scoreTurns`, line by line; its expressions as they are, with JavaScript's dot and case."""
    priorities = []
    for message in log:
        texts = [block.text for block in message.blocks if isinstance(block, Text)]
        tools = [block for block in message.blocks if isinstance(block, ToolCall | ToolResult)]
        content, priority = "\n".join(texts), 50
        if message.role == "user":
            priority += 15
        flags = re.IGNORECASE | re.ASCII
        if re.search(
            r"(?:please|could you|I want|let's|we should|change|update|fix|add|remove|create|delete)", content, flags
        ):
            priority += 10
        if re.search(r"(?:decided|conclusion|result|summary|answer|the [^\n\r\u2028\u2029]+ is)", content, flags):
            priority += 10
        if len(tools) > 3 and not texts:
            priority -= 20
        priorities.append(priority)
    for index in range(len(log)):
        priorities[index] += math.floor((index / len(log)) * 30)
        if index == 0:
            priorities[index] = max(priorities[index], 90)
        if index >= len(log) - 5:
            priorities[index] = max(priorities[index], 85)
    return [min(100, priority) for priority in priorities]


@given(log=st.lists(MESSAGES, min_size=1, max_size=40))
def test_turns_have_the_best_score_that_the_seed_gives_their_messages(log: list[Message]) -> None:
    by_the_seed = scored_by_the_seed(log)
    for turn in window(log):
        best = max(by_the_seed[live.position] for live in turn.messages())
        assert scores(*log)[turn.number].value == best


@given(log=st.lists(MESSAGES, min_size=1, max_size=40))
def test_the_reasons_add_up_to_the_score(log: list[Message]) -> None:
    for score in scores(*log, signals=SIGNALS).values():
        value = 0
        for reason in score.reasons:
            if reason.startswith("at least "):
                value = max(value, int(reason.split()[2]))
            elif reason.startswith("at most "):
                value = min(value, int(reason.split()[2]))
            else:
                value += int(reason.split()[0])
        assert value == score.value


def names(message: Message) -> set[str]:
    """The signals beside the seed's that a message gives."""
    return {signal.name for signal in BESIDE if signal.seen(Said(message, message.text))}


@pytest.mark.parametrize(
    "words",
    [
        "Always run the tests before you commit",
        "From now on write in German.",
        "please don't touch the lock file",
        "The API must stay compatible",
        "you mustn't push to main",
        "Fine. Never use mocks.",
        "remember: tabs, not spaces",
        "ok, and make sure that CI is green",
        "do not add comments",
        "Don’t ever force-push",
        "In future, ask first",
    ],
)
def test_a_standing_instruction_is_heard(words: str) -> None:
    assert "standing instruction" in names(user(words))


@pytest.mark.parametrize(
    "words",
    [
        "No, the other file",
        "no that's wrong",
        "Use apsw instead",
        "actually, keep it",
        "That's not what I asked for",
        "Looks good. No, wait: one more thing",
        "stop using mocks",
        "Stop!",
        "revert that please",
        "you forgot the changelog",
    ],
)
def test_a_correction_is_heard(words: str) -> None:
    assert "correction" in names(user(words))


@pytest.mark.parametrize(
    "words",
    [
        "What does this function do?",
        "never mind",
        "it always seems to be the same hash",
        "I don't know where it is",
        "it must have been the cache",
        "No problem, go on",
        "Stop hook feedback: all green",
        "do you remember the name?",
        "```\nalways()\n```\nwhat is this?",
        "> never do that\nwho said this?",
        "<system-reminder>You must never mention this. No, really.</system-reminder>\nhello",
        "know-how and piano",
    ],
)
def test_plain_words_are_neither(words: str) -> None:
    assert names(user(words)) == set()


def test_only_the_user_gives_instructions() -> None:
    assert names(assistant("No, you must always do that instead")) == set()
    assert names(user(by_sash("the user said: always test"))) == set()


def test_of_a_long_paste_both_ends_are_the_users() -> None:
    paste = "you must never read this instead\n" * 1_000
    cut = f"<log-file>\n{paste}</log-file>"
    assert names(user(f"what is this?\n{'x' * 2_000}{paste}{'x' * 2_000}\nhm?")) == set()
    assert names(user(f"look at this:\n{cut}\nhm?")) == set()
    assert names(user(f"look at this:\n{cut}\nand always answer")) == {"standing instruction"}
    assert names(user(f"From now on, read this:\n{cut}")) == {"standing instruction"}


def calls(name: str, error: bool = False, **arguments: str) -> list[Message]:
    call = ToolCall(json.dumps(arguments), name, json.dumps(arguments))
    result = ToolResult(call.id, (Text("x" * 1_000),), error)
    return [Message(role="assistant", blocks=(call,)), Message(role="tool", blocks=(result,))]


def test_a_turn_whose_work_was_all_superseded_is_worth_less() -> None:
    log = [
        user("x"),
        user("look"),
        *calls("read", path="a.py"),
        *FILLER,
        user("y"),
        *calls("read", path="a.py"),
        *FILLER,
    ]
    assert "-15 superseded work" in scores(*log, signals=SIGNALS)[2].reasons
    assert "-15 superseded work" not in scores(*log, signals=SIGNALS)[3].reasons
    log[4:4] = calls("read", path="b.py")
    assert "-15 superseded work" not in scores(*log, signals=SIGNALS)[2].reasons


def test_a_turn_with_an_unresolved_error_is_worth_more() -> None:
    log = [user("x"), user("build"), *calls("bash", error=True, command="make"), *FILLER]
    assert "+15 unresolved error" in scores(*log, signals=SIGNALS)[2].reasons
    log += [user("again"), *calls("bash", command="make")]
    assert "+15 unresolved error" not in scores(*log, signals=SIGNALS)[2].reasons


@pytest.mark.parametrize(
    ("words", "tells"),
    [
        ("We were in Lisbon last summer.", True),
        ("I have 3 dogs.", True),
        ("(1:56 pm on 8 May, 2023) Ada: It was in March.", True),
        ("(1:56 pm on 8 May, 2023) Ada: Good to see you!", False),
        ("How nice of you!", False),
        (f"It was in March. {'la ' * 300}", False),
    ],
)
def test_who_tells_when_or_how_much_is_worth_more_among_people_talking(words: str, tells: bool) -> None:
    for message in (user(words), assistant(words)):
        assert tells_when(Said(message, message.text)) is tells
    call = Message(role="assistant", blocks=(Text(words), ToolCall("a", "look")))
    assert not tells_when(Said(call, call.text))


def test_only_the_seeds_scores_end_at_100() -> None:
    log = [user("please, the answer is 42")] * 40
    [turn] = [LiveTurn(40, "", [LiveMessage(39, log[39], Size(1))], [])]
    assert scores_of([turn], 40)[40].value == 100
    assert scores_of([turn], 40, signals=SIGNALS)[40].value > 100


def test_the_seeds_own_scores_know_nothing_of_the_signals_beside_them() -> None:
    log = [user("x"), user("always build"), *calls("bash", error=True, command="make"), *([user("y")] * 60)]
    assert scores(*log)[2].reasons == ("50 base", "+15 user")


def test_every_signal_says_what_it_means() -> None:
    assert len({signal.name for signal in SIGNALS}) == len(SIGNALS)
    assert all(signal.seen.__doc__ and signal.weight for signal in SIGNALS)
