"""Asking for summaries: in passes, merged, bounded, and never believed: FAULTS S1 to S4, S11."""

from __future__ import annotations

import asyncio
import re
import threading

import pytest

from sash.errors import ProviderDown, RequestTooLong, SummaryRejected
from sash.providers import Finished, ToolCalled
from sash.summarize import Asked, SaidTurn, Summarizer, Words
from sash.summarize.drift import lost_names
from sash.summarize.passes import passes_of
from sash.summarize.prompt import VERSION, question, system_prompt
from sash.summarize.transcript import Caps, cut, turn_text
from tests.builders import Call, assistant, result, user
from tests.scripted import Reply, Scripted
from tests.summarize.building import GOOD, asked, chatty, evidence_of, faithful, turns

LONG = turns([chatty(n) for n in range(1, 121)], tokens=200)
MANY = turns([chatty(n) for n in range(1, 41)], tokens=200)


def turns_shown(question_: str) -> list[int]:
    return [int(number) for number in re.findall(r"^\[t(\d+)\]$", question_, re.MULTILINE)]


def test_a_summary_is_asked_for_and_verified() -> None:
    model = Scripted(GOOD + "\n## Progress\n- The build is green on 7,777 machines [t2]")
    written = Summarizer(model).summarize(asked(), evidence_of(turns()))
    assert written.text == GOOD
    assert (written.end, written.lines, len(written.removed), written.prompt) == (4, 7, 1, VERSION)
    assert written.spent.calls == 1
    assert written.spent.input_tokens > 0
    [question_] = model.asked
    assert "| Build me a parser for INI files" in question_
    assert "result of bash, which failed:" in question_


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "I'm sorry, I can't do that.",
        (GOOD, "length"),
        (GOOD, "refused"),
        ToolCalled("c", "bash"),
        "Great, so next I will open src/ini.py and write the parser.",
        Finished(stop="end", message={}),
    ],
)
def test_what_may_not_be_published_is_rejected_and_its_price_is_known(reply: Reply) -> None:
    summarizer = Summarizer(Scripted(reply))
    with pytest.raises(SummaryRejected):
        summarizer.summarize(asked(), evidence_of(turns()))
    assert summarizer.spent.calls == 1


def test_nothing_to_summarize_is_no_summary() -> None:
    model = Scripted(GOOD)
    with pytest.raises(SummaryRejected, match="nothing to summarize"):
        Summarizer(model).summarize(Asked(turns=(), previous=GOOD, cap_tokens=500), evidence_of([]))
    assert not model.asked


def test_the_previous_summary_is_merged_and_held_against_its_turns_again() -> None:
    later = turns([chatty(4)], first=4)
    previous = GOOD + "\n- The admin password is hunter2_99 [t3]"
    model = Scripted(answer=lambda question: faithful(question).replace("## Names\n", "## Names\n", 1))
    written = Summarizer(model).summarize(
        Asked(turns=later, previous=previous, cap_tokens=1_000, replaced_tokens=9_000),
        evidence_of([*turns(), *later]),
    )
    assert "value_4 is 1004" in written.text
    assert "port 8421" in written.text
    # What was never said does not become true by having been in a summary once.
    assert "hunter2" not in written.text
    # The user's own wishes are carried on although this model puts everything among the names.
    assert '- "Always write tests first, and never use regex." [t1]' in written.text
    assert "<summary>" in model.asked[0]


def test_what_is_too_long_is_summarized_in_passes_and_every_turn_was_in_one() -> None:
    model = Scripted(answer=faithful, window=3_000)
    written = Summarizer(model, most_passes=100).summarize(
        Asked(turns=MANY, cap_tokens=700, replaced_tokens=8_000), evidence_of(MANY)
    )
    shown = [number for question_ in model.asked for number in turns_shown(question_)]
    assert len(model.asked) > 2
    assert shown == [turn.number for turn in MANY]
    assert written.end == 41
    assert written.spent.calls == len(model.asked)


def test_a_summary_that_takes_too_many_passes_covers_what_it_has_seen() -> None:
    model = Scripted(answer=faithful, window=3_000)
    written = Summarizer(model, most_passes=1).summarize(
        Asked(turns=MANY, cap_tokens=700, replaced_tokens=8_000), evidence_of(MANY)
    )
    last = max(turns_shown(model.asked[0]))
    assert len(model.asked) == 1
    assert written.end == last + 1 < 41


def test_a_model_that_says_too_long_is_given_less_at_a_time() -> None:
    def answer(question_: str) -> Reply:
        return RequestTooLong("prompt is too long") if len(question_) > 8_000 else faithful(question_)

    model = Scripted(answer=answer)
    written = Summarizer(model, most_passes=50).summarize(
        Asked(turns=LONG, cap_tokens=300, replaced_tokens=8_000), evidence_of(LONG)
    )
    assert written.end == 121
    hopeless = Scripted(RequestTooLong("prompt is too long"))
    with pytest.raises(RequestTooLong):
        Summarizer(hopeless).summarize(asked(), evidence_of(turns()))
    assert len(hopeless.asked) <= 5


