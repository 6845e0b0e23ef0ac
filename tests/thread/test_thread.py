"""A thread keeps what is said, slides, and answers as a window does."""

from __future__ import annotations

import logging

import msgspec
import pytest

from sash.core.frame import Frame
from sash.core.policy import Policy
from sash.core.slide import Slide
from sash.errors import FactsFull, InvalidMessage, NotFound, UnknownHandle, WindowOverflow
from sash.fitting import fit
from sash.store import MemoryStore
from tests.builders import Call, Script, lines, words
from tests.core.invariants import check_counted_right
from tests.thread.speaking import SMALL, numbers, opened, say, talk


def test_what_is_appended_is_what_is_sent() -> None:
    thread = opened()
    said = Script().turn().user("go").said
    appended = thread.append(said)
    assert (appended.first_seq, appended.seq, appended.turn, appended.frame) == (1, 3, 2, None)
    assert thread.request() == {"messages": said}


def test_a_thread_gives_the_request_that_fit_gives() -> None:
    script = Script()
    for _ in range(15):
        script.turn(ask=50, answer=50)
    thread = opened()
    say(thread, script.user("go"))
    fitted = fit(script.said, policy=SMALL)
    assert thread.request() == fitted.request
    assert thread.frames()[-1] == fitted.report.frame
    assert len(thread.frames()) > 1


def test_append_tells_of_the_frame_it_led_to_and_so_do_log_and_hook(caplog: pytest.LogCaptureFixture) -> None:
    thread, told = opened(), list[Frame]()
    thread.on_frame = told.append
    with caplog.at_level(logging.INFO, "sash"):
        appended = [thread.append({"role": "user", "content": words(90)}) for _ in range(30)]
    made = [each.frame for each in appended if each.frame is not None]
    assert made
    assert made == told == list(thread.frames())[1:]
    assert len(caplog.records) == len(made)
    assert "'t', frame 1: " in caplog.text


def test_an_append_that_was_stored_does_not_look_failed_because_a_hook_did(caplog: pytest.LogCaptureFixture) -> None:
    thread = opened()

    def broken(frame: Frame) -> None:
        raise KeyError(frame.reason)

    thread.on_frame = broken
    appended = [thread.append({"role": "user", "content": words(90)}) for _ in range(30)]
    assert [each.seq for each in appended] == list(range(1, 31))
    assert len(thread.frames()) > 1
    failed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.name for record in failed] == ["sash"] * (len(thread.frames()) - 1)
    assert failed[0].getMessage() == "thread 't', frame 1: on_frame failed; the frame stands"
    assert failed[0].exc_info is not None
    assert failed[0].exc_info[0] is KeyError


def test_append_never_fails_for_size_but_a_request_may() -> None:
    thread = opened(policy=Policy(counter="chars4", window=2_000))
    thread.append({"role": "user", "content": words(5_000)})
    with pytest.raises(WindowOverflow):
        thread.request()


def test_turns_tell_which_left_and_which_are_live() -> None:
    thread = opened()
    talk(thread, 20)
    assert [turn.number for turn in thread.turns()] == list(range(1, 21))
    evicted = numbers(thread, "evicted")
    assert evicted == list(range(1, thread.frames()[-1].boundary))
    first = thread.turns()[0]
    assert (first.since, first.messages, first.title) == (1, 2, words(50)[:39] + "…")
    assert thread.explain().turns == thread.turns()
    assert [frame.number for frame in thread.explain().frames] == [frame.number for frame in thread.frames()]


def test_the_context_says_where_the_tokens_go() -> None:
    thread = opened(system="be kind " * 30)
    talk(thread, 3)
    context = thread.context()
    assert context.ledger.row("history").used.value == 300
    assert context.ledger.row("system").used.value >= 60
    assert thread.pressure() == context.pressure


def test_compact_slides_now_and_a_dry_run_only_tells() -> None:
    thread = opened()
    talk(thread, 8)
    planned = thread.compact(dry_run=True)
    assert thread.frames()[-1].number == 0
    frame = thread.compact()
    assert frame is not None
    assert planned is not None
    assert (frame.reason, frame.boundary) == ("compact", planned.boundary)
    assert numbers(thread, "evicted")


def test_a_veto_holds_a_slide_that_could_wait_also_after_a_restart() -> None:
    store = MemoryStore()
    thread, asked = opened(store), list[Slide]()

    def veto(slide: Slide) -> bool:
        asked.append(slide)
        return False

    thread.before_slide = veto
    talk(thread, 9, ask=50, answer=50)
    thread.append({"role": "user", "content": words(20)})
    assert asked
    assert len(thread.frames()) == 1
    assert "veto" in [event.kind for event in thread.events()]
    again = opened(store)
    assert again.request() == thread.request()
    assert again.verify().ok


