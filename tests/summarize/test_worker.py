"""Workers: nothing is lost, doubled or waited for. FAULTS S1, S2, S5 to S7, S9 to S12, D2 to D4, K6 to K8, K11."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

import sash
from sash.core.summary import Summary
from sash.errors import ProviderBusy, ProviderDown, StoreUnavailable, SummaryRejected, WindowOverflow
from sash.store import Entry, Store, Trouble
from sash.summarize import Summarizer
from sash.thread import thread_of
from sash.thread.worker import HOUR, Terms, Worker
from tests.scripted import Reply, Scripted
from tests.summarize.building import faithful
from tests.summarize.threads import SMALL, SOON, Clock, chat, covered, model, opened, slid, worked, worker


def test_a_summary_is_written_for_what_has_left_and_waits_for_the_next_frame(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    before, boundary = thread.request(), thread.frames()[-1].boundary
    made = worked(worker(store, tenant).once())
    assert made.outcome == "published"
    assert made.summary is not None
    assert (made.summary.end, made.summary.generation, made.summary.by) == (boundary, 1, "model")
    assert covered(store, thread) == boundary
    assert thread.request() == before
    chat(thread, 6, first=17)
    frame = thread.frames()[-1]
    assert frame.summary == made.summary.seq
    assert "value_1 to 1001" in str(thread.request()["messages"][0])
    assert thread.verify().problems == ()
    # Once more: nothing is due but what has left since.
    again = worked(worker(store, tenant).once()).summary
    assert again is not None
    assert (again.parent, again.generation, again.end) == (made.summary.seq, 2, frame.boundary)
    assert worker(store, tenant).once() is None


def test_a_restart_builds_the_same_request_with_a_summary(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    worker(store, tenant).once()
    chat(thread, 6, first=17)
    again = thread_of(store, store.thread(tenant, thread.id))
    assert again.request() == thread.request()
    assert again.tail.current().window.fold.summary == thread.tail.current().window.fold.summary


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I'm sorry, I can't.",
        ("## Names\n- cut", "length"),
        "And now I will write the next part.",
        "## Files\n- invented/file.py [t1]",
        ProviderDown("no answer"),
        ProviderBusy("slow down", retry_after_seconds=0.0),
        ValueError("a bug of ours"),
        RecursionError("too deep"),
    ],
)
def test_a_failure_leaves_everything_as_it_was_and_is_shown(store: Store, tenant: str, reply: Reply) -> None:
    """S1."""
    thread = slid(store, tenant)
    before, events = thread.request(), thread.seq
    made = worked(worker(store, tenant, Scripted(reply)).once())
    assert made.outcome == "failed"
    assert (thread.request(), thread.seq, covered(store, thread)) == (before, events, 0)
    [trouble] = store.troubles(tenant)
    assert trouble == Trouble(thread=thread.id, attempts=1, error=made.error, parked=False)
    # The next attempt may go well.
    assert worked(worker(store, tenant).once()).outcome == "published"
    assert store.troubles(tenant) == []


def test_what_fails_forever_is_tried_so_often_and_then_parked_while_others_go_on(store: Store, tenant: str) -> None:
    """S5."""
    bad, good = slid(store, tenant, "bad"), opened(store, tenant, "good")
    broken = Scripted(ProviderDown("no answer"))
    stubborn = worker(store, tenant, broken, terms=Terms(turns=1, attempts=3, first_seconds=0.0))
    assert [worked(stubborn.once()).outcome for _ in range(3)] == ["failed", "failed", "parked"]
    assert stubborn.once() is None
    assert len(broken.asked) == 3
    chat(good, 16)
    assert worked(worker(store, tenant).once()).thread == good.id
    # The window works on without a summary.
    chat(bad, 10, first=17)
    assert bad.frames()[-1].summary == 0
    # Taken up again by hand, it is truly tried again.
    bad.retry_summary()
    assert worked(worker(store, tenant).once()).outcome == "published"


def test_what_was_given_up_is_shown_and_can_be_tried_again_as_often_as_one_likes(store: Store, tenant: str) -> None:
    """S9."""
    thread = slid(store, tenant)
    terms = Terms(turns=1, attempts=2, first_seconds=0.0)
    provider = Scripted(ProviderDown("nobody answers"))
    assert thread.trouble() is None
    assert thread.explain().trouble == ""
    for time in (1, 2, 3):
        assert [worked(worker(store, tenant, provider, terms=terms).once()).outcome for _ in range(2)] == [
            "failed",
            "parked",
        ]
        assert worker(store, tenant, provider, terms=terms).once() is None
        assert len(provider.asked) == 2 * time
        assert "failed 2 times, given up until it is tried again by hand: nobody answers" in thread.explain().trouble
        thread.retry_summary()
        trouble = thread.trouble()
        assert trouble is not None
        assert not trouble.parked
    assert worked(worker(store, tenant).once()).outcome == "published"
    assert thread.trouble() is None


def test_a_window_that_cannot_be_made_smaller_is_not_tried_again_and_again(store: Store, tenant: str) -> None:
    """S7: the user's own words are above the high mark; a few slides, a few summaries, then an error with the sizes."""
    policy = msgspec.structs.replace(SMALL, window=6_000, reserve_tokens=500, worth_tokens=200)
    thread, provider = opened(store, tenant, policy=policy), model()
    busy = worker(store, tenant, provider)
    chat(thread, 3)
    thread.append({"role": "user", "content": f"Keep in mind: {'word ' * 700}"})
    before = len(thread.frames())
    for number in range(40):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        thread.append({"role": "assistant", "content": None, "tool_calls": [call]})
        thread.append({"role": "tool", "tool_call_id": f"c{number}", "content": "la"})
        while busy.once() is not None:
            pass
    assert thread.context().ledger.row("history").used.value > thread.context().high
    assert len(thread.frames()) - before <= 2
    assert len(provider.asked) <= 2
    assert thread.verify().problems == ()
    thread.append({"role": "user", "content": "word " * 6_000})
    with pytest.raises(WindowOverflow, match="window") as refused:
        thread.request()
    assert refused.value.window == 6_000
    frames, asked = len(thread.frames()), len(provider.asked)
    for _ in range(5):
        with pytest.raises(WindowOverflow):
            thread.request()
        thread.compact()
        while busy.once() is not None:
            pass
    assert len(thread.frames()) <= frames + 1
    assert len(provider.asked) <= asked + 1