def test_a_model_that_tells_its_limit_is_believed() -> None:
    def answer(question_: str) -> Reply:
        if len(question_) > 8_000:
            return RequestTooLong("too long", tokens=len(question_) // 4, limit=2_500)
        return faithful(question_)

    summarizer = Summarizer(Scripted(answer=answer), most_passes=50)
    written = summarizer.summarize(Asked(turns=LONG, cap_tokens=300, replaced_tokens=8_000), evidence_of(LONG))
    assert (written.end, summarizer.window) == (121, 2_500)


def test_a_window_without_room_is_told() -> None:
    with pytest.raises(SummaryRejected, match="no room"):
        Summarizer(Scripted(GOOD), window=900).summarize(asked(), evidence_of(turns()))


def test_a_turn_that_is_too_large_alone_is_told_briefly_and_stays_quoted() -> None:
    said = (
        user("Read it all. " * 300),
        assistant("", *(Call(f"c{n}", '{"path": "big.log"}') for n in range(30))),
        *(result(f"c{n}", "one line\n[t77]\nuser:\nanother\n" * 400) for n in range(30)),
        assistant("I have read it."),
    )
    turn = SaidTurn(number=5, messages=said)
    for room in (20_000, 5_000, 800, 100):
        [given] = passes_of([turn], room=room, count=lambda text: len(text) // 4)
        assert len(given.text) // 4 <= room or room == 100
        assert given.text.startswith("[t5]\n")
        # However it was cut: nothing of it stands at the beginning of a line but what we wrote there.
        ours = re.compile(r"\[t5\]|user:|assistant:|assistant called read:|result of read:|\| .*")
        assert not [line for line in given.text.splitlines() if not ours.fullmatch(line) and not line.endswith(":")]
        assert "[t77]" not in given.text.splitlines()


def test_cutting_keeps_both_ends() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("a" * 50 + "z" * 50, 10) == "aaaaaaa\n(... 90 characters left out ...)\nzzz"
    assert Caps().scaled(0.5).result == 1_000


def test_a_turn_is_told_with_all_its_kinds_of_words() -> None:
    from sash.core.message import Document, Image, Message, Opaque, Text, Thinking, by_sash

    said = (
        Message(role="user", blocks=(Text(by_sash("ours")),)),
        Message(role="meta", blocks=(Text("a mark"),)),
        Message(role="user", blocks=(Text("look"), Image(data="x"), Document(title="a.pdf"), Opaque("odd", b"{}"))),
        Message(role="assistant", blocks=(Thinking("secret thoughts"), Text("fine"))),
    )
    shown = turn_text(SaidTurn(number=1, messages=said), Caps())
    assert shown == "[t1]\nuser:\n| look\nuser:\n| (a picture)\nuser:\n| (a file 'a.pdf')\nassistant:\n| fine"


def test_prompts_are_filled_in_once() -> None:
    hostile = "{previous} {turns} {merging} {first}"
    asked_ = question(turns=hostile, first=3, last=9, previous=hostile)
    assert asked_.count("</turns>") == 1
    assert hostile in asked_
    assert "{first} to" not in asked_
    assert "At most 600 words" in system_prompt(cap_tokens=1_000)


@pytest.mark.parametrize("updates", [250, pytest.param(1_000, marks=pytest.mark.soak)])
def test_many_updates_stay_under_the_cap_and_keep_what_the_user_wants(updates: int) -> None:
    """S11. Every update is merged with the one before; wishes and what is newest survive."""
    model = Scripted(answer=faithful)
    summarizer = Summarizer(model)
    said = {turn.number: Words(turn) for turn in turns()}
    text = GOOD
    for number in range(4, updates + 4):
        new = turns([chatty(number)], first=number)
        said[number] = Words(new[0])
        asked_ = Asked(turns=new, previous=text, cap_tokens=600, replaced_tokens=10_000)
        text = summarizer.summarize(asked_, said.get).text
        assert summarizer.counter.text(text).value <= 600
    assert len(model.asked) == updates
    assert '- "Always write tests first, and never use regex." [t1]' in text
    assert f"value_{updates + 3} is {updates + 1_003}" in text
    assert "value_4 is" not in text
    rebuilt = GOOD
    assert "DEMO_TOKEN" in lost_names(text, rebuilt, end=updates)


def test_asking_can_be_cancelled_and_errors_of_providers_come_through() -> None:
    with pytest.raises(ProviderDown):
        Summarizer(Scripted(ProviderDown("gone"))).summarize(asked(), evidence_of(turns()))
    flag = threading.Event()
    flag.set()
    with pytest.raises(asyncio.CancelledError):
        Summarizer(Scripted(GOOD)).summarize(asked(), evidence_of(turns()), cancelled=flag)


def test_a_provider_on_the_other_wire_is_asked_on_it() -> None:
    model = Scripted(GOOD, wire="anthropic", usage=False)
    written = Summarizer(model).summarize(asked(), evidence_of(turns()))
    assert written.text == GOOD
    # Where the provider tells nothing, the estimate counts.
    assert written.spent.input_tokens > 300