def test_a_hook_that_answers_nothing_vetoes_nothing() -> None:
    thread, shown = opened(), list[Slide]()
    thread.before_slide = shown.append
    talk(thread, 9, ask=50, answer=50)
    thread.append({"role": "user", "content": words(20)})
    assert [slide.frame.reason for slide in shown] == [frame.reason for frame in thread.frames()[1:]]
    assert shown
    assert "veto" not in [event.kind for event in thread.events()]


def test_a_hook_that_fails_before_a_slide_leaves_nothing_stored() -> None:
    thread = opened()
    talk(thread, 9, ask=50, answer=50)
    before = thread.seq

    def broken(slide: Slide) -> None:
        raise KeyError(slide.frame.reason)

    thread.before_slide = broken
    with pytest.raises(KeyError, match="between turns"):
        thread.append({"role": "user", "content": words(20)})
    assert thread.seq == before
    thread.before_slide = None
    assert thread.append({"role": "user", "content": words(20)}).frame is not None


def test_a_past_request_can_be_built_again() -> None:
    thread, sent = opened(), {}
    for number in range(14):
        thread.append({"role": "user", "content": f"{number} {words(50)}"})
        sent[thread.seq] = thread.prepared().body
        thread.append({"role": "assistant", "content": words(50)})
    assert {seq: thread.prepared(at=seq).body for seq in sent} == sent
    assert thread.request(at=thread.seq) == thread.request()
    with pytest.raises(NotFound, match="no event 999"):
        thread.request(at=999)


def test_reported_usage_moves_the_counts_that_follow() -> None:
    thread = opened(policy=Policy(counter="chars4", window=200_000))
    said = 0
    for growth in (1_000, 2_000, 4_000, 8_000):
        said += growth
        thread.append({"role": "user", "content": words(growth)})
        thread.record_usage({"prompt_tokens": int(said * 1.5), "completion_tokens": 9_999})
    history = thread.context().ledger.row("history").used
    assert not history.exact
    # What the provider told is what is shown; what comes after it is counted as it counts.
    assert thread.prepared().tokens.value == int(said * 1.5)
    assert thread.explain().tokens == history
    thread.append({"role": "assistant", "content": words(1_000)})
    assert int(said * 1.5) + 1_100 < thread.prepared().tokens.value <= int(said * 1.5) + 1_500
    thread.compact()
    assert thread.context().ledger.row("history").used.value < said * 1.5


def test_what_is_no_usage_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="usage"):
        opened().record_usage([1])
    with pytest.raises(InvalidMessage, match="'x' is no usage"):
        opened().record_usage("x")
    with pytest.raises(InvalidMessage, match="no usage of openai-chat, whose field is prompt_tokens; name the `wire`"):
        opened().record_usage({"input_tokens": 5, "output_tokens": 1})


@pytest.mark.parametrize("usage", [{}, {"foo": 1}, {"total_tokens": 5}, {"usage": {}}])
def test_a_usage_that_does_not_say_what_was_read_is_refused_and_not_stored(usage: dict[str, object]) -> None:
    thread = opened()
    thread.append({"role": "user", "content": "hello"})
    with pytest.raises(InvalidMessage, match="whose field is prompt_tokens; send what the provider's response has"):
        thread.record_usage(usage)
    assert thread.seq == 1


def test_a_shortened_result_is_given_back_whole_or_in_part() -> None:
    thread = opened(policy=Policy(counter="chars4", history_tokens=2_000, record_over_tokens=200, window=20_000))
    result = lines(100)
    say(thread, Script().user("read").assistant("", Call("a")).results(("a", result)))
    (handle,) = thread.prepared().report.shortened
    assert thread.expand(handle) == result
    assert thread.expand(handle, lines=(2, 3)) == "\n".join(result.split("\n")[1:3])
    assert thread.expand(handle, grep="  77 ") == result.split("\n")[76]
    for wrong in ("9.9", "0.5", "-1.0", "x", "2"):
        with pytest.raises(UnknownHandle):
            thread.expand(wrong)


def test_search_finds_messages_and_takes_any_text_literally() -> None:
    thread = opened()
    thread.append([{"role": "user", "content": 'where is "the lighthouse"?'}, {"role": "assistant", "content": "here"}])
    assert [found.seq for found in thread.search("lighthouse")] == [1]
    assert thread.search('" OR *') == ()


def test_what_is_to_be_remembered_is_kept_apart() -> None:
    thread = opened()
    fact = thread.remember("the deploy key is in the blue box")
    assert thread.facts() == (fact,)
    with pytest.raises(InvalidMessage, match="no words"):
        thread.remember(" \n")
    assert (thread.seq, thread.facts()) == (1, (fact,))