def test_a_failure_waits_longer_each_time(store: Store, tenant: str) -> None:
    slid(store, tenant)
    slow = worker(store, tenant, Scripted(ProviderDown("x")), terms=Terms(turns=1, first_seconds=3600.0))
    assert worked(slow.once()).outcome == "failed"
    assert slow.once() is None


def test_a_thread_that_ends_its_worker_each_time_is_parked(store: Store, tenant: str) -> None:
    """S6: attempts are counted before the work starts, so a crash counts."""
    thread = slid(store, tenant)
    for _ in range(5):
        # Claimed, and never heard of again.
        assert store.claim_due_summary(tenant, lease_seconds=0) is not None
    made = worked(worker(store, tenant).once())
    assert made.outcome == "parked"
    assert [trouble.parked for trouble in store.troubles(tenant)] == [True]
    assert covered(store, thread) == 0


def test_a_worker_that_dies_after_the_model_answered_loses_nothing(store: Store, tenant: str) -> None:
    """D3: the old state is in force, the work is due again, and there is one summary in the end."""
    thread = slid(store, tenant)

    class Killed(BaseException):
        pass

    with pytest.raises(Killed):
        worker(store, tenant, Scripted(Killed()), terms=Terms(turns=1, lease_seconds=0.0)).once()
    assert worked(worker(store, tenant).once()).outcome == "published"
    assert len(thread.summaries()) == 1


