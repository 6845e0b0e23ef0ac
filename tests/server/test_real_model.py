"""A real model with a real limit behind the server: a conversation of any length, and never a refusal."""

from __future__ import annotations

import os
from typing import Any

import httpx2
import pytest

from sash.providers.local import WINDOW, LocalServer
from sash.server.setup import ServerSetup
from tests.model_server import MODEL
from tests.server.serving import running
from tests.server.speaking import last_of, said, text_of

ASKED = "Tell me about {}. " + "Use the words house, river, mountain, bread and lamp in what you say. " * 12
TOPICS = ("rain", "ships", "bees", "clocks", "salt", "maps", "wool", "chess", "tides", "glass")


def conversation(model_server: LocalServer, monkeypatch: pytest.MonkeyPatch, turns: int) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    setup = ServerSetup(
        port=0, store="memory:", provider="openai", model=MODEL, base_url=f"{model_server.url}/v1", drain_seconds=1.0
    )
    naive: list[dict[str, Any]] = []
    with running(setup) as server:
        server.client.timeout = httpx2.Timeout(300)
        made = {"threadId": "talk", "policy": "chat", "window": WINDOW, "recallTokens": 200}
        server.post("/v1/threads", made, status=201)
        boundaries = []
        for number in range(turns):
            question = ASKED.format(TOPICS[number % len(TOPICS)])
            events = said(server, "talk", question, maxTokens=24)
            assert last_of(events)["status"] == "completed", last_of(events)
            assert text_of(events)
            naive += [
                {"role": "user", "content": question},
                {"role": "assistant", "content": text_of(events)},
            ]
            boundaries.append(server.get("/v1/threads/talk")["boundary"])
        history = server.get("/v1/threads/talk/history")["turns"]
        assert [turn["status"] for turn in history] == ["completed"] * turns
        completed = [
            event["data"]
            for turn in server.get("/v1/threads/talk/history?includeEvents=true")["turns"]
            for event in turn["events"]
            if event["type"] == "message_completed"
        ]
        assert max(one["inputTokens"] + one["cacheReadTokens"] for one in completed) < WINDOW
        if turns >= 20:
            assert boundaries[-1] > 1
    while len(naive) < 60:
        naive += naive[:2]
    refused = httpx2.post(
        f"{model_server.url}/v1/chat/completions",
        json={"model": MODEL, "messages": [*naive, {"role": "user", "content": "And now?"}], "max_tokens": 8},
        timeout=300,
    )
    assert refused.status_code == 400
    assert "exceed" in refused.text


def test_three_turns_with_a_real_model_and_the_same_sent_naively_is_refused(
    model_server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(model_server, monkeypatch, turns=60 if os.environ.get("SASH_LONG_TALK") else 3)


@pytest.mark.soak
def test_sixty_turns_with_a_real_model(model_server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation(model_server, monkeypatch, turns=60)
