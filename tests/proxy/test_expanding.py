"""A model reads back what was shortened, and the client never knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sash import Policy
from tests.builders import Script, lines
from tests.proxy.running import served, setup_for
from tests.proxy.test_faults import ROUTES, WIRES
from tests.proxy.upstream import Received, ScriptedUpstream, Talk, completion, events, named_frame

POLICY = Policy(window=20_000, history_tokens=6_000, record_over_tokens=500)


def body_of(wire: str, *, stream: bool) -> bytes:
    said = Script(wire).user("Read the log.").step("c1", lines(2_000)).assistant("It is long.").user("Line 1234?").said
    field = "input" if wire == "openai-responses" else "messages"
    return json.dumps({"model": "m", "max_tokens": 100, "stream": stream, field: said}).encode()


def streamed_call(wire: str, call: tuple[str, str, str]) -> list[bytes]:
    """An answer with a call, in the smallest pieces."""
    whole = completion(wire, "", calls=(call,))
    if wire == "openai-responses":
        return [
            named_frame({"type": "response.created", "response": {}}),
            named_frame({"type": "response.completed", "response": whole}),
        ]
    if wire == "anthropic":
        started = {"type": "tool_use", "id": call[0], "name": call[1], "input": {}}
        pieces = [call[2][at : at + 3] for at in range(0, len(call[2]), 3)]
        told: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**whole, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": started},
            *(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in pieces
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_stop"},
        ]
        return [named_frame(one) for one in told]
    base = {"id": "c1", "object": "chat.completion.chunk"}
    first = {"index": 0, "id": call[0], "type": "function", "function": {"name": call[1], "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": call[2][at : at + 3]}} for at in range(0, len(call[2]), 3)]
    deltas = [{"tool_calls": [part]} for part in (first, *rest)]
    told = [{**base, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told), b"data: [DONE]\n\n"]


def handle_in(received: Received) -> str:
    """The handle that stands in the shortened text, as a model would find it."""
    import re

    found = re.search(r"\b(\d+\.\d+)\b", received.body.decode().replace("\\n", " "))
    assert found is not None
    return found[1]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_a_shortened_result_is_read_back(upstream: ScriptedUpstream, wire: str, stream: bool) -> None:
    def asking(received: Received, talk: Talk) -> None:
        arguments = json.dumps({"handle": handle_in(received), "first_line": 1234, "last_line": 1234})
        call = ("call_x", "sash_expand", arguments)
        if stream:
            talk.stream_head()
            talk.chunk(b"".join(streamed_call(wire, call)))
            talk.stream_end()
        else:
            talk.answer(200, json.dumps(completion(wire, "", calls=(call,))).encode())

    upstream.then(asking)
    with served(setup_for(upstream, policy=POLICY, expand=True)) as proxy:
        response = proxy.post(ROUTES[wire], body_of(wire, stream=stream))
    assert response.status_code == 200
    assert len(upstream.requests) == 2
    assert "  1234 ..." not in upstream.requests[0].body.decode()
    assert "  1234 ..." in upstream.last.body.decode()
    assert "sash_expand" not in response.text
    count = len(upstream.last.messages)
    if stream:
        assert response.content == b"".join(events(wire, f"answer {count}", read=len(upstream.last.body) // 4))
    else:
        assert f"answer {count}" in response.text


def test_other_calls_beside_it_are_asked_for_again(upstream: ScriptedUpstream) -> None:
    def asking(received: Received, talk: Talk) -> None:
        calls = (("a", "sash_expand", json.dumps({"handle": handle_in(received), "grep": "1234"})), ("b", "read", "{}"))
        talk.answer(200, json.dumps(completion("openai-chat", "Let me see.", calls=calls)).encode())

    upstream.then(asking)
    with served(setup_for(upstream, policy=POLICY, expand=True)) as proxy:
        proxy.post(ROUTES["openai-chat"], body_of("openai-chat", stream=False))
    assert "Not run" in upstream.last.messages[-1]["content"]
    assert "1234" in upstream.last.messages[-2]["content"]


def test_a_model_that_never_stops_reading_is_stopped(upstream: ScriptedUpstream) -> None:
    def asking(_: Received, talk: Talk) -> None:
        call = (f"call_{len(upstream.requests)}", "sash_expand", '{"handle": "99.9"}')
        talk.answer(200, json.dumps(completion("openai-chat", "", calls=(call,))).encode())

    upstream.default = asking
    with served(setup_for(upstream, policy=POLICY, expand=True)) as proxy:
        response = proxy.post(ROUTES["openai-chat"], body_of("openai-chat", stream=False))
    assert response.status_code == 200
    assert len(upstream.requests) == 7
    assert "no block has the handle" in upstream.last.body.decode()


def test_without_being_asked_for_no_tool_is_offered(upstream: ScriptedUpstream) -> None:
    with served(setup_for(upstream, policy=POLICY)) as proxy:
        proxy.post(ROUTES["openai-chat"], body_of("openai-chat", stream=False))
    assert b"sash_expand" not in upstream.last.body