def test_a_worker_that_was_asleep_cannot_publish_over_its_successor(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    successor = worker(store, tenant)

    def meanwhile(question: str) -> Reply:
        assert worked(successor.once()).outcome == "published"
        return faithful(question).replace(" is ", " to ").replace(", in", " in")

    sleeper = worker(store, tenant, Scripted(answer=meanwhile), terms=Terms(turns=1, lease_seconds=0.0))
    assert worked(sleeper.once()).outcome in ("failed", "gone")
    assert len(thread.summaries()) == 1


def test_ten_workers_at_once_write_one_summary_a_thread(store: Store, tenant: str) -> None:
    threads = [slid(store, tenant, f"thread-{number}") for number in range(3)]
    workers = [worker(store, tenant) for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        done = [made for made in pool.map(lambda one: one.once(), workers) if made is not None]
    assert sorted(made.thread for made in done) == sorted(thread.id for thread in threads)
    assert [len(thread.summaries()) for thread in threads] == [1, 1, 1]


def test_what_is_said_while_a_summary_is_written_is_there_and_not_covered(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    boundary = thread.frames()[-1].boundary

    def meanwhile(question: str) -> Reply:
        chat(thread, 4, first=17)
        return faithful(question).replace(" is ", " to ").replace(", in", " in")

    made = worked(worker(store, tenant, Scripted(answer=meanwhile)).once())
    assert made.summary is not None
    assert made.summary.end == boundary
    assert "conf/part20.toml" in str(thread.request())
    assert thread.verify().problems == ()


@pytest.mark.parametrize("change", ["rewind", "redact", "edit"])
def test_a_thread_that_becomes_another_one_meanwhile_is_summarized_anew(store: Store, tenant: str, change: str) -> None:
    thread = opened(store, tenant)
    chat(thread, 4)
    thread.mark("here")
    chat(thread, 12, first=5)

    def meanwhile(question: str) -> Reply:
        if len(busy.asked) == 1:
            match change:
                case "rewind":
                    thread.rewind("here")
                case "redact":
                    thread.redact(1)
                    thread.redact(2)
                case "edit":
                    thread.edit_summary("Mine.")
        return faithful(question).replace(" is ", " to ").replace(", in", " in")

    busy = Scripted(answer=meanwhile)
    assert worked(worker(store, tenant, busy).once()).outcome == "failed"
    assert not [summary for summary in thread.summaries() if summary.by == "model"]
    chat(thread, 12, first=17)
    made = worked(worker(store, tenant).once())
    assert made.summary is not None
    words = made.summary.whole
    assert {"rewind": "value_9 " not in words, "redact": "value_1 " not in words, "edit": "Mine." in words}[change]


def test_the_lease_of_a_deleted_thread_is_gone_and_nothing_comes_back(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)

    def meanwhile(question: str) -> Reply:
        store.delete(tenant, thread.id)
        return faithful(question)

    assert worked(worker(store, tenant, Scripted(answer=meanwhile)).once()).outcome in ("gone", "failed")
    assert store.find(tenant, "thread") is None
    assert worker(store, tenant).once() is None


def test_a_thread_that_has_used_up_its_tokens_waits_for_the_hour(store: Store, tenant: str) -> None:
    thread, clock, provider = slid(store, tenant), Clock(), model()
    terms = Terms(turns=1, first_seconds=0.0, tokens_per_hour=100)
    mean = worker(store, tenant, provider, terms=terms, now=clock)
    assert worked(mean.once()).outcome == "published"
    chat(thread, 8, first=17)
    made = worked(mean.once())
    assert made.outcome == "waiting"
    assert "used up its 100 tokens" in made.error
    assert len(provider.asked) == 1
    clock.now += HOUR + 1
    store.retry_summary(tenant, thread.id)
    assert worked(mean.once()).outcome == "published"


def test_failures_cost_too(store: Store, tenant: str) -> None:
    slid(store, tenant)
    provider = Scripted("Sure, let me go on with it.")
    mean = worker(store, tenant, provider, terms=Terms(turns=1, first_seconds=0.0, tokens_per_hour=100), now=Clock())
    assert [worked(mean.once()).outcome for _ in range(2)] == ["failed", "waiting"]
    assert len(provider.asked) == 1


def test_only_enough_turns_are_worth_a_model(store: Store, tenant: str) -> None:
    slid(store, tenant)
    assert worker(store, tenant, terms=Terms(turns=500)).once() is None


def test_how_many_turns_are_enough_is_the_policys_to_say(store: Store, tenant: str) -> None:
    for least in (5, 12):
        policy = msgspec.structs.replace(SMALL, summary_min_turns=least)
        name = f"least {least}"
        with sash.open(name, store=store, tenant=tenant, policy=policy, summarizer=model()) as thread:
            assert isinstance(thread.worker, Worker)
            assert thread.worker.terms.turns == least + 1


def test_after_some_generations_a_summary_is_written_from_the_turns_again(store: Store, tenant: str) -> None:
    thread = slid(store, tenant, turns=10)
    forgetful = Scripted(
        answer=lambda question: (
            faithful(question.partition("</summary>")[2] or question).replace(" is ", " to ").replace(", in", " in")
        )
    )
    terms = Terms(turns=1, first_seconds=0.0, anew_after=3)
    for number in range(11, 60, 8):
        assert worked(worker(store, tenant, forgetful, terms=terms).once()).outcome == "published"
        chat(thread, 8, first=number)
    generations = [(summary.generation, bool(summary.lost)) for summary in thread.summaries()]
    assert generations[:5] == [(1, False), (2, False), (3, False), (1, True), (2, False)]
    rebuilt = thread.summaries()[3]
    assert "conf/part1.toml" in rebuilt.lost
    assert "value_1 to 1001" in rebuilt.text


def test_turns_that_were_all_rewound_need_no_model(store: Store, tenant: str) -> None:
    """S2."""
    thread = opened(store, tenant)
    chat(thread, 2)
    thread.mark("here")
    chat(thread, 14, first=3)
    boundary = thread.frames()[-1].boundary
    thread.rewind("here")
    store.append(tenant, thread.id, Entry(events=(), covered=1))
    lease = store.thread(tenant, thread.id)
    assert boundary > 2
    provider = model()
    chat(thread, 14, first=17)
    made = worked(worker(store, tenant, provider).once())
    assert made.outcome == "published"
    assert lease.covered == 1
    assert made.summary is not None
    assert "value_9 " not in made.summary.text


def test_a_worker_runs_until_it_is_stopped_and_gives_its_lease_back(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    asked = threading.Event()

    class Slow(Scripted):
        async def complete(self, request, *, max_tokens=None):  # type: ignore[no-untyped-def]  # as its parent
            import asyncio

            asked.set()
            await asyncio.sleep(60)
            yield

    busy = Worker(store, Summarizer(Slow("")), tenant=tenant, terms=SOON)
    busy.start()
    busy.start()
    assert asked.wait(20)
    busy.stop()
    assert worked(worker(store, tenant).once()).outcome == "published"
    assert len(thread.summaries()) == 1


def test_a_worker_goes_on_when_the_store_comes_back(store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slid(store, tenant)
    busy, published = worker(store, tenant), list[str]()
    claim, calls = store.claim_due_summary, list[int]()

    def flaky(*given: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise StoreUnavailable("x", "gone")
        return claim(*given, **named)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(store, "claim_due_summary", flaky)

    def done(made: object) -> None:
        published.append(type(made).__name__)
        busy.stop()

    busy.run(idle_seconds=0.01, done=done)
    assert published == ["Worked"]


# A thread with a summarizer of its own.


def test_a_thread_with_a_summarizer_never_waits_for_it(store: Store, tenant: str) -> None:
    hold = threading.Event()

    class Late(Scripted):
        async def complete(self, request, *, max_tokens=None):  # type: ignore[no-untyped-def]  # as its parent
            import asyncio

            while not hold.is_set():
                await asyncio.sleep(0.01)
            async for event in super().complete(request, max_tokens=max_tokens):
                yield event

    late = Late(answer=model().answer)
    thread = opened(store, tenant, summarizer=late)
    chat(thread, 16)
    assert thread.frames()[-1].boundary > 6
    assert thread.summaries() == ()
    hold.set()
    assert thread.worker is not None
    thread.worker.wake()
    for _ in range(400):
        if thread.summaries():
            break
        threading.Event().wait(0.05)
    assert thread.summaries()
    thread.close()


def test_the_users_words_are_never_overwritten(store: Store, tenant: str) -> None:
    """S10."""
    thread = slid(store, tenant)
    worker(store, tenant).once()
    frame = thread.edit_summary("The user is called Ada. Never touch conf/part3.toml.")
    assert frame.reason == "summary"
    assert "The user is called Ada." in str(thread.request()["messages"][0])
    assert "## Names" not in str(thread.request()["messages"][0])
    for number in range(17, 60, 8):
        chat(thread, 8, first=number)
        made = worked(worker(store, tenant).once()).summary
        assert made is not None
        assert made.kept == "The user is called Ada. Never touch conf/part3.toml."
    assert "The user is called Ada." in str(thread.request()["messages"][0])
    assert "value_20 to" in str(thread.request()["messages"][0])
    assert thread.verify().problems == ()


def test_an_edit_can_be_undone_and_an_older_revision_brought_back(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    first = worked(worker(store, tenant).once()).summary
    assert first is not None
    thread.compact()
    with_first = thread.request()["messages"][0]
    thread.edit_summary("Mine.")
    thread.undo()
    assert "Mine." not in str(thread.request())
    assert "value_1 to 1001" in str(thread.request()["messages"][0])
    thread.edit_summary("Mine.")
    thread.revert_summary(first.seq)
    assert (
        str(with_first["content"]).split("\n")[1:4] == str(thread.request()["messages"][0]["content"]).split("\n")[1:4]
    )
    assert [summary.by for summary in thread.summaries()] == ["model", "user", "user"]
    assert thread.verify().problems == ()


def test_a_bad_edit_is_refused_and_says_why(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    with pytest.raises(SummaryRejected, match="empty"):
        thread.edit_summary("  ")
    with pytest.raises(SummaryRejected, match="at most"):
        thread.edit_summary("word " * 5_000)
    with pytest.raises(LookupError):
        thread.revert_summary(3)


def test_what_is_redacted_leaves_the_summaries_too(store: Store, tenant: str) -> None:
    """S12."""
    thread = slid(store, tenant)
    worker(store, tenant).once()
    chat(thread, 6, first=17)
    assert "value_1 to 1001" in str(thread.request())
    thread.redact(1)
    thread.redact(2)
    assert "value_1 " not in str(thread.request()) + str(thread.events())
    assert thread.summaries() == ()
    assert covered(store, thread) == 0
    made = worked(worker(store, tenant).once())
    assert made.summary is not None
    assert "value_1 " not in made.summary.whole
    assert "value_2 to 1002" in made.summary.whole
    assert thread.verify().problems == ()


def test_a_rewind_brings_back_the_summary_of_its_mark(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    first = worked(worker(store, tenant).once()).summary
    chat(thread, 6, first=17)
    thread.mark("here")
    in_force = thread.frames()[-1].summary
    chat(thread, 8, first=23)
    worker(store, tenant).once()
    chat(thread, 8, first=31)
    assert thread.frames()[-1].summary != in_force
    thread.rewind("here")
    assert first is not None
    assert thread.frames()[-1].summary == in_force == first.seq
    assert covered(store, thread) == first.end
    assert thread.verify().problems == ()


def test_a_summary_is_what_its_event_says(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    made = worked(worker(store, tenant, now=Clock()).once()).summary
    [event] = [event for event in thread.events() if event.kind == "summary"]
    assert made is not None
    assert msgspec.structs.replace(msgspec.json.decode(event.body, type=Summary), seq=event.seq) == made
    assert (event.text, event.at) == (made.whole, 1_000_000.0)
    assert made.input_tokens > 0
    assert SMALL.summary_tokens is not None
    assert thread.tail.current().window.counter.text(made.whole).value < SMALL.summary_tokens


def test_a_summary_can_be_asked_for_now_and_written_anew(store: Store, tenant: str) -> None:
    thread = slid(store, tenant)
    first = thread.summarize(Summarizer(model()))
    chat(thread, 8, first=17)
    second = thread.summarize(Summarizer(model()))
    anew = thread.summarize(Summarizer(model()), anew=True)
    assert [(one.generation, one.parent) for one in (first, second, anew)] == [(1, 0), (2, first.seq), (1, second.seq)]
    assert thread.compact() is not None
    assert thread.frames()[-1].summary == anew.seq
    with pytest.raises(SummaryRejected):
        thread.summarize(Summarizer(Scripted("no")), anew=True)
    assert len(thread.summaries()) == 3


def test_above_the_soft_mark_a_summary_is_prepared_and_the_slide_takes_it(store: Store, tenant: str) -> None:
    roomy = msgspec.structs.replace(SMALL, history_tokens=3_000)
    thread, busy = opened(store, tenant, policy=roomy), worker(store, tenant)
    assert busy.once() is None
    said = 0
    while thread.context().ledger.row("history").used.value <= 0.85 * thread.context().high:
        said += 1
        chat(thread, 1, first=said)
    assert [frame.number for frame in thread.frames()] == [0]
    before = thread.request()
    # Whoever looks finds it due: the thread knows nothing of this worker, as if it were a process of its own.
    made = worked(busy.once()).summary
    assert made is not None
    assert 1 < made.end == store.thread(tenant, thread.id).ahead <= said
    assert busy.once() is None
    assert thread.request() == before
    chat(thread, 8, first=said + 1)
    first = thread.frames()[1]
    assert (first.summary, first.boundary >= made.end) == (made.seq, True)
    assert thread.verify().problems == ()


def test_what_is_near_is_looked_for_once_for_each_frame(store: Store, tenant: str) -> None:
    thread, ahead = opened(store, tenant), list[tuple[int, int]]()
    for number in range(1, 40):
        chat(thread, 1, first=number)
        row = store.thread(tenant, thread.id)
        ahead.append((thread.frames()[-1].number, row.ahead))
        assert row.ahead == 0 or row.boundary < row.ahead <= number
    near = {frame: {end for of, end in ahead if of == frame and end} for frame, _ in ahead}
    assert sum(map(bool, near.values())) > 3
    assert all(len(ends) <= 1 for ends in near.values())
    # Another handle comes to the same.
    again = thread_of(store, store.thread(tenant, thread.id))
    chat(again, 1, first=40)
    assert again.verify().problems == ()


def test_a_rewind_takes_back_what_was_near(store: Store, tenant: str) -> None:
    thread = opened(store, tenant, policy=msgspec.structs.replace(SMALL, history_tokens=3_000))
    chat(thread, 2)
    thread.mark("here")
    said = 2
    while not store.thread(tenant, thread.id).ahead:
        said += 1
        chat(thread, 1, first=said)
    thread.rewind("here")
    assert store.thread(tenant, thread.id).ahead == 0
    assert worker(store, tenant).once() is None


def test_what_cannot_be_prepared_is_due_after_the_slide(store: Store, tenant: str) -> None:
    thread = opened(store, tenant, policy=msgspec.structs.replace(SMALL, history_tokens=3_000))
    said = 0
    while not store.thread(tenant, thread.id).ahead:
        said += 1
        chat(thread, 1, first=said)
    assert thread.frames()[-1].boundary == 0
    assert worked(worker(store, tenant, Scripted("no summary at all")).once()).outcome == "failed"
    assert [trouble.attempts for trouble in store.troubles(tenant)] == [1]
    chat(thread, 8, first=said + 1)
    boundary = thread.frames()[-1].boundary
    assert boundary > 1
    assert thread.frames()[-1].summary == 0
    made = worked(worker(store, tenant).once()).summary
    assert made is not None
    assert made.end >= boundary
    assert store.troubles(tenant) == []
