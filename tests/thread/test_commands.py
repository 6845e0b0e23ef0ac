"""What the user commands: pin, mark, rewind, undo, configure, redact. Nothing is lost by any of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sash.core.policy import Policy
from sash.errors import InvalidMessage, NotFound, NothingToUndo, PinsFull
from sash.store import MemoryStore
from sash.thread import Thread
from tests.builders import Call, Script, lines, words
from tests.core.invariants import check_counted_right
from tests.thread.speaking import SMALL, numbers, opened, say, talk


def test_a_pinned_turn_stays_when_others_leave() -> None:
    thread = opened()
    talk(thread, 2)
    assert thread.pin(1) is None
    talk(thread, 18)
    assert numbers(thread, "carried") == [1]
    assert 1 not in numbers(thread, "evicted")
    assert thread.verify().ok


def test_an_evicted_turn_comes_back_when_it_is_pinned_and_leaves_when_it_is_unpinned() -> None:
    thread = opened()
    thread.append([{"role": "user", "content": "the first words"}, {"role": "assistant", "content": words(50)}])
    talk(thread, 19)
    assert 1 in numbers(thread, "evicted")
    frame = thread.pin(1)
    assert frame is not None
    assert (frame.reason, frame.carried) == ("pin", (1,))
    assert "the first words" in [message["content"] for message in thread.request()["messages"]]
    assert numbers(thread, "carried") == [1]
    assert len(thread.turns()) == 20
    left = thread.unpin(1)
    assert left is not None
    assert (left.reason, left.carried) == ("unpin", ())
    assert 1 in numbers(thread, "evicted")
    assert thread.verify().ok


def test_unpinning_a_live_turn_changes_nothing_yet() -> None:
    thread = opened()
    talk(thread, 2)
    thread.pin(2)
    assert thread.unpin(2) is None
    assert numbers(thread, "live") == [1, 2]
    with pytest.raises(NotFound, match="pinned turn 2"):
        thread.unpin(2)


def test_pins_beyond_their_allowance_are_refused_with_the_sizes() -> None:
    thread = opened()
    talk(thread, 6)
    for number in (1, 2, 3, 4):
        thread.pin(number)
    with pytest.raises(PinsFull, match=r"500 of at most 400 tokens \(turn 1: 100, .*raise `pin_tokens`"):
        thread.pin(5)
    assert "unpin one of them" in str(PinsFull(turn=2, sizes={1: 300, 2: 200}, limit=400))
    with pytest.raises(NotFound, match="turn 77"):
        thread.pin(77)


def test_where_nothing_is_pinned_nothing_is_to_be_unpinned() -> None:
    thread = opened(policy=Policy(counter="chars4", history_tokens=1_000, pin_tokens=50))
    talk(thread, 6)
    with pytest.raises(PinsFull, match=r"\(turn 2: 100\); raise `pin_tokens`$"):
        thread.pin(2)


def test_a_rewind_goes_back_to_the_newest_mark_and_keeps_it() -> None:
    thread = opened()
    talk(thread, 2)
    thread.mark("before")
    before = thread.request()
    talk(thread, 3)
    frame = thread.rewind()
    assert (frame.reason, frame.number) == ("rewind", 1)
    assert thread.request() == before
    assert numbers(thread, "live") == [1, 2]
    assert numbers(thread, "rewound") == [3, 4, 5]
    assert [mark.label for mark in thread.marks()] == ["before"]
    talk(thread, 1)
    assert numbers(thread, "live") == [1, 2, 6]
    assert thread.verify().ok


def test_a_rewind_by_label_drops_later_marks_and_an_undo_brings_them_back() -> None:
    thread = opened()
    talk(thread, 1)
    thread.mark("a")
    talk(thread, 1)
    thread.mark("b")
    talk(thread, 1)
    full = thread.request()
    thread.rewind("a")
    assert [mark.label for mark in thread.marks()] == ["a"]
    assert thread.undo().reason == "undo"
    assert [mark.label for mark in thread.marks()] == ["a", "b"]
    assert thread.request() == full
    assert numbers(thread, "live") == [1, 2, 3]
    with pytest.raises(NotFound, match="mark 'c'"):
        thread.rewind("c")
    assert thread.verify().ok


def _of_the_log(thread: Thread) -> list[object]:
    """What is sent of the log itself."""
    return [message for message in thread.request()["messages"] if "[sash: " not in str(message)]


def test_a_rewind_restores_frame_pins_and_facts() -> None:
    thread = opened()
    talk(thread, 4)
    thread.pin(1)
    thread.remember("early")
    thread.mark()
    # The new frame takes the fact in: until then it stood with the input.
    state = (_of_the_log(thread), numbers(thread, "evicted"), thread.facts())
    thread.remember("late")
    thread.unpin(1)
    talk(thread, 20)
    assert 1 in numbers(thread, "evicted")
    thread.rewind()
    assert (_of_the_log(thread), numbers(thread, "evicted"), thread.facts()) == state
    assert "early" in str(thread.request()["messages"][0])
    assert "late" not in str(thread.request())
    talk(thread, 20)
    assert numbers(thread, "carried") == [1]
    assert thread.verify().ok


def test_a_mark_inside_a_step_goes_back_to_where_the_step_began() -> None:
    thread = opened()
    say(thread, Script().turn().user("look").assistant("", Call("a")))
    thread.mark("inside")
    say(thread, Script().results(("a", "found")).assistant("there"))
    thread.rewind("inside")
    assert [message["role"] for message in thread.request()["messages"]] == ["user", "assistant", "user"]
    assert [mark.label for mark in thread.marks()] == ["inside"]
    say(thread, Script().assistant("never mind"))
    assert thread.verify().ok


def test_without_a_mark_there_is_nothing_to_go_back_to() -> None:
    with pytest.raises(NotFound, match="mark"):
        opened().rewind()


def test_an_undone_slide_brings_the_turns_back_until_the_window_is_full() -> None:
    thread = opened(policy=Policy(counter="chars4", history_tokens=1_000, window=6_000))
    talk(thread, 10)
    assert numbers(thread, "evicted")
    assert thread.undo().reason == "undo"
    assert numbers(thread, "evicted") == []
    talk(thread, 10)
    assert numbers(thread, "evicted") == []
    talk(thread, 40)
    assert numbers(thread, "evicted")
    assert thread.verify().ok


def test_what_left_with_a_slide_is_told_also_when_it_came_back() -> None:
    thread = opened()
    talk(thread, 12)
    thread.mark("here")
    talk(thread, 2)
    thread.rewind("here")
    talk(thread, 10)
    told = {frame.number: frame.evicted for frame in thread.explain().frames}
    assert sorted(number for left in told.values() for number in left) == numbers(thread, "evicted")
    assert numbers(thread, "rewound") == [13, 14]
    pinned = thread.pin(1)
    assert pinned is not None
    undone = [thread.undo() for _ in range(3)]
    after = {frame.number: frame.evicted for frame in thread.explain().frames}
    assert {number: after[number] for number in told} == told
    assert not any(after[frame.number] for frame in (pinned, *undone[1:]))
    # What was pinned leaves again where that is undone.
    assert after[undone[0].number] == (1,)


def test_each_undone_slide_brings_back_what_left_with_it_however_much_was_said_since() -> None:
    thread = opened()
    talk(thread, 24)
    slides = [frame.number for frame in thread.frames() if frame.reason in ("high mark", "between turns")]
    assert len(slides) > 2
    taken = thread.window.fold.tokens
    for _ in slides:
        boundary = thread.window.frame.boundary
        frame = thread.undo()
        assert (frame.tokens_before, frame.tokens) == (taken, thread.window.fold.tokens)
        assert frame.boundary < boundary
        assert frame.tokens > taken
        taken = frame.tokens
    assert taken > thread.window.fold.limits.high
    thread.mark("here")
    assert thread.rewind().tokens == taken
    assert thread.pin(3) is None
    talk(thread, 2)
    assert numbers(thread, "evicted") == []
    assert thread.verify().ok


def test_what_was_undone_while_a_call_was_open_stays_undone_when_its_result_comes() -> None:
    thread = opened()
    talk(thread, 12)
    say(thread, Script().user("do it").assistant("", Call("c")))
    assert numbers(thread, "evicted")
    thread.undo()
    assert numbers(thread, "evicted") == []
    say(thread, Script().results(("c", "done")))
    talk(thread, 2)
    assert numbers(thread, "evicted") == []
    assert thread.verify().ok


def test_undo_goes_further_back_each_time_and_says_when_nothing_is_left() -> None:
    thread = opened()
    talk(thread, 4)
    thread.compact()
    thread.mark()
    talk(thread, 1)
    thread.rewind()
    assert [thread.undo().reason, thread.undo().reason] == ["undo", "undo"]
    assert numbers(thread, "evicted") == []
    assert numbers(thread, "rewound") == []
    with pytest.raises(NothingToUndo, match="'t'"):
        thread.undo()
    assert thread.verify().ok


def test_what_changed_nothing_is_not_what_an_undo_leaves_in_force() -> None:
    thread = opened()
    talk(thread, 20)
    before = numbers(thread, "evicted")
    assert thread.compact() is not None
    assert thread.compact() is None
    thread.undo()
    assert numbers(thread, "evicted") == before
    assert thread.pin(1) is not None
    assert thread.pin(1) is None
    thread.undo()
    assert (numbers(thread, "evicted"), numbers(thread, "carried")) == (before, [])
    assert thread.verify().ok


def test_a_slide_that_the_window_forces_cannot_be_undone() -> None:
    thread = opened(policy=Policy(counter="chars4", history_tokens=1_000, window=2_500))
    talk(thread, 40)
    for _ in range(3):
        live = numbers(thread, "live")
        thread.undo()
        assert set(live) < set(numbers(thread, "live"))
    live, seq = numbers(thread, "live"), thread.seq
    with pytest.raises(NothingToUndo, match="does not fit a window of 2,500"):
        thread.undo()
    assert (numbers(thread, "live"), thread.seq) == (live, seq)
    talk(thread, 1)
    assert thread.verify().ok


def test_an_undo_takes_back_what_was_done_last_also_where_it_changed_no_frame() -> None:
    thread = opened()
    talk(thread, 20)
    before = numbers(thread, "evicted")
    assert thread.pin(20) is None
    assert thread.undo().reason == "undo"
    assert [turn.number for turn in thread.turns() if turn.pinned] == []
    thread.remember("The port is 8080.")
    assert thread.forget("The port") is None
    thread.undo()
    assert [fact.text for fact in thread.facts()] == ["The port is 8080."]
    assert numbers(thread, "evicted") == before
    told = [frame.reason for frame in thread.explain().frames if frame.rule == "undo"]
    assert told == ["the pin was undone", "the forgetting was undone"]
    assert thread.verify().ok


def test_only_an_undone_slide_suspends_the_high_mark() -> None:
    thread = opened()
    talk(thread, 20)
    thread.pin(1)
    thread.undo()
    assert not thread.explain().suspended
    slides = len(thread.frames())
    talk(thread, 20)
    assert len(thread.frames()) > slides
    assert thread.explain().tokens.value <= thread.explain().high
    thread.undo()
    assert thread.explain().suspended
    thread.pin(1)
    thread.undo()
    assert thread.explain().suspended
    assert thread.verify().ok


def test_settings_are_not_taken_back_by_an_undo() -> None:
    thread = opened()
    talk(thread, 20)
    slid = thread.frames()[-1].number
    thread.configure(policy=msgspec.structs.replace(thread.setup.policy, pin_tokens=777))
    assert thread.frames()[-1].reason == "configure"
    thread.undo()
    told = [frame.reason for frame in thread.explain().frames if frame.rule == "undo"]
    assert told == [f"the slide of frame {slid} was undone"]
    assert thread.setup.policy.pin_tokens == 777


def test_an_undo_tells_what_it_took_back() -> None:
    thread = opened()
    talk(thread, 6)
    thread.mark("here")
    talk(thread, 14)
    slid = thread.frames()[-1].number
    thread.pin(1)
    thread.undo()
    thread.rewind("here")
    thread.undo()
    thread.compact()
    thread.undo()
    thread.undo()
    undos = [frame.reason for frame in thread.explain().frames if frame.rule == "undo"]
    assert undos == [
        f"the pin of frame {slid + 1} was undone",
        f"the rewind of frame {slid + 3} was undone",
        f"the compact of frame {slid + 5} was undone",
        f"the slide of frame {slid} was undone",
    ]
    # A fork has the past of its parent.
    assert [frame.reason for frame in thread.fork("other").explain().frames if frame.rule == "undo"] == undos


def test_a_turn_that_an_undo_brought_back_says_so_and_the_others_why_nothing_leaves() -> None:
    thread = opened()
    talk(thread, 20)
    gone = set(numbers(thread, "evicted"))
    thread.undo()
    last = thread.frames()[-1]
    talk(thread, 2)
    back = gone - set(numbers(thread, "evicted"))
    assert back
    reasons = {turn.number: turn.reason for turn in thread.turns() if turn.state == "live"}
    told = f"it had left, and came back at frame {last.number}: the slide of frame {last.number - 1} was undone"
    assert {number for number, reason in reasons.items() if reason == told} == back
    assert thread.explain().tokens.value > thread.explain().high
    assert reasons[18] == "since an undo nothing leaves until the window is full, or somebody compacts"
    assert reasons[22] == "the current turn always stays"
    thread.compact()
    assert "came back" not in "".join(turn.reason for turn in thread.turns())


def test_an_undone_pin_is_no_pin() -> None:
    thread = opened()
    talk(thread, 20)
    before = numbers(thread, "evicted")
    thread.pin(1)
    thread.undo()
    assert numbers(thread, "evicted") == before
    assert numbers(thread, "carried") == []
    assert thread.verify().ok


def test_another_model_counts_its_own_way_and_a_smaller_window_slides() -> None:
    thread = opened()
    talk(thread, 6)
    tokens = thread.context().ledger.row("history").used
    thread.configure(policy=Policy(window=20_000, history_tokens=1_000), model="gpt-5")
    assert thread.context().counter != "chars4"
    assert thread.context().ledger.row("history").used != tokens
    thread.configure(policy=Policy(counter="chars4", window=2_000, history_tokens=300))
    evicted = numbers(thread, "evicted")
    assert evicted
    thread.configure(policy=SMALL)
    assert numbers(thread, "evicted") == evicted
    assert thread.configure(policy=SMALL) is None
    assert [frame.reason for frame in thread.frames()][1:] == ["configure"] * 3
    assert thread.verify().ok


def test_what_is_recounted_is_counted_as_it_is_shown() -> None:
    sizes: dict[str, Any] = {"history_tokens": 1_500, "window": 20_000, "record_over_tokens": 300}
    thread = opened(policy=Policy(counter="chars4", **sizes))
    script = Script("anthropic").user(words(20))
    for number in range(12):
        script.assistant(words(30), Call(f"c{number}"), thinking="let me see " * 20)
        script.results((f"c{number}", lines(60)))
    say(thread, script)
    assert thread.frames()[-1].plain[1] > 0
    for counter in ("bytes4", "gitclaw", "estimate:claude", "chars4"):
        thread.configure(policy=Policy(counter=counter, **sizes))
        check_counted_right(thread._tail.current().window.fold)
    thread.configure(system="be kind", sources=[])
    assert thread.verify().ok


def test_redacted_words_are_gone_from_everything_that_derives_from_them() -> None:
    store = MemoryStore()
    thread = opened(store)
    thread.append([{"role": "user", "content": "my password is hunter2"}, {"role": "assistant", "content": "noted"}])
    talk(thread, 19)
    assert 1 in numbers(thread, "evicted")
    assert "hunter2" in str(thread.request())
    frame = thread.redact(1)
    assert frame.reason == "redact"
    for handle in (thread, opened(store)):
        assert "hunter2" not in str(handle.request())
        assert "hunter2" not in str(handle.turns())
        assert handle.search("hunter2") == ()
        assert b"hunter2" not in b"".join(event.body for event in handle.events())
    assert [turn.number for turn in thread.turns()] == list(range(1, 21))
    checked = thread.verify()
    assert checked.ok
    assert checked.unverifiable > 0
    talk(thread, 20)
    assert thread.verify().ok
    with pytest.raises(NotFound, match="message"):
        thread.redact(frame.at)


def test_a_redacted_call_keeps_its_result_and_a_redacted_result_its_call() -> None:
    thread = opened()
    say(thread, Script().user("look").assistant("hm", Call("a", '{"path": "secret"}')).results(("a", "secret")))
    thread.redact(2)
    thread.redact(3)
    call, result = thread.request()["messages"][1:]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"] == "a"
    assert "secret" not in str(thread.request())
    assert thread.verify().ok


@pytest.mark.parametrize(
    ("wire", "called", "given", "sent"),
    [
        (
            "openai-chat",
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "secret"},
            {"role": "function", "name": "f", "content": "[sash: redacted]"},
        ),
        (
            "openai-responses",
            {"type": "local_shell_call", "id": "l", "call_id": "c", "status": "completed", "action": {}},
            {"type": "local_shell_call_output", "id": "c", "output": "secret", "status": "completed"},
            {"type": "local_shell_call_output", "id": "c", "status": "completed", "output": "[sash: redacted]"},
        ),
    ],
)
def test_a_redacted_result_stays_one_of_its_own_kind(
    wire: str, called: dict[str, Any], given: dict[str, Any], sent: dict[str, Any]
) -> None:
    thread = opened(wire=wire)
    thread.append([{"role": "user", "content": "go"}, called, given])
    thread.redact(3)
    request = thread.request()
    assert next(iter(request.values())) == [{"role": "user", "content": "go"}, called, sent]
    assert "secret" not in str(list(thread.events()))
    assert thread.verify().ok


def test_a_redaction_renumbers_no_turn() -> None:
    store = MemoryStore()
    thread = opened(store)
    talk(thread, 2)
    thread.redact(1)
    talk(thread, 1)
    assert [event.turn for event in thread.events() if event.kind == "message"] == [1, 1, 2, 2, 3, 3]
    assert thread.turns()[0].title == "[sash: redacted]"
    talk(thread, 17)
    for seq in (thread.seq - 1, 6, 6):
        thread.redact(seq)
        assert [turn.number for turn in thread.turns()] == list(range(1, 21))
        assert thread.verify().problems == ()
    thread.pin(20)
    talk(thread, 1)
    again = opened(store)
    assert again.request() == thread.request()
    assert [turn.number for turn in again.turns()] == list(range(1, 22))
    assert again.verify().problems == ()


ASIDE = "<system-reminder>the file has changed</system-reminder>"


@pytest.mark.parametrize(
    ("content", "turn"),
    [
        ("words", 2),
        ("", 1),
        ([{"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}], 2),
        ([{"type": "tool_result", "tool_use_id": "late", "content": "x"}, {"type": "text", "text": "words"}], 2),
        ([{"type": "tool_result", "tool_use_id": "late", "content": "x"}, {"type": "text", "text": ASIDE}], 1),
        ([{"type": "tool_result", "tool_use_id": "late", "content": "x"}], 1),
        (ASIDE, 1),
        ([], 1),
        ("[sash: data about earlier turns]", 1),
        ("[sash: redacted]", 2),
    ],
)
def test_a_tombstone_stands_in_the_turn_of_its_message(content: object, turn: int) -> None:
    thread = opened(wire="anthropic")
    say(thread, Script("anthropic").turn(ask=2, answer=2))
    thread.append({"role": "user", "content": content})
    say(thread, Script("anthropic").assistant("fine").turn(ask=2, answer=2))
    before = [event.turn for event in thread.events() if event.kind == "message"]
    assert before == [1, 1, turn, turn, turn + 1, turn + 1]
    for _ in range(2):
        # Redacting a tombstone leaves it as it is.
        thread.redact(3)
        turns = thread.turns()
        assert [each.number for each in turns] == list(range(1, turn + 2))
        assert sum(each.messages for each in turns) == len(before)
        assert thread.verify().problems == ()
    talk(thread, 1)
    assert thread.turns()[-1].number == turn + 2
    assert thread.verify().problems == ()


def test_what_a_model_has_read_is_kept_with_its_turn_and_goes_when_that_is_redacted() -> None:
    thread = opened()
    say(thread, Script().user("The server listens on port 8421.").assistant("Fine.").user("And the other one?"))
    fact = thread.remember("The port of the server is 8421.", by="model", turn=1)
    kept = thread.remember("Ada asked for it.", turn=1)
    assert (fact.origin, fact.turn, kept.origin) == ("model", 1, "given")
    assert "turn 1, as a model read it: The port of the server is 8421." in str(thread.request())
    thread.redact(1)
    assert thread.facts() == (kept,)
    assert "8421" not in str(thread.request()) + str(thread.events())
    assert thread.verify().problems == ()


def _head(thread: Thread) -> str:
    return str(thread.request()["messages"][0])


def test_a_fact_that_was_forgotten_is_told_no_more_and_an_undo_brings_it_back() -> None:
    thread = opened()
    talk(thread, 2)
    kept = thread.remember("The harbor is in Genoa.")
    gone = thread.remember("The boat is blue.")
    talk(thread, 18)
    assert gone.text in _head(thread)
    frame = thread.forget(gone.text)
    assert frame is not None
    assert (frame.reason, thread.frames()[-1]) == ("forget", frame)
    assert thread.facts() == (kept,)
    assert gone.text not in _head(thread)
    assert kept.text in _head(thread)
    assert thread.verify().ok
    talk(thread, 10)
    assert gone.text not in str(thread.request())
    with pytest.raises(NotFound, match=r"there is no fact 'The boat is blue.'; `facts` lists those there are"):
        thread.forget(gone.text)


def test_an_undone_forgetting_is_none() -> None:
    thread = opened()
    talk(thread, 2)
    fact = thread.remember("The boat is blue.")
    talk(thread, 18)
    before = thread.request()
    forgot = thread.forget("The boat")
    assert forgot is not None
    assert fact.text not in _head(thread)
    thread.undo()
    assert (thread.facts(), thread.request()) == ((fact,), before)
    assert thread.explain().frames[-1].reason == f"the forgetting of frame {forgot.number} was undone"
    assert thread.verify().ok


def test_a_fact_that_no_frame_has_taken_in_is_forgotten_without_one() -> None:
    thread = opened()
    talk(thread, 2)
    thread.remember("The boat is blue.")
    assert "The boat is blue." in str(thread.request())
    assert thread.forget("The boat is blue.") is None
    assert "The boat is blue." not in str(thread.request())
    assert [event.kind for event in thread.events()][-2:] == ["fact", "forget"]
    # It can be said again.
    assert thread.remember("The boat is blue.") == thread.facts()[-1]
    assert thread.verify().ok


def test_what_code_found_can_be_forgotten_one_by_one_and_the_digest_does_not_tell_it_either() -> None:
    for policy in (SMALL, Policy(counter="chars4", history_tokens=1_000, window=20_000, facts_tokens=0)):
        thread = opened(policy=policy)
        said = "Always answer in German. Never touch the folder build."
        thread.append([{"role": "user", "content": said}, {"role": "assistant", "content": "Yes."}])
        assert [fact.seq for fact in thread.facts()] == [1, 1]
        talk(thread, 20)
        assert '"Never touch' in thread.request()["messages"][0]["content"]
        assert thread.forget("Never touch") is not None
        assert [fact.text for fact in thread.facts()] == ["Always answer in German."]
        head = thread.request()["messages"][0]["content"]
        assert '"Always answer' in head
        assert '"Never touch' not in head
        assert thread.verify().ok


def test_the_beginning_of_a_fact_is_enough_where_it_is_the_only_one() -> None:
    thread = opened()
    for fact in ("The boat is blue.", "The mast is red.", "The mast"):
        thread.remember(fact)
    with pytest.raises(NotFound, match=r"several begin so: 'The boat is blue.', 'The mast', 'The mast is red.'"):
        thread.forget("The")
    # All of its words are never the beginning of others.
    thread.forget("The mast")
    thread.forget(" The \n boat")
    assert [fact.text for fact in thread.facts()] == ["The mast is red."]
    with pytest.raises(InvalidMessage, match="which is to be forgotten"):
        thread.forget(" ")
    thread.forget("The mast is red.")
    with pytest.raises(NotFound, match="no fact is kept"):
        thread.forget("The mast is red.")


def test_a_rewind_and_a_redaction_leave_nothing_of_what_was_forgotten() -> None:
    thread = opened()
    talk(thread, 1)
    fact = thread.remember("The boat is blue.")
    thread.mark("here")
    thread.forget("The boat")
    thread.rewind("here")
    assert thread.facts() == (fact,)
    secret = thread.append({"role": "user", "content": "From now on call me Hunter."})
    assert thread.forget("From now on") is None
    thread.redact(secret.seq)
    assert all(b"Hunter" not in event.body for event in thread.events())
    assert thread.facts() == (fact,)
    assert thread.verify().ok
