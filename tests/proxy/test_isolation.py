"""Conversations that look alike, keys that share a name: no byte of one is ever in another."""

from __future__ import annotations

import json
import random
from typing import Any

import httpx2
import pytest

from sash import Policy
from sash.store import open_store
from tests.proxy.running import Served, served, setup_for
from tests.proxy.test_faults import ROUTES, WIRES
from tests.proxy.upstream import ScriptedUpstream, completion

POLICY = Policy(window=3_000, history_tokens=1_000)


def body(wire: str, said: list[Any]) -> bytes:
    field = "input" if wire == "openai-responses" else "messages"
    return json.dumps({"model": "m", field: said} | ({"max_tokens": 50} if wire == "anthropic" else {})).encode()


def conversation(secret: str, turns: int, *, same: int) -> list[dict[str, str]]:
    """Begins as every other; from turn `same` on it has a word of its own."""
    said = []
    for number in range(turns):
        word = secret if number >= same else "common"
        said.append({"role": "user", "content": f"Question {number} about {word}. " + f"{word} " * 20})
        said.append({"role": "assistant", "content": f"Answer {number} about {word}. " + f"{word} " * 20})
    return [*said, {"role": "user", "content": f"The last about {secret}?"}]


@pytest.mark.parametrize("wire", WIRES)
def test_conversations_with_the_same_beginning_never_mix(upstream: ScriptedUpstream, wire: str) -> None:
    secrets = [f"secret{number}" for number in range(6)]
    talks = {secret: conversation(secret, 30, same=5 + 3 * place) for place, secret in enumerate(secrets)}
    steps = [(secret, end) for secret in secrets for end in range(1, 62, 4)]
    random.Random(5).shuffle(steps)
    alone: dict[tuple[str, int], bytes] = {}
    told_nothing = json.dumps(completion(wire, "ok") | {"usage": None}).encode()
    upstream.default = lambda _, talk: talk.answer(200, told_nothing)
    with served(setup_for(upstream, policy=POLICY)) as proxy, httpx2.Client() as client:
        for secret, end in steps:
            given = {"authorization": f"Bearer key-of-{secret}", "x-claude-code-session-id": "the-same-for-all"}
            told = client.post(proxy.url + ROUTES[wire], content=body(wire, talks[secret][:end]), headers=given)
            assert told.status_code == 200
            sent = upstream.last.body
            assert not any(other in sent.decode() for other in secrets if other != secret)
            alone[secret, end] = sent
    # Whatever else went on, each request is what it would have been with nobody else there.
    with served(setup_for(upstream, policy=POLICY)) as proxy, httpx2.Client() as client:
        for secret in secrets[:2]:
            for end in range(1, 62, 4):
                client.post(proxy.url + ROUTES[wire], content=body(wire, talks[secret][:end]))
                assert upstream.last.body == alone[secret, end]


def test_an_edited_history_is_seen_as_edited(upstream: ScriptedUpstream) -> None:
    said = conversation("zebrafish", 25, same=0)
    edited = [{**one, "content": one["content"].replace("zebrafish", "after")} for one in said]
    with served(setup_for(upstream, policy=POLICY)) as proxy:
        for end in range(1, 50, 6):
            proxy.post("/v1/chat/completions", body("openai-chat", said[:end]))
        # The last turns are edited, as a client does that goes back.
        for cut in (40, 20, 0):
            mixed = [*said[:cut], *edited[cut:]]
            proxy.post("/v1/chat/completions", body("openai-chat", mixed))
            sent = upstream.last.messages
            assert sent[-1] == edited[-1]
            first_live = next(place for place, one in enumerate(sent) if one in mixed)
            assert sent[first_live:] == mixed[-len(sent) + first_live :]
        assert b"zebrafish" not in upstream.last.body


def test_what_one_key_s_provider_says_moves_nobody_else(upstream: ScriptedUpstream) -> None:
    def telling(read: int) -> None:
        told = json.dumps(completion("openai-chat", "ok", read=read)).encode()
        upstream.default = lambda _, talk: talk.answer(200, told)

    said = body("openai-chat", conversation("x", 20, same=0))

    def calibration(proxy: Served, key: str) -> float:
        told: float = proxy.post("/v1/sash/explain", said, authorization=key).json()["calibration"]
        return told

    with served(setup_for(upstream)) as proxy:
        telling(9_000)
        for _ in range(8):
            proxy.post("/v1/chat/completions", said, authorization="mallory")
        assert calibration(proxy, "mallory") > 1.3
        assert calibration(proxy, "alice") == 1.0


def test_what_was_learned_survives_a_restart(upstream: ScriptedUpstream) -> None:
    store = open_store("memory:")
    said = body("openai-chat", conversation("x", 20, same=0))
    told = json.dumps(completion("openai-chat", "ok", read=9_000)).encode()
    upstream.default = lambda _, talk: talk.answer(200, told)
    with served(setup_for(upstream), shelf=store) as proxy:
        for _ in range(8):
            proxy.post("/v1/chat/completions", said, authorization="alice")
        proxy.told(8)
        zebrafish = proxy.post("/v1/sash/explain", said, authorization="alice").json()["calibration"]
    with served(setup_for(upstream), shelf=store) as proxy:
        assert proxy.post("/v1/sash/explain", said, authorization="alice").json()["calibration"] == zebrafish > 1.3
        assert proxy.post("/v1/sash/explain", said, authorization="bob").json()["calibration"] == 1.0
