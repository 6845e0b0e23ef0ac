"""Turns: run, followed, replayed, cancelled, gone on with."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import pytest

from sash.errors import AnswerBroken, ProviderBusy, ProviderSilent, RequestTooLong
from sash.providers import TextDelta, Usage
from sash.providers.events import Event
from sash.server.fault import fault_of
from sash.server.setup import ServerSetup
from sash.store import RunRow
from tests.server.serving import Running, running
from tests.server.speaking import Scripted, events_of, finished, last_of, said, slowly, text_of, using

ECHO = ServerSetup(port=0, store="memory:", provider="echo", drain_seconds=1.0)


@pytest.fixture
def server() -> Any:
    with running(ECHO) as started:
        yield started


def thread(server: Running, **given: Any) -> str:
    made: str = server.post("/v1/threads", given, status=201)["threadId"]
    return made


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.01)


def test_a_turn_is_told_as_it_comes_and_stands_in_history(server: Running) -> None:
    place = thread(server)
    events = said(server, place, "the sash is the part that slides")
    names = [event.name for event in events]
    assert names[0] == "turn_started"
    assert names[-1] == "turn_completed"
    assert text_of(events) == "the sash is the part that slides"
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert [event.fields["seq"] for event in events] == [event.id for event in events]
    assert last_of(events)["stopReason"] == "end_turn"
    [turn] = server.get(f"/v1/threads/{place}/history")["turns"]
    assert turn["turnId"] == events[0].fields["turnId"]
    assert (turn["requestText"], turn["responseText"]) == ("the sash is the part that slides",) * 2
    assert (turn["status"], turn["stopReason"], turn["isInternal"]) == ("completed", "end_turn", False)
    assert turn["createdAt"] <= turn["completedAt"]
    assert "events" not in turn or turn["events"] is None


def test_a_thread_is_called_by_its_first_words(server: Running) -> None:
    place = thread(server)
    said(server, place, "Fix the build\nplease")
    assert server.get(f"/v1/threads/{place}")["title"] == "Fix the build"
    assert server.get("/v1/threads")["threads"][0]["title"] == "Fix the build"


def test_without_streaming_the_turn_comes_whole(server: Running) -> None:
    place = thread(server)
    turn = server.post(f"/v1/threads/{place}/turns", {"input": "hello there", "stream": False})
    assert (turn["responseText"], turn["status"], turn["number"]) == ("hello there", "completed", 1)


def test_events_are_replayed_from_any_place_and_stand_in_history(server: Running) -> None:
    place = thread(server)
    events = said(server, place, "one two three")
    turn = events[0].fields["turnId"]
    for after in (0, 1, len(events) - 1, len(events), 99):
        answer = server.ask("GET", f"/v1/turns/{turn}/events?after={after}")
        assert events_of(answer.text.splitlines()) == events[after:]
    resumed = server.ask("GET", f"/v1/turns/{turn}/events", headers={"last-event-id": "2"})
    assert events_of(resumed.text.splitlines()) == events[2:]
    for odd in ("garbage", "-1", "9" * 20):
        assert server.ask("GET", f"/v1/turns/{turn}/events", headers={"last-event-id": odd}).status_code == 400
    [told] = server.get(f"/v1/threads/{place}/history?includeEvents=true")["turns"]
    assert [(event["seq"], event["type"]) for event in told["events"]] == [(event.id, event.name) for event in events]
    assert all(event["eventId"] and event["createdAt"] for event in told["events"])


def test_somebody_who_comes_late_follows_the_rest(server: Running) -> None:
    go_on = threading.Event()

    async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        import asyncio

        yield TextDelta("first ")
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        yield TextDelta("second")
        yield finished("first second")

    using(server, Scripted(script))
    place = thread(server)
    turn = server.post(f"/v1/threads/{place}/turns", {"input": "x", "background": True}, status=202)
    assert turn["status"] == "running"
    with server.client.stream("GET", f"/v1/turns/{turn['turnId']}/events") as answer:
        lines = answer.iter_lines()
        seen = []
        for line in lines:
            seen.append(line)
            if "first" in line:
                go_on.set()
        events = events_of(seen)
    assert text_of(events) == "first second"
    assert last_of(events)["status"] == "completed"


def test_a_turn_is_found_before_its_first_event_is_stored() -> None:
    from sash.store.memory import MemoryStore

    class Slow(MemoryStore):
        """A disk that takes its time for events."""

        going_on = threading.Event()

        def write_run(self, *given: Any, **named: Any) -> RunRow:
            assert self.going_on.wait(20)
            return super().write_run(*given, **named)

    store = Slow()
    with running(ECHO, store=store) as server:
        turn = server.post(f"/v1/threads/{thread(server)}/turns", {"input": "a", "background": True}, status=202)
        found = server.get(f"/v1/turns/{turn['turnId']}")
        store.going_on.set()
    assert (found["requestText"], found["status"]) == ("a", "running")


def test_a_busy_thread_is_a_conflict_that_is_not_to_be_retried(server: Running) -> None:
    using(server, Scripted(slowly))
    place = thread(server)
    first = server.post(f"/v1/threads/{place}/turns", {"input": "a", "background": True}, status=202)
    second = server.ask("POST", f"/v1/threads/{place}/turns", {"input": "b"})
    assert second.status_code == 409
    assert second.headers["x-should-retry"] == "false"
    assert second.json()["error"]["code"] == "CONFLICT"
    assert second.json()["error"]["details"] == {"turnId": first["turnId"]}
    history = server.get(f"/v1/threads/{place}/history")["turns"]
    assert [turn["requestText"] for turn in history] == ["a"]
    server.post(f"/v1/turns/{first['turnId']}/cancel")


def test_a_turn_may_wait_for_the_one_before_it(server: Running) -> None:
    using(server, Scripted(slowly))
    place = thread(server)
    first = server.post(f"/v1/threads/{place}/turns", {"input": "a", "background": True}, status=202)
    answers: list[Any] = []
    body = {"input": "b", "waitSeconds": 30, "background": True}
    waiting = threading.Thread(target=lambda: answers.append(server.ask("POST", f"/v1/threads/{place}/turns", body)))
    waiting.start()
    server.post(f"/v1/turns/{first['turnId']}/cancel")
    waiting.join(30)
    assert answers[0].status_code == 202
    texts = [turn["requestText"] for turn in server.get(f"/v1/threads/{place}/history")["turns"]]
    assert texts == ["a", "b"]


def test_a_cancelled_turn_keeps_what_was_said(server: Running) -> None:
    provider = Scripted(slowly)
    using(server, provider)
    place = thread(server)
    turn = server.post(f"/v1/threads/{place}/turns", {"input": "a", "background": True}, status=202)["turnId"]
    until(lambda: "Well" in server.get(f"/v1/turns/{turn}")["responseText"], "the first word")
    cancelled = server.post(f"/v1/turns/{turn}/cancel")
    assert (cancelled["status"], cancelled["stopReason"]) == ("cancelled", "cancelled")
    assert cancelled["responseText"] == "Well, "
    assert provider.closed == 1
    again = server.post(f"/v1/turns/{turn}/cancel")
    assert again["status"] == "cancelled"
    sent = server.get(f"/v1/threads/{place}/request")["request"]["messages"]
    assert sent[-1] == {"role": "assistant", "content": "Well, "}


def test_a_client_that_goes_away_ends_its_turn_and_lets_the_provider_go(server: Running) -> None:
    provider = Scripted(slowly)
    using(server, provider)
    place = thread(server)
    with server.client.stream("POST", f"/v1/threads/{place}/turns", json={"input": "a"}) as answer:
        for line in answer.iter_lines():
            if "Well" in line:
                break
    until(lambda: provider.closed == 1, "the provider is let go of")
    until(
        lambda: server.get(f"/v1/threads/{place}/history")["turns"][0]["status"] == "interrupted", "it is interrupted"
    )
    [turn] = server.get(f"/v1/threads/{place}/history")["turns"]
    assert (turn["stopReason"], turn["responseText"]) == ("interrupted", "Well, ")


def test_a_provider_that_takes_too_long_is_told_as_a_timeout(server: Running) -> None:
    async def silent() -> AsyncGenerator[Event]:
        for _ in range(2):
            yield TextDelta("We")
            raise ProviderSilent("127.0.0.1: no byte in time (ReadTimeout)")

    using(server, Scripted(lambda request: silent()))
    [fault] = [event.fields["error"] for event in said(server, thread(server), "hi") if event.name == "error"]
    assert fault["code"] == "TIMEOUT"
    assert "127.0.0.1" not in fault["message"]
    assert fault_of(ProviderSilent("x")).status == 504


def test_the_same_key_runs_a_turn_once_and_tells_it_again(server: Running) -> None:
    provider = Scripted(lambda request: _hello())
    using(server, provider)
    place = thread(server)
    key = {"idempotency-key": "k1"}
    first = said(server, place, "hi", headers=key)
    again = said(server, place, "hi", headers=key)
    assert again == first
    assert len(provider.requests) == 1
    other = server.ask("POST", f"/v1/threads/{place}/turns", {"input": "something else"}, headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "CONFLICT")
    assert len(server.get(f"/v1/threads/{place}/history")["turns"]) == 1


async def _hello() -> AsyncGenerator[Event]:
    yield TextDelta("hello")
    yield finished("hello", usage=Usage(input_tokens=5, output_tokens=1, reported={"prompt_tokens": 5}))


def test_a_turn_that_stops_for_calls_goes_on_with_their_results(server: Running) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    place = thread(server, tools=tools)
    events = said(server, place, 'call look {"at": "it"}')
    [call] = [event.fields for event in events if event.name == "tool_call"]
    assert (call["name"], call["arguments"]) == ("look", '{"at": "it"}')
    assert last_of(events)["stopReason"] == "tool_calls"
    turn = events[0].fields["turnId"]
    refused = server.ask("POST", f"/v1/turns/{turn}/results", {"results": [{"callId": "other", "content": "x"}]})
    assert refused.status_code == 404
    results = {"results": [{"callId": call["callId"], "content": "it is blue"}], "stream": False}
    done = server.post(f"/v1/turns/{turn}/results", results)
    assert (done["status"], done["stopReason"]) == ("completed", "end_turn")
    assert "it is blue" in done["responseText"]
    assert done["tools"][0]["text"] == "it is blue"
    assert server.ask("POST", f"/v1/turns/{turn}/results", results).status_code == 409
    replayed = events_of(server.ask("GET", f"/v1/turns/{turn}/events").text.splitlines())
    assert [event.id for event in replayed] == list(range(1, len(replayed) + 1))
    assert [event.name for event in replayed].count("turn_started") == 1


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (ProviderBusy("busy: secret-prompt", status=429), "UPSTREAM_UNAVAILABLE", "failed"),
        (AnswerBroken("broke off"), "UPSTREAM_UNAVAILABLE", "failed"),
        (RuntimeError("a bug of ours: secret-prompt"), "INTERNAL", "failed"),
    ],
)
def test_a_failure_is_told_as_an_event_and_stored(server: Running, error: Exception, code: str, status: str) -> None:
    async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        yield TextDelta("some words")
        raise error

    using(server, Scripted(script))
    place = thread(server)
    events = said(server, place, "a")
    assert events[-1].name == "error"
    assert last_of(events)["error"]["code"] == code
    assert "secret-prompt" not in str(events)
    [turn] = server.get(f"/v1/threads/{place}/history")["turns"]
    assert (turn["status"], turn["stopReason"], turn["responseText"]) == (status, "error", "some words")
    assert turn["errorMessage"]


def test_a_provider_that_cannot_read_so_much_is_asked_once_more_with_less(server: Running) -> None:
    async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        if len(provider.requests) == 3:
            raise RequestTooLong("too long", tokens=5000, limit=4096)
        yield finished("fine")

    provider = Scripted(script)
    using(server, provider)
    place = thread(server)
    said(server, place, "word " * 2000)
    said(server, place, "word " * 2000)
    events = said(server, place, "and now?")
    assert last_of(events)["status"] == "completed"
    assert len(str(provider.requests[3])) < len(str(provider.requests[2]))
    assert [event.fields["reason"] for event in events if event.name == "frame"] == ["overflow"]
    assert server.get(f"/v1/threads/{place}/frames")["frames"][-1]["reason"] == "overflow"


def test_a_thread_learns_what_its_provider_takes_and_the_turn_goes_on_until_it_fits(server: Running) -> None:
    """As llama.cpp does: a limit of its own, told in each refusal."""

    async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        tokens = len(str(request)) // 4
        if tokens > 4096:
            raise RequestTooLong("too long", tokens=tokens, limit=4096)
        yield finished("fine")

    provider = Scripted(script)
    using(server, provider)
    place = thread(server)
    book = [{"role": "user", "content": f"{number} " + "so many words and " * 140} for number in range(20)]
    server.post(f"/v1/threads/{place}/messages", {"messages": book})
    events = said(server, place, "and now?")
    assert last_of(events)["status"] == "completed"
    assert [event.fields["reason"] for event in events if event.name == "frame"] == ["overflow"]
    assert len(provider.requests) == 2
    assert server.get(f"/v1/threads/{place}/context")["window"] == 4096
    for _ in range(3):
        said(server, place, "so many words and " * 140)
    assert len(provider.requests) == 5


def test_a_provider_that_tells_no_limit_is_asked_with_less_until_it_answers(server: Running) -> None:
    async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        if len(str(request)) > 12_000:
            raise RequestTooLong("Input is too long for requested model.")
        yield finished("fine")

    provider = Scripted(script)
    using(server, provider)
    place = thread(server)
    book = [{"role": "user", "content": f"{number} " + "so many words and " * 140} for number in range(20)]
    server.post(f"/v1/threads/{place}/messages", {"messages": book})
    assert last_of(said(server, place, "and now?"))["status"] == "completed"
    assert 2 <= len(provider.requests) <= 7


def test_a_request_that_cannot_become_smaller_is_one_clear_error(server: Running) -> None:
    async def script(request: Mapping[str, Any]) -> AsyncGenerator[Event]:
        if provider.requests:
            raise RequestTooLong("too long", tokens=50_000, limit=4096)
        yield finished("never")

    provider = Scripted(script)
    using(server, provider)
    place = thread(server)
    events = said(server, place, "so many words and " * 10_000)
    assert last_of(events)["status"] == "failed"
    assert "4,096" in last_of(events)["error"]["message"]
    assert len(provider.requests) == 1


def test_a_slide_is_told_while_it_happens_and_the_boundary_moves(server: Running) -> None:
    place = thread(server, historyTokens=2000, policy="best")
    seen = []
    for number in range(8):
        seen += said(server, place, f"turn {number} " + "words and words " * 100)
    slides = [event.fields for event in seen if event.name == "frame"]
    assert slides
    shown = server.get(f"/v1/threads/{place}")
    assert shown["boundary"] == slides[-1]["boundary"] > 1
    states = [turn["state"] for turn in server.get(f"/v1/threads/{place}/history")["turns"]]
    assert states[0] == "evicted"
    assert states[-1] == "live"


def test_only_so_many_turns_run_at_once() -> None:
    setup = ServerSetup(port=0, store="memory:", provider="echo", max_running_turns=1, drain_seconds=1.0)
    with running(setup) as server:
        using(server, Scripted(slowly))
        first = server.post(f"/v1/threads/{thread(server)}/turns", {"input": "a", "background": True}, status=202)
        full = server.ask("POST", f"/v1/threads/{thread(server)}/turns", {"input": "b"})
        assert (full.status_code, full.json()["error"]["code"]) == (503, "UPSTREAM_UNAVAILABLE")
        assert full.headers["retry-after"] == "1"
        server.post(f"/v1/turns/{first['turnId']}/cancel")


def test_a_deleted_thread_ends_its_turn_and_does_not_come_back(server: Running) -> None:
    provider = Scripted(slowly)
    using(server, provider)
    place = thread(server)
    turn = server.post(f"/v1/threads/{place}/turns", {"input": "a", "background": True}, status=202)["turnId"]
    # A thread that is gone before the provider was asked leaves nobody to let go of.
    until(lambda: "Well" in server.get(f"/v1/turns/{turn}")["responseText"], "the first word")
    assert server.ask("DELETE", f"/v1/threads/{place}").status_code == 204
    until(lambda: provider.closed == 1, "the provider is let go of")
    assert server.ask("GET", f"/v1/threads/{place}").status_code == 404
    assert server.ask("GET", f"/v1/threads/{place}/history").status_code == 404


def test_a_stopping_server_leaves_its_turns_interrupted() -> None:
    from sash.store.memory import MemoryStore

    class Kept(MemoryStore):
        def close(self) -> None:
            """Looked at after the server has gone."""

    store = Kept()
    with running(ServerSetup(port=0, provider="echo", drain_seconds=0.1), store=store) as server:
        using(server, Scripted(slowly))
        place = thread(server)
        turn = server.post(f"/v1/threads/{place}/turns", {"input": "a", "background": True}, status=202)["turnId"]
        until(lambda: "Well" in server.get(f"/v1/turns/{turn}")["responseText"], "the first word")
    run = store.run("", turn)
    assert (run.status, run.stop) == ("interrupted", "interrupted")
