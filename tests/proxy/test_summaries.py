"""Summaries by a model, for conversations that only pass: found by what was said, and by whose key."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from sash import Policy, fit
from sash.fitting.replays import REPLAYS
from sash.server.proxy import Summaries
from sash.server.proxy.preparing import ATTEMPTS, MOST_JOBS, Job, Preparing, Written, write
from sash.server.setup import ServerSetup
from sash.store import Store, open_store
from sash.summarize import Summarizer
from tests.proxy.running import Served, served, setup_for
from tests.proxy.test_faults import ROUTES, WIRES
from tests.proxy.upstream import Received, ScriptedUpstream, Talk, completion
from tests.scripted import Scripted
from tests.server.serving import running
from tests.summarize.building import faithful

# Room for a line of each turn, also where the summarizer's own counter leans over.
POLICY = Policy(counter="chars4", window=8_000, history_tokens=1_500, summary_min_turns=3, summary_tokens=1_200)
BY_A_MODEL = "are summarized here by a model"


def talk(turns: int, *, word: str = "plain") -> list[dict[str, Any]]:
    """So many turns with something to remember in each, and a question."""
    said: list[dict[str, Any]] = []
    for n in range(1, turns + 1):
        wish = f"Please set value_{n} to {1000 + n} in conf/part{n}.toml. " + f"{word} words around it. " * 12
        said.append({"role": "user", "content": wish})
        said.append({"role": "assistant", "content": f"value_{n} is {1000 + n} now, in conf/part{n}.toml."})
    return [*said, {"role": "user", "content": "And now?"}]


def body(wire: str, said: list[dict[str, Any]]) -> bytes:
    field = "input" if wire == "openai-responses" else "messages"
    return json.dumps({"model": "m", field: said} | ({"max_tokens": 50} if wire == "anthropic" else {})).encode()


@contextmanager
def summarizing(upstream: ScriptedUpstream, model: Scripted, store: Store | None = None) -> Iterator[Served]:
    """A proxy whose conversations are told by a model; it knows nothing of what other proxies have seen."""
    REPLAYS.__init__()  # type: ignore[misc]  # as a process that was started anew
    # Nothing is to be learned from usage here: it would move the boundaries of whoever has seen more requests.
    upstream.default = lambda received, line: line.answer(
        200, json.dumps(completion(received.wire, "ok") | {"usage": None}).encode()
    )
    with served(setup_for(upstream, policy=POLICY), summaries=Summaries(Summarizer(model), store)) as proxy:
        yield proxy


def step(proxy: Served, wire: str, said: list[dict[str, Any]], key: str = "alice") -> tuple[str, str]:
    """One request, with all that comes after it; the frame it was built under, and what of it is summarized."""
    before = len(proxy.passed)
    told = proxy.post(ROUTES[wire], body(wire, said), authorization=key)
    assert told.status_code == 200
    proxy.told(before + 1)
    summaries = proxy.proxy.summaries
    assert summaries is not None
    assert summaries.preparing.wait(60)
    return told.headers["x-sash-frame"], told.headers.get("x-sash-summary", "")


@pytest.mark.parametrize("wire", WIRES)
def test_a_summary_is_taken_with_the_next_frame_and_only_then(upstream: ScriptedUpstream, wire: str) -> None:
    model = Scripted(answer=faithful)
    with summarizing(upstream, model) as proxy:
        steps = [(*step(proxy, wire, talk(turns)), upstream.last.messages) for turns in range(1, 42)]
    for (frame, summary, sent), (next_frame, next_summary, next_sent) in pairwise(steps):
        if frame == next_frame:
            assert next_summary == summary
            assert next_sent[: len(sent) - 1] == sent[:-1]
    told = [(frame, summary, json.dumps(sent)) for frame, summary, sent in steps]
    assert all((BY_A_MODEL in sent) == bool(summary) for _, summary, sent in told)
    _, covered, last = told[-1]
    assert int(covered.partition("-")[2]) > 20
    assert "value_3 is 1003, in conf/part3.toml" in last
    assert model.asked


def test_two_keys_with_the_same_history_share_nothing(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    with summarizing(upstream, Scripted(answer=faithful), store) as proxy:
        hers = [step(proxy, "openai-chat", talk(turns), "alice") for turns in range(1, 30)]
        assert hers[-1][1]
        assert step(proxy, "openai-chat", talk(29), "bob")[1] == ""
        assert BY_A_MODEL not in upstream.last.body.decode()
        assert step(proxy, "openai-chat", talk(29), "alice") == hers[-1]


def test_a_restart_sends_the_same_bytes(upstream: ScriptedUpstream) -> None:
    store, sent = open_store("memory:"), {}
    with summarizing(upstream, Scripted(answer=faithful), store) as proxy:
        for turns in range(1, 36):
            step(proxy, "openai-chat", talk(turns))
            sent[turns] = upstream.last.body
    assert BY_A_MODEL in sent[35].decode()
    # Another summarizer would say other things: what was decided stands.
    with summarizing(upstream, Scripted(""), store) as proxy:
        for turns in (20, 28, 34, 35):
            step(proxy, "openai-chat", talk(turns))
            assert upstream.last.body == sent[turns]


def test_a_history_that_was_edited_gets_no_summary_of_what_was_said_before(upstream: ScriptedUpstream) -> None:
    with summarizing(upstream, Scripted(answer=faithful)) as proxy:
        for turns in range(1, 30):
            step(proxy, "openai-chat", talk(turns))
        assert BY_A_MODEL in upstream.last.body.decode()
        edited = [*talk(3, word="zebra")[:-1], *talk(29)[6:]]
        assert step(proxy, "openai-chat", edited)[1] == ""
        assert BY_A_MODEL not in upstream.last.body.decode()


def test_breakpoints_that_move_and_another_system_prompt_are_no_edit(upstream: ScriptedUpstream) -> None:
    with summarizing(upstream, Scripted(answer=faithful)) as proxy:
        for turns in range(1, 30):
            step(proxy, "openai-chat", [{"role": "system", "content": "Today is Monday."}, *talk(turns)])
        assert upstream.last.body.decode().count(BY_A_MODEL) == 1
        marked = talk(29)
        marked[0] = {
            **marked[0],
            "content": [{"type": "text", "text": marked[0]["content"], "cache_control": {"type": "ephemeral"}}],
        }
        assert step(proxy, "openai-chat", [{"role": "system", "content": "Today is Friday."}, *talk(29)])[1]
        assert step(proxy, "openai-chat", marked)[1] == ""  # said as a list of blocks: another message


def test_nobody_waits_for_a_summary(upstream: ScriptedUpstream) -> None:
    may_answer, asked = threading.Event(), threading.Event()

    def slow(question: str) -> str:
        asked.set()
        assert may_answer.wait(30)
        return faithful(question)

    with summarizing(upstream, Scripted(answer=slow)) as proxy:
        for turns in range(1, 30):
            told = proxy.post("/v1/chat/completions", body("openai-chat", talk(turns)), authorization="k")
            assert told.status_code == 200
            assert "x-sash-summary" not in told.headers
        assert asked.wait(20)
        may_answer.set()


@pytest.mark.parametrize("reply", ["I am sorry, I cannot.", RuntimeError("nobody thought of this")])
def test_what_fails_leaves_the_digest_and_is_not_tried_at_once_again(upstream: ScriptedUpstream, reply: Any) -> None:
    model = Scripted(ValueError(str(reply)) if isinstance(reply, RuntimeError) else reply)
    with summarizing(upstream, model) as proxy:
        frames = [step(proxy, "openai-chat", talk(turns)) for turns in range(1, 30)]
        assert {summary for _, summary in frames} == {""}
        # Once for what is about to leave and once for what has left, in each frame at the most.
        assert 1 <= len(model.asked) <= 2 * len({frame for frame, _ in frames})
        alone = upstream.last.body
    with served(setup_for(upstream, policy=POLICY)) as proxy:
        proxy.post("/v1/chat/completions", body("openai-chat", talk(29)))
        assert upstream.last.body == alone


def job(place: str = "a", **changes: Any) -> Job:
    given: dict[str, Any] = {
        "place": place, "caller": ("", "alice"), "conversation": "c", "listed": json.dumps(talk(10)).encode(),
        "wire": "openai-chat", "end": 8, "previous": None, "cap_tokens": 1_000,
        "tokens": dict.fromkeys(range(1, 11), 100),
    }  # fmt: skip
    return Job(**(given | changes))


def test_a_request_that_gives_way_by_itself_leads_to_no_summary() -> None:
    model = Scripted(answer=faithful)
    summaries = Summaries(Summarizer(model))
    fitted = fit(json.loads(body("openai-chat", talk(29))), policy=POLICY)
    alone = fitted.fold.copy()
    planned = alone.plan("window", low=200)
    assert planned is not None
    alone.make(planned)
    for fold, asked in ((alone, False), (fitted.fold, True)):
        summaries.consider(("", "alice"), fold, fitted.listed, "openai-chat")
        assert summaries.preparing.wait(60)
        assert bool(model.asked) == asked
    summaries.close()


def test_no_more_waits_to_be_summarized_than_there_is_room_for() -> None:
    may_answer = threading.Event()

    def slow(question: str) -> str:
        assert may_answer.wait(30)
        return faithful(question)

    made: list[str] = []
    preparing = Preparing(
        Summarizer(Scripted(answer=slow)), lambda done, _: made.append(done.place), tokens_per_hour=10**9
    )
    for number in range(MOST_JOBS + 10):
        preparing.add(job(f"place-{number}", conversation=str(number)))
    may_answer.set()
    assert preparing.wait(60)
    # The newest; and the first, which was being written by then.
    assert len(made) <= MOST_JOBS + 1
    assert f"place-{MOST_JOBS + 9}" in made
    preparing.stop()


def test_a_summary_is_merged_and_after_some_generations_written_anew() -> None:
    model = Scripted(answer=faithful)
    first = write(job(end=4), Summarizer(model)).summary
    assert (first.first, first.end, first.generation, first.parent) == (1, 4, 1, 0)
    second = write(job(previous=first), Summarizer(model)).summary
    assert (second.end, second.generation, second.parent) == (8, 2, first.seq)
    assert all(f"value_{n} is {1000 + n}" in second.text for n in range(1, 8))
    assert "\n[t2]\n" not in model.asked[-1]
    drifted = msgspec.structs.replace(first, generation=6)
    anew = write(job(previous=drifted), Summarizer(model)).summary
    assert (anew.generation, anew.parent) == (1, first.seq)
    assert "\n[t2]\n" in model.asked[-1]


def test_what_fails_waits_longer_each_time_and_is_given_up() -> None:
    clock = [0.0]
    made: list[Written] = []
    model = Scripted("nothing of use")
    preparing = Preparing(
        Summarizer(model), lambda _, written: made.append(written), tokens_per_hour=10**9, now=lambda: clock[0]
    )
    pauses = []
    for _ in range(ATTEMPTS):
        assert not preparing.is_busy_with("a")
        preparing.add(job())
        assert preparing.wait(60)
        begun = clock[0]
        while preparing.is_busy_with("a") and clock[0] < begun + 10_000:
            clock[0] += 10.0
        pauses.append(clock[0] - begun)
    assert pauses[:-1] == [30, 60, 120, 240]
    assert preparing.is_busy_with("a")
    assert not made
    preparing.stop()


def test_a_conversation_has_a_budget_for_its_summaries() -> None:
    clock = [0.0]
    made: list[str] = []
    model = Scripted(answer=faithful)
    preparing = Preparing(
        Summarizer(model), lambda done, _: made.append(done.place), tokens_per_hour=1, now=lambda: clock[0]
    )
    for place, later in (("a", 0.0), ("b", 10.0), ("c", 3_700.0)):
        clock[0] = later
        preparing.add(job(place))
        assert preparing.wait(60)
    assert made == ["a", "c"]
    preparing.stop()


def test_the_server_has_one_summarizer_for_threads_and_for_what_passes(
    upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-servers-own")
    writers: list[Received] = []

    def answer(received: Received, line: Talk) -> None:
        if received.json["model"] != "writer":
            line.answer(200, json.dumps(completion("openai-chat", "ok")).encode())
            return
        writers.append(received)
        said = faithful(received.messages[-1]["content"])
        line.stream_head()
        for piece in ({"delta": {"content": said}}, {"delta": {}, "finish_reason": "stop"}):
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "writer",
                     "choices": [{"index": 0, **piece}]}  # fmt: skip
            line.chunk(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        line.chunk(b"data: [DONE]\n\n")
        line.stream_end()

    upstream.default = answer
    setup = ServerSetup(
        port=0, store="memory:", provider="openai", base_url=upstream.openai, summarizer="openai:writer",
        policy=POLICY, proxy=setup_for(upstream, policy=POLICY), drain_seconds=1.0,
    )  # fmt: skip
    with running(setup) as server:
        summaries = server.backend.proxy.summaries
        assert summaries is not None
        passed = []
        for turns in range(1, 30):
            told = server.ask(
                "POST", "/v1/chat/completions", json.loads(body("openai-chat", talk(turns))),
                headers={"authorization": "Bearer sk-client"},
            )  # fmt: skip
            passed.append(told.headers.get("x-sash-summary", ""))
            time.sleep(0.01)
            assert summaries.preparing.wait(60)
        assert passed[-1]
        thread = server.post("/v1/threads", {}, status=201)["threadId"]
        server.post(f"/v1/threads/{thread}/messages", {"messages": talk(29), "wire": "openai-chat"})
        deadline = time.monotonic() + 60
        while not server.get(f"/v1/threads/{thread}/summaries")["revisions"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert writers
    assert {received.header("authorization") for received in writers} == {"Bearer sk-the-servers-own"}
