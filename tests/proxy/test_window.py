"""What the proxy does to a request, and what it leaves alone."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from typing import Any

import pytest

from sash import Policy
from tests.builders import Call, Script
from tests.proxy.running import Served, served, setup_for
from tests.proxy.test_faults import ROUTES, WIRES, is_told_as
from tests.proxy.upstream import (
    Received,
    ScriptedUpstream,
    Talk,
    completion,
    events,
    limited,
    named_frame,
    saying,
    streaming,
)
from tests.proxy.validator import faults

SMALL = Policy(window=3_000, history_tokens=1_200)


def body_of(wire: str, said: list[Any], **more: Any) -> bytes:
    """As a client would write it that has spaces and an order of its own."""
    field = "input" if wire == "openai-responses" else "messages"
    sent = {"model": "some-model", field: said} | ({"max_tokens": 100} if wire == "anthropic" else {}) | more
    return json.dumps(sent, ensure_ascii=False, indent=1).encode()


def talk_of(wire: str, turns: int) -> list[Any]:
    script = Script(wire)
    for number in range(turns):
        script.user(f"Question {number}: where is file {number}? " + "Look well. " * 10)
        script.step(f"call_{number}", f"line of file {number}\n" * 12)
        script.assistant(f"It is at {number}. " + "I have looked well. " * 8)
    return script.user("And now?").said


@pytest.mark.parametrize("wire", WIRES)
def test_where_nothing_has_to_change_the_bytes_go_on_as_they_came(
    proxy: Served, upstream: ScriptedUpstream, wire: str
) -> None:
    sent = body_of(wire, talk_of(wire, 3), unknown={"a": [1.50, "é"]}, temperature=0.10)
    response = proxy.post(ROUTES[wire], sent, anthropic_beta="x,y", anthropic_version="2023-06-01")
    assert response.status_code == 200
    assert upstream.last.body == sent
    assert upstream.last.header("anthropic-beta") == "x,y"
    assert response.headers["x-sash-frame"] == "0"
    assert "x-sash-repairs" not in response.headers


@pytest.mark.parametrize("wire", WIRES)
def test_as_the_history_grows_the_prefix_stays_until_the_window_slides(upstream: ScriptedUpstream, wire: str) -> None:
    told = json.dumps(completion(wire, "ok") | {"usage": None}).encode()
    upstream.default = lambda _, talk: talk.answer(200, told)
    said = talk_of(wire, 30)
    frames: list[str] = []
    before: list[Any] | None = None
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        for end in range(1, len(said) + 1):
            if said[end - 1].get("role") == "assistant" or said[end - 1].get("type") == "function_call":
                continue
            response = proxy.post(ROUTES[wire], body_of(wire, said[:end]))
            assert response.status_code == 200, response.text
            frame, sent = response.headers["x-sash-frame"], upstream.last.messages
            if frames and frame == frames[-1]:
                assert before is not None
                assert sent[: len(before)] == before
            frames.append(frame)
            before = sent
            assert int(response.headers["x-sash-tokens"].lstrip("~")) <= 3_000
    assert 2 <= len(set(frames)) <= len(frames) // 4
    assert upstream.faults == []


@pytest.mark.parametrize("wire", WIRES)
def test_other_fields_survive_when_messages_leave(upstream: ScriptedUpstream, wire: str) -> None:
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        proxy.post(ROUTES[wire], body_of(wire, talk_of(wire, 40), unknown={"a": [1.50]}, temperature=0.1))
    sent = upstream.last.json
    assert sent["unknown"] == {"a": [1.5]}
    assert sent["temperature"] == 0.1
    assert upstream.last.messages[-1] == talk_of(wire, 40)[-1]


def test_a_bypass_leaves_the_request_alone(upstream: ScriptedUpstream) -> None:
    broken = b'{"model": "m", "messages": "not even a list"}'
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        response = proxy.post("/v1/chat/completions", broken, x_sash_bypass="true")
    assert upstream.last.body == broken
    assert response.headers["x-sash-frame"] == "bypass"
    assert upstream.last.header("x-sash-bypass") == ""
    upstream.faults.clear()
    with served(setup_for(upstream, bypass=True)) as proxy:
        proxy.post("/v1/chat/completions", broken)
    assert upstream.last.body == broken
    upstream.faults.clear()


@pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
def test_what_the_provider_keeps_is_passed_on(proxy: Served, upstream: ScriptedUpstream, field: str) -> None:
    sent = json.dumps(
        {"model": "m", "input": [{"type": "function_call_output", "call_id": "a", "output": ""}], field: "r1"}
    )
    response = proxy.post("/v1/responses", sent.encode())
    assert response.headers["x-sash-frame"] == "upstream"
    assert upstream.last.body == sent.encode()
    upstream.faults.clear()


@pytest.mark.parametrize("expand", [False, True])
def test_what_is_another_wires_is_passed_on(upstream: ScriptedUpstream, expand: bool) -> None:
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    answered = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}
    sent = json.dumps({"model": "m", "messages": [{"role": "user", "content": "go"}, called, answered]}).encode()
    with served(setup_for(upstream, expand=expand)) as proxy:
        response = proxy.post("/v1/chat/completions", sent)
    assert response.headers["x-sash-frame"] == "passed"
    assert upstream.last.body == sent
    upstream.faults.clear()


@pytest.mark.parametrize("said", [{}, {"input": None}])
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/input_tokens"])
def test_a_prompt_that_the_provider_keeps_needs_no_input(
    proxy: Served, upstream: ScriptedUpstream, path: str, said: dict[str, None]
) -> None:
    upstream.then(saying(b'{"object": "whatever"}'))
    sent = json.dumps({"model": "gpt-5", "prompt": {"id": "pmpt_1"}, **said}).encode()
    response = proxy.post(path, sent)
    assert (response.status_code, response.headers["x-sash-frame"]) == (200, "upstream")
    assert upstream.last.body == sent
    upstream.faults.clear()


@pytest.mark.parametrize("wire", WIRES)
def test_histories_that_would_be_refused_are_repaired_and_that_is_said(
    proxy: Served, upstream: ScriptedUpstream, wire: str
) -> None:
    script = Script(wire).user("Look.").assistant("", Call("a"), Call("b")).results(("a", "found"))
    script.user("Never mind.").results(("zz", "an orphan")).assistant("", Call("a")).results(("a", "again")).user("So?")
    sent = body_of(wire, script.said)
    assert faults(wire, sent)
    response = proxy.post(ROUTES[wire], sent)
    assert response.status_code == 200
    assert upstream.faults == []
    assert "missing-result" in response.headers["x-sash-repairs"]
    assert "renamed-id" in response.headers["x-sash-repairs"]


# overflow

OVERFLOWS = {
    "with numbers": "prompt is too long: {tokens} tokens > {limit} maximum",
    "with the limit": "This model's maximum context length is {limit} tokens.",
    "without numbers": "input is too long",
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("wording", "status"), [*((wording, 400) for wording in OVERFLOWS), ("with numbers", 413)])
def test_an_overflow_is_answered_with_a_smaller_request_once(
    upstream: ScriptedUpstream, wire: str, status: int, wording: str
) -> None:
    upstream.default = limited(1_200, OVERFLOWS[wording], status)
    said = talk_of(wire, 40)
    with served(setup_for(upstream, policy=Policy(history_tokens=2_500))) as proxy:
        response = proxy.post(ROUTES[wire], body_of(wire, said))
        assert response.status_code == 200, response.text
        assert len(upstream.requests) == 2
        assert len(upstream.last.body) < len(upstream.requests[0].body)
        # What was learned holds for the next request, which is right at once.
        again = proxy.post(ROUTES[wire], body_of(wire, said))
        assert again.status_code == 200
        assert len(upstream.requests) == 3
        assert upstream.last.body == upstream.requests[1].body
        # And for nobody else's.
        proxy.post(ROUTES[wire], body_of(wire, said), authorization="Bearer somebody-else")
        assert upstream.requests[3].body == upstream.requests[0].body
    assert [passed.retried for passed in proxy.told(3)][:2] == [True, False]


OVERFLOWED_STREAMS = {
    "openai-chat": [b'data: {"error":{"message":"maximum context length is 2000 tokens","code":400}}\n\n'],
    "anthropic": [
        named_frame({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}})
    ],
    "openai-responses": [
        *events("openai-responses", "x")[:2],
        named_frame(
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "context_length_exceeded", "message": "too long"}},
            }
        ),
    ],
}


@pytest.mark.parametrize("wire", WIRES)
def test_an_overflow_that_comes_as_a_stream_is_answered_too(upstream: ScriptedUpstream, wire: str) -> None:
    upstream.then(streaming(*OVERFLOWED_STREAMS[wire]))
    with served(setup_for(upstream, policy=Policy(history_tokens=2_500))) as proxy:
        response = proxy.post(ROUTES[wire], body_of(wire, talk_of(wire, 12), stream=True))
    assert len(upstream.requests) == 2
    count = len(upstream.last.messages)
    assert response.content == b"".join(events(wire, f"answer {count}", read=len(upstream.last.body) // 4))


def test_an_overflow_after_the_first_word_is_passed_on(proxy: Served, upstream: ScriptedUpstream) -> None:
    frames = [*events("openai-chat", "one two")[:3], *OVERFLOWED_STREAMS["openai-chat"]]
    upstream.then(streaming(*frames))
    sent = body_of("openai-chat", talk_of("openai-chat", 12), stream=True)
    assert proxy.post("/v1/chat/completions", sent).content == b"".join(frames)
    assert len(upstream.requests) == 1


def test_a_second_overflow_is_the_client_s(upstream: ScriptedUpstream) -> None:
    upstream.default = limited(10)
    with served(setup_for(upstream, policy=Policy(history_tokens=2_500))) as proxy:
        response = proxy.post("/v1/messages", body_of("anthropic", talk_of("anthropic", 12)))
    assert response.status_code == 400
    assert "prompt is too long" in response.text
    assert len(upstream.requests) <= 2


@pytest.mark.parametrize("wire", WIRES)
def test_what_cannot_be_made_to_fit_is_told_as_the_provider_would(upstream: ScriptedUpstream, wire: str) -> None:
    said = Script(wire).user("word " * 20_000).said
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        response = proxy.post(ROUTES[wire], body_of(wire, said))
    assert response.status_code == 400
    assert is_told_as(wire, response)
    wanted = "prompt is too long: " if wire == "anthropic" else "maximum context length is 3000 tokens"
    assert wanted in response.text
    assert upstream.requests == []


# usage


def test_a_provider_that_counts_more_moves_the_estimate_in_steps(upstream: ScriptedUpstream) -> None:
    def counting(received: Received, talk: Talk) -> None:
        talk.answer(200, json.dumps(completion("openai-chat", "ok", read=counting_much(received.body))).encode())

    def counting_much(body: bytes) -> int:
        return len(body) // 2

    upstream.default = counting
    said = talk_of("openai-chat", 12)
    factors = []
    with served(setup_for(upstream)) as proxy:
        for _ in range(12):
            proxy.post("/v1/chat/completions", body_of("openai-chat", said))
            explained = proxy.post("/v1/sash/explain", body_of("openai-chat", said)).json()
            factors.append(explained["calibration"])
    steps = [round(later - earlier, 1) for earlier, later in pairwise(factors)]
    assert set(steps) <= {0.0, 0.1}
    assert factors[-1] >= 1.4
    assert factors[-1] == factors[-2]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("usage", [None, 0, -5, 10**12, "many"])
def test_usage_that_cannot_be_true_teaches_nothing(
    proxy: Served, upstream: ScriptedUpstream, wire: str, stream: bool, usage: Any
) -> None:
    """P9: missing, zero, negative or absurd; the estimate stands, and is marked as one."""
    name = "prompt_tokens" if wire == "openai-chat" else "input_tokens"
    said = {name: usage} if isinstance(usage, int) else usage
    told = json.dumps(completion(wire, "ok") | {"usage": said}).encode()
    frames = [_with_usage(frame, said) for frame in events(wire, "ok")]
    upstream.default = streaming(*frames) if stream else saying(told)
    sent = body_of(wire, talk_of(wire, 12), stream=stream)
    for _ in range(4):
        answer = proxy.post(ROUTES[wire], sent)
        assert answer.status_code == 200
        assert answer.content == (b"".join(frames) if stream else told)
        assert int(answer.headers["x-sash-tokens"].removeprefix("~")) > 0
    assert proxy.post("/v1/sash/explain", sent, x_sash_wire=wire).json()["calibration"] == 1.0


def _with_usage(frame: bytes, usage: Any) -> bytes:
    """The frame of a stream, with other usage wherever it tells of any."""
    if b'"usage"' not in frame:
        return frame
    head, _, data = frame.partition(b"data: ")
    told = json.loads(data)
    for holder in (told, told.get("message"), told.get("response")):
        if isinstance(holder, dict) and "usage" in holder:
            holder["usage"] = usage
    return head + b"data: " + json.dumps(told).encode() + b"\n\n"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
def test_usage_is_picked_up_in_passing(proxy: Served, upstream: ScriptedUpstream, wire: str, stream: bool) -> None:
    proxy.post(ROUTES[wire], body_of(wire, talk_of(wire, 2), stream=stream))
    passed = proxy.told()[0]
    assert passed.usage.context == len(upstream.last.body) // 4
    assert passed.usage.output == 3
    assert passed.status == 200


# explain, and the other paths


@pytest.mark.parametrize("wire", WIRES)
def test_explain_says_what_would_be_done_and_sends_nothing(upstream: ScriptedUpstream, wire: str) -> None:
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        told = proxy.post("/v1/sash/explain", body_of(wire, talk_of(wire, 40)), x_sash_wire=wire).json()
        alike = proxy.post("/v1/sash/explain", body_of(wire, talk_of(wire, 1)), x_sash_wire=wire).json()
    assert told["wire"] == wire
    assert told["changed"]
    assert not alike["changed"]
    assert told["window"] == 3_000
    assert {turn["state"] for turn in told["explanation"]["turns"]} == {"evicted", "live"}
    assert upstream.requests == []


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_explained_is_what_is_sent_our_tool_included(upstream: ScriptedUpstream, wire: str) -> None:
    body = body_of(wire, talk_of(wire, 40))
    with served(setup_for(upstream, policy=SMALL, expand=True)) as proxy:
        told = proxy.post("/v1/sash/explain", body, x_sash_wire=wire).json()
        headers = proxy.post(ROUTES[wire], body).headers
        alike = proxy.post("/v1/sash/explain", body_of(wire, talk_of(wire, 1)), x_sash_wire=wire).json()
    assert headers["x-sash-tokens"].lstrip("~") == str(told["tokens"]["value"])
    assert headers["x-sash-frame"] == told["frame"]
    assert alike["changed"], "our tool goes out beside what came in"


@pytest.mark.parametrize("word", ["true", "1", "YES"])
def test_what_is_to_be_left_alone_is_explained_so(upstream: ScriptedUpstream, word: str) -> None:
    body = body_of("openai-chat", talk_of("openai-chat", 40))
    with served(setup_for(upstream, policy=SMALL)) as proxy:
        told = proxy.post("/v1/sash/explain", body, x_sash_bypass=word).json()
        sent = proxy.post(ROUTES["openai-chat"], body, x_sash_bypass=word)
    assert (told["frame"], told["changed"]) == ("bypass", False)
    assert sent.headers["x-sash-frame"] == "bypass"
    assert upstream.last.body == body


def test_explain_sees_the_wire_in_the_body(proxy: Served) -> None:
    said = [{"role": "user", "content": "a"}]
    for body, wire in (
        ({"model": "gpt-5", "messages": said}, "openai-chat"),
        ({"model": "gpt-5", "input": said}, "openai-responses"),
        ({"model": "claude-opus-5", "messages": said, "max_tokens": 5}, "anthropic"),
        ({"model": "x", "messages": said, "system": "s"}, "anthropic"),
    ):
        assert proxy.post("/v1/sash/explain", json.dumps(body).encode()).json()["wire"] == wire
    assert proxy.post("/v1/sash/explain", b"{}", x_sash_wire="none").status_code == 400
    assert proxy.post("/v1/sash/explain", b'{"input":"a","conversation":"c"}').json()["frame"] == "upstream"


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/v1/models?limit=5", {}),
        ("GET", "/v1/models", {"anthropic-version": "2023-06-01"}),
        ("POST", "/v1/embeddings", {}),
        ("DELETE", "/v1/responses/resp_1", {}),
        ("POST", "/v1/messages/batches", {"x-api-key": "k"}),
        ("PATCH", "/v1/files/a%2Fb", {}),
    ],
)
def test_other_paths_pass_untouched(
    proxy: Served, upstream: ScriptedUpstream, method: str, path: str, headers: dict[str, str]
) -> None:
    import httpx2

    body = b'{"not": "looked at", "x": 1.0}' if method in ("POST", "PATCH") else None
    with httpx2.Client() as client:
        response = client.request(method, proxy.url + path, content=body, headers=headers)
    assert response.status_code == 200
    assert response.headers["x-sash-frame"] == "passed"
    assert upstream.last.method == method
    assert upstream.last.target == path
    assert upstream.last.body == (body or b"")


def test_a_large_upload_passes_without_being_held(proxy: Served, upstream: ScriptedUpstream) -> None:
    import httpx2

    parts = [bytes([number]) * 100_000 for number in range(30)]
    with httpx2.Client() as client:
        assert client.post(f"{proxy.url}/v1/files", content=iter(parts)).status_code == 200
    assert upstream.last.body == b"".join(parts)


@pytest.mark.parametrize("path", ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/x/%2E%2E/%2e%2e/secrets"])
def test_a_path_that_leads_out_of_the_api_is_refused(proxy: Served, upstream: ScriptedUpstream, path: str) -> None:
    import socket

    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        answer = client.recv(65536)
    assert answer.split(b" ")[1] in (b"400", b"404")
    assert upstream.requests == []


# bad input


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b'{"model": "m"}',
        b'{"role": "user", "content": "a body is more than a message"}',
        b'{"messages": 5, "input": 5}',
        b'{"messages": [{"role": "user", "content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
    ],
)
def test_what_is_no_request_is_refused_in_the_shape_of_its_route(
    proxy: Served, upstream: ScriptedUpstream, wire: str, body: bytes
) -> None:
    response = proxy.post(ROUTES[wire], body)
    assert response.status_code == 400
    assert is_told_as(wire, response)
    assert upstream.requests == []


def test_a_body_over_the_limit_is_refused(upstream: ScriptedUpstream) -> None:
    bomb = gzip.compress(b'{"model": "m", "messages": []}' + b" " * 3_000_000)
    with served(setup_for(upstream, body_bytes=100_000)) as proxy:
        assert proxy.post("/v1/chat/completions", b" " * 100_001).status_code == 413
        assert proxy.post("/v1/chat/completions", bomb, content_encoding="gzip").status_code == 413
    assert upstream.requests == []


def test_a_compressed_body_is_read(proxy: Served, upstream: ScriptedUpstream) -> None:
    import zlib

    import zstandard

    sent = body_of("openai-chat", talk_of("openai-chat", 2))
    packed = {"gzip": gzip.compress(sent), "deflate": zlib.compress(sent), "zstd": zstandard.compress(sent)}
    for encoding, body in packed.items():
        response = proxy.post("/v1/chat/completions", body, content_encoding=encoding)
        assert response.headers["x-sash-turns"] == "3/3"
        # Nothing had to change, so it goes on packed as it came.
        assert upstream.last.body == body
        assert upstream.last.header("content-encoding") == encoding
    assert proxy.post("/v1/chat/completions", sent, content_encoding="gzip").status_code == 400
    assert proxy.post("/v1/chat/completions", sent, content_encoding="snappy").status_code == 415
    upstream.faults.clear()
    small = setup_for(upstream, policy=SMALL)
    with served(small) as running:
        large = body_of("openai-chat", talk_of("openai-chat", 40))
        running.post("/v1/chat/completions", zstandard.compress(large), content_encoding="zstd")
    assert upstream.last.header("content-encoding") == ""
    assert upstream.faults == []


def test_a_lone_surrogate_is_never_sent(proxy: Served, upstream: ScriptedUpstream) -> None:
    response = proxy.post("/v1/chat/completions", b'{"model":"m","messages":[{"role":"user","content":"a \\ud83d b"}]}')
    assert response.status_code == 200
    assert "lone-surrogate" in response.headers["x-sash-repairs"]
    assert upstream.last.messages[0]["content"] == "a � b"
