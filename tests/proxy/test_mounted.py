"""The proxy inside the server: one port, one table, one set of keys."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from sash.cli.serve import serve
from sash.server.app import every_route
from sash.server.keys import make_key
from sash.server.proxy.table import OWN
from sash.server.setup import ServerSetup
from sash.store.memory import MemoryStore
from tests.proxy.running import setup_for
from tests.proxy.upstream import Received, ScriptedUpstream, Talk
from tests.server.serving import Running, running

BODY = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hello"}]}


@contextmanager
def behind(upstream: ScriptedUpstream, store: MemoryStore | None = None, **changes: Any) -> Iterator[Running]:
    with running(ServerSetup(port=0, store="memory:", proxy=setup_for(upstream), **changes), store=store) as server:
        yield server


def test_the_server_answers_as_the_provider_would(upstream: ScriptedUpstream) -> None:
    with behind(upstream) as server:
        told = server.post("/v1/chat/completions", BODY)
        assert told["choices"][0]["message"]["content"] == "answer 1"
        assert server.get("/v1/models")["path"] == "/v1/models"
        assert server.post("/v1/sash/explain", BODY)["wire"] == "openai-chat"
        assert 'sash_overhead_seconds_count{face="proxy"} 1' in server.ask("GET", "/metrics").text


def test_side_calls_that_were_kept_are_not_listed_but_found_by_their_name(upstream: ScriptedUpstream) -> None:
    named = {"x-claude-code-session-id": "s", "x-api-key": "k"}
    with running(ServerSetup(port=0, store="memory:", provider="echo", proxy=setup_for(upstream, keep=True))) as server:
        kept = []
        for words in ("Fix the bug.", "Write a title for this conversation."):
            body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": words}]}
            kept.append(server.ask("POST", "/v1/messages", body, headers=named).headers["x-sash-thread"])
        first, hidden = kept
        assert hidden == f".{first}~2"
        shown = server.get("/v1/threads")["threads"]
        assert [one["title"] for one in shown] == ["Fix the bug."]
        # Its name cannot stand in an address, so it is asked for by its number.
        row = server.backend.store.find("", hidden)
        assert row is not None
        history = server.get(f"/v1/threads/~{row.id}/history")["turns"]
        assert history[0]["requestText"] == "Write a title for this conversation."


def test_a_slip_in_an_address_of_ours_is_told_here(upstream: ScriptedUpstream) -> None:
    with behind(upstream) as server:
        for path in ("/v1/threads-", "/v1/models/x"):
            assert server.ask("GET", path).status_code == 200
        asked = len(upstream.requests)
        for path in ("/v1/threads/a/no-such-thing", "/v1/sash/no-such-thing", "/v1/sash"):
            assert server.ask("GET", path).status_code in (404, 405)
        assert len(upstream.requests) == asked


def test_no_address_of_ours_is_a_provider_s() -> None:
    ours = {
        route.path.split("/")[2] for route in every_route() if route.path.startswith("/v1/") and route.tag != "proxy"
    }
    assert ours <= set(OWN)


def test_a_key_of_ours_opens_the_door_and_goes_no_further(upstream: ScriptedUpstream) -> None:
    store = MemoryStore()
    key = make_key(store, "alice").key
    with behind(upstream, store, require_key=True) as server:
        refused = server.ask("POST", "/v1/messages", BODY, headers={"x-api-key": "sk-ant-1"})
        assert refused.status_code == 401
        assert refused.json()["type"] == "error"
        assert upstream.requests == []
        given = {"x-sash-key": key, "authorization": "Bearer sk-provider"}
        assert server.ask("POST", "/v1/chat/completions", BODY, headers=given).status_code == 200
        assert upstream.last.header("authorization") == "Bearer sk-provider"
        assert key not in str(upstream.last.headers)


def test_the_server_s_own_key_stands_in_for_a_key_of_ours(
    upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-owner")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-owner")
    store = MemoryStore()
    key = make_key(store, "alice").key
    with behind(upstream, store, require_key=True) as server:
        server.ask("POST", "/v1/chat/completions", BODY, headers={"authorization": f"Bearer {key}"})
        assert upstream.last.header("authorization") == "Bearer sk-of-the-owner"
        server.ask("POST", "/v1/messages", BODY | {"max_tokens": 5}, headers={"x-api-key": key})
        assert upstream.last.header("x-api-key") == "sk-ant-of-the-owner"
        server.ask("GET", "/v1/models", headers={"authorization": f"Bearer {key}"})
        assert upstream.last.header("authorization") == "Bearer sk-of-the-owner"
    with behind(upstream) as server:
        # Nobody showed a key of ours, so nobody gets the owner's.
        server.ask("POST", "/v1/chat/completions", BODY)
        assert upstream.last.header("authorization") == ""


CANARIES = (
    "canary-header-1",
    "canary-query-2",
    "canary-prompt-3",
    "canary-answer-4",
    "canary-body-5",
    "canary-error-6",
)


def test_no_secret_is_in_a_log_a_metric_or_an_error(
    upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_: Received, talk: Talk) -> None:
        talk.answer(500, b'{"error":{"message":"canary-error-6"}}', {"x-should-retry": "false"})

    def breaking(_: Received, talk: Talk) -> None:
        talk.stream_head()
        talk.chunk(b"data: canary-answer-4\n\n")
        talk.reset()

    upstream.then(failing, breaking)
    said = {**BODY, "messages": [{"role": "user", "content": "canary-prompt-3"}], "unknown": "canary-body-5"}
    given = {"authorization": "Bearer canary-header-1", "x-api-key": "canary-header-1"}
    caplog.set_level(logging.DEBUG)
    shown = []
    with behind(upstream) as server:
        server.ask("POST", "/v1/chat/completions?x=canary-query-2", said, headers=given)
        server.ask("POST", "/v1/chat/completions", {**said, "stream": True}, headers=given)
        server.ask("POST", "/v1/chat/completions", {**said, "messages": "canary-prompt-3"}, headers=given)
        server.ask("GET", "/v1/models?x=canary-query-2", headers=given)
        shown += [server.ask("GET", path).text for path in ("/metrics", "/health/readiness", "/openapi.json")]
    ours = [record for record in caplog.records if record.name.split(".")[0] not in ("httpx2", "httpcore2")]
    shown += [f"{record.getMessage()} {record.__dict__}" for record in ours]
    assert ours
    for canary in CANARIES:
        assert not any(f"canary-{canary}" in text for text in shown), canary
    server_side = [record for record in caplog.records if record.name.startswith("httpcore2")]
    assert not any("canary-header-1" in record.getMessage() for record in server_side)
    upstream.faults.clear()


def test_print_env_says_what_a_client_needs() -> None:
    told = CliRunner().invoke(serve, ["--print-env", "--port", "7999"])
    assert told.exit_code == 0
    assert told.output.splitlines() == [
        "export OPENAI_BASE_URL=http://127.0.0.1:7999/v1",
        "export ANTHROPIC_BASE_URL=http://127.0.0.1:7999",
    ]


def test_an_address_that_is_none_is_told_at_the_start() -> None:
    told = CliRunner().invoke(serve, ["--upstream-openai", "ftp://somewhere"])
    assert told.exit_code != 0
    assert "ftp://somewhere" in str(told.exception)
