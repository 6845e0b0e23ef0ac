"""Conversations kept as threads: by their own name, each with its own log, and never a guess."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sash.server.setup import ServerSetup
from sash.store import Store, open_store
from sash.thread import open_thread
from tests.proxy.running import Served, served, setup_for
from tests.proxy.test_faults import ROUTES, WIRES
from tests.proxy.test_window import talk_of
from tests.proxy.upstream import ScriptedUpstream
from tests.server.serving import running

KEY = "Bearer sk-one"


def ask(proxy: Served, wire: str, said: list[Any], key: str = KEY, **more: Any) -> str:
    """Ask as a client does; the thread that it is kept in."""
    field = "input" if wire == "openai-responses" else "messages"
    extra = more.pop("extra", {})
    body = {"model": "m", field: said} | ({"max_tokens": 50} if wire == "anthropic" else {}) | extra
    response = proxy.post(ROUTES[wire], json.dumps(body).encode(), authorization=key, **more)
    assert response.status_code == 200, response.text
    proxy.told(1)
    return str(response.headers.get("x-sash-thread", ""))


def log_of(store: Store, name: str) -> list[Any]:
    thread = open_thread(name, store=store)
    return [json.loads(event.body) for event in thread.events() if event.kind == "message"]


def names(store: Store) -> list[str]:
    return sorted(row.name for row in store.threads("", limit=500))


@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_that_names_itself_is_a_thread(upstream: ScriptedUpstream, wire: str) -> None:
    store = open_store("memory:")
    said = talk_of(wire, 4)
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        kept = {ask(proxy, wire, said[:end], x_sash_thread="issue-42") for end in (1, 3, len(said) - 3, len(said))}
        (name,) = kept
        proxy.told(4)
    assert name.startswith("issue-42@")
    assert log_of(store, name) == said
    assert names(store) == [name]
    kinds = [event.kind for event in open_thread(name, store=store).events()]
    assert "usage" in kinds
    kept_thread = open_thread(name, store=store)
    assert kept_thread.setup.model == "m"
    assert kept_thread.verify().ok


@pytest.mark.parametrize("named", ["issue-42", "session:42", "x" * 120])
def test_what_an_answer_says_of_its_thread_is_an_id_of_the_api(upstream: ScriptedUpstream, named: str) -> None:
    store = open_store("memory:")
    said = talk_of("openai-chat", 2)
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        told = [ask(proxy, "openai-chat", part, x_sash_thread=named) for part in (said, said[:1] * 3, said[1:])]
    assert told == [told[0], f"{told[0]}~2", f".{told[0]}~3"]
    with running(ServerSetup(port=0, provider="echo", drain_seconds=1.0), store=store) as server:
        for place in told:
            assert server.get(f"/v1/threads/{place}")["threadId"] == place
            assert server.get(f"/v1/threads/{quote(place, safe='')}/history")["turns"]
        assert {one["threadId"] for one in server.get("/v1/threads")["threads"]} == set(told[:2])


def test_a_conversation_is_counted_for_the_model_that_it_asks(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    said = talk_of("openai-chat", 3)
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        for model, end in (("gpt-5", 1), ("gpt-4o", 3), ("gpt-4o", 5)):
            ask(proxy, "openai-chat", said[:end], x_sash_thread="talk", extra={"model": model})
        proxy.told(3)
    (name,) = names(store)
    thread = open_thread(name, store=store)
    assert thread.context().model == "gpt-4o"
    assert [event.kind for event in thread.events()].count("configure") == 1
    assert thread.verify().ok


def test_without_a_name_nothing_is_kept(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        assert ask(proxy, "openai-chat", talk_of("openai-chat", 2)) == ""
    with served(setup_for(upstream), store=store) as proxy:
        assert ask(proxy, "openai-chat", talk_of("openai-chat", 2), x_sash_thread="a") == ""
    assert names(store) == []


@pytest.mark.parametrize(
    ("headers", "extra", "name"),
    [
        ({"x_sash_thread": "own", "x_claude_code_session_id": "other"}, {}, "own"),
        ({"x_claude_code_session_id": "cc", "session_id": "other"}, {}, "cc"),
        ({"session_id": "codex"}, {"prompt_cache_key": "other"}, "codex"),
        ({"x_opencode_session": "oc"}, {}, "oc"),
        ({}, {"session_id": "body", "prompt_cache_key": "other"}, "body"),
        ({}, {"metadata": {"session_id": "meta"}}, "meta"),
        ({}, {"prompt_cache_key": "pck"}, "pck"),
        ({"x_sash_thread": "../../etc/passwd"}, {}, "id-"),
        ({"x_sash_thread": "x" * 5_000}, {}, "id-"),
        ({"x_sash_thread": ".hidden"}, {}, "id-"),
    ],
)
def test_names_are_believed_in_their_order(
    upstream: ScriptedUpstream, headers: dict[str, str], extra: dict[str, Any], name: str
) -> None:
    store = open_store("memory:")
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        assert ask(proxy, "openai-chat", talk_of("openai-chat", 1), extra=extra, **headers).startswith(name)


def test_two_keys_with_the_same_name_are_two_threads(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    one, other = talk_of("openai-chat", 2), [{"role": "user", "content": "somebody else's secret"}]
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        first = ask(proxy, "openai-chat", one, x_sash_thread="same")
        second = ask(proxy, "openai-chat", other, key="Bearer sk-two", x_sash_thread="same")
        assert ask(proxy, "openai-chat", one, x_sash_thread="same") == first
    assert first != second
    assert log_of(store, first) == one
    assert log_of(store, second) == other


def test_an_edited_history_is_a_fork_and_both_go_on(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    said = talk_of("anthropic", 4)
    edited = [*said[:8], {"role": "user", "content": "No, go left instead."}]
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        first = ask(proxy, "anthropic", said, x_sash_thread="t")
        fork = ask(proxy, "anthropic", edited, x_sash_thread="t")
        longer = [*edited, {"role": "assistant", "content": "Left."}, {"role": "user", "content": "And then?"}]
        assert ask(proxy, "anthropic", longer, x_sash_thread="t") == fork
        more = [*said, {"role": "assistant", "content": "Right."}, {"role": "user", "content": "On."}]
        assert ask(proxy, "anthropic", more, x_sash_thread="t") == first
    assert fork == f"{first}~2"
    assert log_of(store, first) == more
    assert log_of(store, fork) == longer


def test_a_side_call_under_the_same_id_is_a_hidden_branch(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    said, side = talk_of("anthropic", 2), [{"role": "user", "content": "Write a title for this conversation."}]
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        first = ask(proxy, "anthropic", said, x_claude_code_session_id="s")
        hidden = ask(proxy, "anthropic", side, x_claude_code_session_id="s")
        assert ask(proxy, "anthropic", side, x_claude_code_session_id="s") == hidden
        assert ask(proxy, "anthropic", [*said, *said[-1:]], x_claude_code_session_id="s") == first
    assert hidden == f".{first}~2"
    assert log_of(store, hidden) == side


def test_breakpoints_that_move_and_a_system_prompt_that_changes_are_no_edit(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    mark = {"cache_control": {"type": "ephemeral"}}

    def turn(text: str, **more: Any) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "text", "text": text, **more}]}

    answer = {"role": "assistant", "content": "Yes."}
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        first = ask(proxy, "anthropic", [turn("one", **mark)], x_sash_thread="t")
        assert ask(proxy, "anthropic", [turn("one"), answer, turn("two", **mark)], x_sash_thread="t") == first
        for day in ("Monday", "Tuesday"):
            said = [{"role": "system", "content": f"Today is {day}."}, {"role": "user", "content": "Hello"}]
            kept = ask(proxy, "openai-chat", said, x_sash_thread="dated")
            assert "~" not in kept
    assert len(log_of(store, first)) == 3
    assert len(names(store)) == 2


def test_a_restart_goes_on_where_it_was(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    said = talk_of("openai-chat", 6)
    kept = []
    for end in (6, 11, len(said)):
        store = open_store(f"sqlite:///{tmp_path / 'sash.db'}")
        with served(setup_for(upstream, keep=True), store=store) as proxy:
            kept.append(ask(proxy, "openai-chat", said[:end], x_sash_thread="t"))
            fork = ask(proxy, "openai-chat", [*said[:2], {"role": "user", "content": "else"}], x_sash_thread="t")
        assert fork == f"{kept[0]}~2"
        store.close()
    assert len(set(kept)) == 1
    store = open_store(f"sqlite:///{tmp_path / 'sash.db'}")
    assert log_of(store, kept[0]) == said
    store.close()


def test_a_store_that_fails_never_stops_the_answer_and_is_said(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    store.close()

    class Broken:
        def __getattr__(self, name: str) -> Any:
            from sash.errors import StoreFull

            def fail(*_: object, **__: object) -> None:
                raise StoreFull("here", "no space")

            return fail

    with served(setup_for(upstream, keep=True), store=Broken()) as proxy:
        assert ask(proxy, "openai-chat", talk_of("openai-chat", 1), x_sash_thread="t") == "unavailable"


def test_an_answer_does_not_wait_for_what_is_stored(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    going_on = threading.Event()

    class Slow:
        """A disk that takes its time."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def append(self, *given: Any, **named: Any) -> Any:
            assert going_on.wait(20)
            return store.append(*given, **named)

    said = talk_of("openai-chat", 3)
    with served(setup_for(upstream, keep=True), store=Slow()) as proxy:
        body = json.dumps({"model": "m", "messages": said}).encode()
        answered = proxy.post(ROUTES["openai-chat"], body, authorization=KEY, x_sash_thread="slow")
        assert answered.status_code == 200
        name = answered.headers["x-sash-thread"]
        assert log_of(store, name) == []
        going_on.set()
        proxy.told(1)
    assert log_of(store, name) == said


def test_a_history_that_came_before_is_known_by_its_bytes_and_by_what_it_says(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    said = talk_of("openai-chat", 4)
    with served(setup_for(upstream, keep=True), store=store) as proxy:
        first = ask(proxy, "openai-chat", said[:3], x_sash_thread="t")
        spelled = json.dumps({"messages": said[:5], "model": "m"}, indent=1).encode()
        assert proxy.post(ROUTES["openai-chat"], spelled, authorization=KEY, x_sash_thread="t").status_code == 200
        proxy.told(2)
        assert ask(proxy, "openai-chat", said, x_sash_thread="t") == first
        edited = [said[0] | {"content": "something else"}, *said[1:]]
        assert ask(proxy, "openai-chat", edited, x_sash_thread="t") != first
        proxy.told(4)
    assert log_of(store, first) == said