def test_a_fact_that_no_frame_could_ever_tell_is_refused_with_the_sizes() -> None:
    limit = opened().window.fold.limits.facts
    taken: list[str] = []
    errors: list[FactsFull] = []
    for size in range(20, limit):
        thread = opened()
        try:
            taken.append(thread.remember("x" * 4 * size).text)
        except FactsFull as error:
            errors.append(error)
    assert {error.limit for error in errors} == {limit}
    assert min(error.tokens.value for error in errors) == limit + 1
    told = f"the fact takes ~{limit + 1} of at most {limit:,} tokens that facts may take; say it shorter"
    assert str(errors[0]) == f"{told}, or raise `facts_tokens`"
    # The largest that was taken is told in full once a frame takes it in.
    thread = opened()
    thread.remember(taken[-1])
    talk(thread, 20)
    assert taken[-1] in str(thread.request()["messages"][0])
    for by in ("user", "model"):
        with pytest.raises(FactsFull):
            thread.remember("a long story " * 100, by=by)
    thread.configure(policy=msgspec.structs.replace(SMALL, facts_tokens=500))
    assert thread.remember("a long story " * 100).text in [fact.text for fact in thread.facts()]
    thread.configure(policy=msgspec.structs.replace(SMALL, facts_tokens=0))
    with pytest.raises(FactsFull, match="may take 0"):
        thread.remember("short")


def test_all_that_is_remembered_is_told_and_what_has_no_room_beside_it_is_refused() -> None:
    thread = opened()
    said = [
        f"{word} is what they said about it at length, and at some more length"
        for word in ("one", "two", "three", "four")
    ]
    kept = said[:3]
    for text in kept:
        thread.remember(text)
    with pytest.raises(FactsFull, match=r"with it 4 facts would take ~\d+ of at most 100 tokens; forget one of them"):
        thread.remember(said[3])
    talk(thread, 20)
    head = str(thread.request()["messages"][0])
    assert all(text in head for text in kept)
    # What is forgotten makes room.
    thread.forget(kept[0])
    thread.remember(said[3])
    # A policy with a flat prompt has none.
    with pytest.raises(FactsFull, match="flat"):
        opened(policy=Policy.recent()).remember("short")


def test_a_forgotten_fact_leaves_the_head_however_it_is_quoted_there() -> None:
    thread = opened()
    thread.append({"role": "user", "content": 'Look at the build. Always use the "uv" tool for builds.'})
    thread.append({"role": "assistant", "content": "I will."})
    talk(thread, 20)
    assert "uv" in str(thread.request()["messages"][0])
    assert thread.forget("Always use") is not None
    assert "Always use the 'uv' tool" not in str(thread.request()["messages"][0])
    thread.remember("The port is 8080.")
    assert thread.compact() is not None
    thread.remember("port")
    # No line of the head says that, though a word in one does.
    assert thread.forget("port") is None
    assert thread.verify().ok


def test_a_whole_body_and_nothing_at_all_are_refused() -> None:
    with pytest.raises(InvalidMessage, match="whole body"):
        opened().append({"messages": [{"role": "user", "content": "hi"}]})
    with pytest.raises(InvalidMessage, match="no message"):
        opened().append([])


def test_a_deleted_thread_is_gone_for_every_handle() -> None:
    thread = opened()
    thread.append({"role": "user", "content": "hi"})
    store, tenant, name = thread.store, thread.tenant, thread.id
    fork = thread.fork()
    thread.delete()
    with pytest.raises(NotFound):
        store.thread(tenant, name)
    with pytest.raises(NotFound):
        thread.append({"role": "assistant", "content": "too late"})
    assert [message["content"] for message in fork.request()["messages"]] == ["hi"]


@pytest.mark.parametrize("slides_inside_the_step", [False, True])
def test_a_turn_that_comes_back_is_counted_as_it_is_sent(slides_inside_the_step: bool) -> None:
    thread = opened(wire="anthropic")
    say(thread, Script("anthropic").user("look").assistant("", Call("a"), thinking="let me see " * 20))
    say(thread, Script("anthropic").results(("a", "found")))
    if slides_inside_the_step:
        thread.compact()
    say(thread, Script("anthropic").assistant("done"))
    thread.compact()
    for _ in range(12):
        say(thread, Script("anthropic").turn(ask=50, answer=50))
    assert 1 in numbers(thread, "evicted")
    thread.pin(1)
    assert "let me see" not in str(thread.request())
    check_counted_right(thread.window.fold)
    assert thread.verify().ok
