"""What upstreams and clients do wrong, and what must hold all the same (FAULTS P)."""

from __future__ import annotations

import gzip
import json
import socket
import time
from typing import Any

import httpx2
import openai
import pytest

from sash import Policy
from sash.server.proxy import ProxySetup, Upstreams
from sash.store import open_store
from sash.thread import open_thread
from tests.proxy.running import Served, served, setup_for
from tests.proxy.upstream import (
    Received,
    Script,
    ScriptedUpstream,
    Talk,
    completion,
    events,
    named_frame,
    saying,
    streaming,
)
from tests.proxy.validator import faults

ROUTES = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}
WIRES = list(ROUTES)


def body_for(wire: str, *, stream: bool = False) -> bytes:
    said = [{"role": "user", "content": "Hello"}]
    sent: dict[str, Any] = {"model": "m", "stream": stream}
    sent |= {"input": said} if wire == "openai-responses" else {"messages": said}
    return json.dumps(sent | ({"max_tokens": 50} if wire == "anthropic" else {})).encode()


def ask(proxy: Served, wire: str, *, stream: bool = False, **headers: str) -> httpx2.Response:
    return proxy.post(ROUTES[wire], body_for(wire, stream=stream), authorization="Bearer sk-canary-77", **headers)


def is_told_as(wire: str, response: httpx2.Response) -> bool:
    told = response.json()
    error = told["error"]
    if wire == "anthropic":
        return told["type"] == "error" and set(error) == {"type", "message"}
    return set(error) == {"message", "type", "param", "code"}


def resetting(_: Received, talk: Talk) -> None:
    talk.reset()


def refusing(status: int, **headers: str) -> Script:
    return saying(b'{"error":{"message":"not now"}}', status, **headers)


# P1, P2: passing troubles


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_a_passing_trouble_is_tried_again(proxy: Served, upstream: ScriptedUpstream, status: int) -> None:
    upstream.then(refusing(status, retry_after_ms="5"), refusing(status, retry_after="0"))
    assert ask(proxy, "anthropic").json()["content"][0]["text"] == "answer 1"
    assert len(upstream.requests) == 3


def test_a_trouble_that_stays_is_passed_on_word_for_word(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.then(*[refusing(529, retry_after_ms="5", x_mine="7")] * 3)
    response = ask(proxy, "anthropic")
    assert response.status_code == 529
    assert response.content == b'{"error":{"message":"not now"}}'
    assert response.headers["retry-after-ms"] == "5"
    assert response.headers["x-mine"] == "7"
    assert response.headers["x-sash-frame"] == "0"
    assert len(upstream.requests) == 3


@pytest.mark.parametrize("patience", [{"retry_after": "86400"}, {"x_should_retry": "false"}])
def test_what_asks_for_too_much_patience_is_passed_on_at_once(
    proxy: Served, upstream: ScriptedUpstream, patience: dict[str, str]
) -> None:
    upstream.then(refusing(429, **patience))
    assert ask(proxy, "openai-chat").status_code == 429
    assert len(upstream.requests) == 1


def test_a_connection_that_breaks_before_an_answer_is_tried_again(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.then(resetting, resetting)
    assert ask(proxy, "openai-chat").status_code == 200
    assert len(upstream.requests) == 3


@pytest.mark.parametrize("wire", WIRES)
def test_an_upstream_that_always_breaks_off_is_named(proxy: Served, upstream: ScriptedUpstream, wire: str) -> None:
    upstream.default = resetting
    response = ask(proxy, wire)
    assert response.status_code == 502
    assert is_told_as(wire, response)
    assert f"127.0.0.1:{upstream.port}" in response.text
    assert len(upstream.requests) == 3


# P3: it breaks in the middle of an answer


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_breaks_off_ends_with_an_error_that_its_client_understands(
    proxy: Served, upstream: ScriptedUpstream, wire: str
) -> None:
    frames = events(wire, "one two three")

    def breaking(_: Received, talk: Talk) -> None:
        talk.stream_head()
        for frame in frames[:4]:
            talk.chunk(frame)
        talk.chunk(frames[4][:11])
        time.sleep(0.05)
        talk.reset()

    upstream.then(breaking)
    response = ask(proxy, wire, stream=True)
    assert response.status_code == 200
    whole, _, last = response.content.removesuffix(b"\n\n").rpartition(b"\n\n")
    assert whole + b"\n\n" == b"".join(frames[:4])
    data = json.loads(last.rpartition(b"data: ")[2])
    assert "broke off" in data["error"]["message"]
    assert last.startswith(b"data:" if wire == "openai-chat" else b"event: error")
    assert len(upstream.requests) == 1


def closing(*parts: bytes) -> Script:
    """A stream of which only the closed connection tells the end."""

    def answer(_: Received, talk: Talk) -> None:
        talk.head(200, {"content-type": "text/event-stream", "connection": "close"})
        for part in parts:
            talk.send(part)
        talk.connection.shutdown(socket.SHUT_RDWR)

    return answer


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("cut", [9, -5])
def test_a_stream_that_just_ends_inside_a_frame_ends_with_an_error(
    proxy: Served, upstream: ScriptedUpstream, wire: str, cut: int
) -> None:
    frames = events(wire, "one two three")
    upstream.then(closing(*frames[:4], frames[4][:cut]))
    response = ask(proxy, wire, stream=True)
    assert response.status_code == 200
    whole, _, last = response.content.removesuffix(b"\n\n").rpartition(b"\n\n")
    assert whole + b"\n\n" == b"".join(frames[:4])
    assert "broke off" in json.loads(last.rpartition(b"data: ")[2])["error"]["message"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_stream_that_just_ends_behind_a_whole_frame_passes_as_it_is(
    proxy: Served, upstream: ScriptedUpstream, wire: str, missing: int
) -> None:
    told = b"".join(events(wire, "one two three"))
    upstream.then(closing(told[: len(told) - missing]))
    assert ask(proxy, wire, stream=True).content == told[: len(told) - missing]


def test_the_sdk_raises_when_a_stream_broke_off(proxy: Served, upstream: ScriptedUpstream) -> None:
    frames = events("openai-chat", "one two three")

    def truncated(_: Received, talk: Talk) -> None:
        talk.stream_head()
        talk.chunk(frames[0] + frames[1])
        talk.send(b"ff\r\nonly a part of the chunk")
        talk.connection.close()

    upstream.then(truncated)
    client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
    stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "a"}], stream=True)
    with pytest.raises(openai.APIError, match="broke off"):
        list(stream)


def test_an_error_in_a_stream_is_passed_on_as_it_is(proxy: Served, upstream: ScriptedUpstream) -> None:
    overloaded = named_frame({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    frames = [*events("anthropic", "one")[:3], overloaded]
    upstream.then(streaming(*frames))
    assert ask(proxy, "anthropic", stream=True).content == b"".join(frames)


def test_an_answer_that_breaks_off_is_no_success(proxy: Served, upstream: ScriptedUpstream) -> None:
    def short(_: Received, talk: Talk) -> None:
        talk.head(200, {"content-type": "application/json", "content-length": "1000"})
        talk.send(b'{"id": "c1"')
        talk.connection.close()

    upstream.then(short)
    assert ask(proxy, "openai-chat").status_code == 502


# P4: the client leaves


def leave_after(proxy: Served, wire: str, wanted: bytes) -> None:
    """Ask for a stream on a bare socket, and hang up when the wanted bytes have come."""
    body = body_for(wire, stream=True)
    head = f"POST {ROUTES[wire]} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.sendall(head.encode() + body)
        client.settimeout(5)
        seen = b""
        while wanted not in seen:
            seen += client.recv(4096)
        if not wanted:
            time.sleep(0.1)


@pytest.mark.parametrize("wanted", [b"", b"data:"], ids=["before the first word", "in the middle"])
def test_when_the_client_leaves_the_upstream_is_let_go_within_a_second(
    proxy: Served, upstream: ScriptedUpstream, wanted: bytes
) -> None:
    waited: list[float | None] = []

    def endless(_: Received, talk: Talk) -> None:
        if wanted:
            talk.stream_head()
            talk.chunk(events("openai-chat", "one")[0])
        waited.append(talk.wait_until_gone(5))

    upstream.then(endless)
    leave_after(proxy, "openai-chat", wanted)
    assert upstream.gone.wait(3)
    assert waited[0] is not None
    assert waited[0] < 1.5
    deadline = time.monotonic() + 5
    while not proxy.passed:
        assert time.monotonic() < deadline
        time.sleep(0.01)


# P5: the upstream stalls


@pytest.mark.parametrize("wire", WIRES)
def test_a_client_that_waits_hears_a_sign_of_life(upstream: ScriptedUpstream, wire: str) -> None:
    frames = events(wire, "one two")

    def slow(_: Received, talk: Talk) -> None:
        time.sleep(0.35)
        talk.stream_head()
        talk.chunk(b"".join(frames[:3]) + frames[3][:7])
        time.sleep(0.35)
        talk.chunk(frames[3][7:])
        time.sleep(0.35)
        talk.chunk(b"".join(frames[4:]))
        talk.stream_end()

    upstream.then(slow)
    with served(setup_for(upstream, keepalive_seconds=0.1)) as proxy:
        response = ask(proxy, wire, stream=True)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-sash-frame"] == "0"
    assert response.content.count(b": keep-alive\n\n") >= 3
    assert response.content.replace(b": keep-alive\n\n", b"") == b"".join(frames)


def test_an_error_after_a_sign_of_life_is_the_stream_s_last_word(upstream: ScriptedUpstream) -> None:
    def late(received: Received, talk: Talk) -> None:
        time.sleep(0.3)
        refusing(400)(received, talk)

    upstream.then(late)
    with served(setup_for(upstream, keepalive_seconds=0.1)) as proxy:
        response = ask(proxy, "openai-chat", stream=True)
    assert response.status_code == 200
    assert "not now" in json.loads(response.content.rpartition(b"data: ")[2])["error"]["message"]


def test_an_upstream_that_says_nothing_is_given_up(upstream: ScriptedUpstream) -> None:
    def silent(_: Received, talk: Talk) -> None:
        talk.wait_until_gone(5)

    upstream.default = silent
    with served(setup_for(upstream, idle_seconds=0.3)) as proxy:
        response = ask(proxy, "anthropic")
    assert response.status_code == 504
    assert is_told_as("anthropic", response)
    assert len(upstream.requests) == 1


# P6, P7: streams in any shape

ODD_STREAMS = {
    "crlf": b"".join(events("openai-chat", "é 😀")).replace(b"\n", b"\r\n"),
    "no space": b"".join(events("openai-chat", "one")).replace(b"data: ", b"data:"),
    "comments": b": hello\n\n" + b"".join(events("openai-chat", "one")),
    "no last newline": b"".join(events("openai-chat", "one")).rstrip(b"\n"),
    "anthropic": b"".join(events("anthropic", "é 😀")),
}


@pytest.mark.parametrize("name", ODD_STREAMS)
def test_a_stream_comes_out_as_it_went_in(proxy: Served, upstream: ScriptedUpstream, name: str) -> None:
    stream = ODD_STREAMS[name]
    wire = "anthropic" if name == "anthropic" else "openai-chat"
    upstream.then(streaming(stream), streaming(*(stream[at : at + 1] for at in range(len(stream)))))
    assert ask(proxy, wire, stream=True).content == stream
    assert ask(proxy, wire, stream=True).content == stream


@pytest.mark.soak
@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_cut_in_two_at_every_byte_comes_out_as_it_went_in(
    proxy: Served, upstream: ScriptedUpstream, wire: str
) -> None:
    stream = b"".join(events(wire, "é 😀"))
    with httpx2.Client(timeout=30) as client:
        for place in range(1, len(stream)):
            upstream.then(streaming(stream[:place], stream[place:]))
            told = client.post(proxy.url + ROUTES[wire], content=body_for(wire, stream=True))
            assert told.content == stream


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_breaks_off_at_any_byte_shows_whole_frames_and_an_error(
    proxy: Served, upstream: ScriptedUpstream, wire: str
) -> None:
    frames = events(wire, "é 😀")
    stream = b"".join(frames)
    with httpx2.Client(timeout=30) as client:
        for place in range(1, len(stream), 41):
            upstream.then(_breaking_after(stream[:place]))
            told = client.post(proxy.url + ROUTES[wire], content=body_for(wire, stream=True))
            if told.status_code != 200:
                # Nothing had gone to the client, so that its status could still say it.
                assert told.status_code == 502
                continue
            whole, _, last = told.content.removesuffix(b"\n\n").rpartition(b"\n\n")
            assert stream.startswith(whole + b"\n\n")
            assert "broke off" in json.loads(last.rpartition(b"data: ")[2])["error"]["message"]


def _breaking_after(part: bytes) -> Script:
    def answer(_: Received, talk: Talk) -> None:
        talk.stream_head()
        talk.chunk(part)
        talk.connection.close()

    return answer


def test_an_event_of_ten_megabytes_passes(proxy: Served, upstream: ScriptedUpstream) -> None:
    giant = b"data: " + json.dumps({"choices": [], "x": "y" * 10_000_000}).encode() + b"\n\n"
    frames = events("openai-chat", "one")
    parts = [giant[at : at + 65_536] for at in range(0, len(giant), 65_536)]
    upstream.then(streaming(frames[0], *parts, *frames[1:]))
    assert ask(proxy, "openai-chat", stream=True).content == frames[0] + giant + b"".join(frames[1:])


# P10: no answer of a model


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"<html>Welcome to nginx</html>", {"content_type": "text/html"}),
        (b"", {}),
        (b"   ", {}),
        (b'"ok"', {}),
        (b'{"id": 1}', {"content_type": "text/plain"}),
        (b"{}", {"content_encoding": "br"}),
    ],
)
def test_what_is_no_answer_is_never_an_empty_success(
    proxy: Served, upstream: ScriptedUpstream, wire: str, body: bytes, headers: dict[str, str]
) -> None:
    upstream.then(saying(body, 200, **headers))
    response = ask(proxy, wire)
    assert response.status_code == 502
    assert is_told_as(wire, response)


def test_an_empty_stream_is_no_success(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.then(streaming(), saying(b'{"id":"c1"}'))
    assert ask(proxy, "openai-chat", stream=True).status_code == 502
    assert ask(proxy, "openai-chat", stream=True).status_code == 502


def test_an_answer_that_was_compressed_unasked_is_read_all_the_same(proxy: Served, upstream: ScriptedUpstream) -> None:
    told = json.dumps(completion("openai-chat", "packed")).encode()
    upstream.then(saying(gzip.compress(told), content_encoding="gzip"), saying(b"\x1f\x8bno", content_encoding="gzip"))
    response = ask(proxy, "openai-chat")
    assert response.content == told
    assert "content-encoding" not in response.headers
    assert upstream.last.header("accept-encoding") == "identity"
    assert ask(proxy, "openai-chat").status_code == 502


# P11: not to be reached


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "https://127.0.0.1:{port}", "http://no-such-host.invalid"])
def test_an_upstream_that_cannot_be_reached_is_named_without_the_key(
    upstream: ScriptedUpstream, wire: str, address: str
) -> None:
    url = address.format(port=upstream.port)
    setup = ProxySetup(upstreams=Upstreams(openai=url, anthropic=url), retries=0, connect_seconds=2)
    with served(setup) as proxy:
        response = ask(proxy, wire)
    assert response.status_code in (502, 504)
    assert is_told_as(wire, response)
    assert url in response.text
    assert "sk-canary-77" not in response.text + str(response.headers)
    upstream.faults.clear()


# P12: calls at the same time, and arguments that are no JSON


def interleaved(wire: str) -> list[bytes]:
    """A stream of two calls at once, told in turns; the second breaks off in the middle of its arguments."""
    first, second = '{"path": "a.txt"}', '{"path": "b'
    if wire == "openai-chat":
        deltas: list[dict[str, Any]] = []
        for place, name in ((0, "read"), (1, "read")):
            call = {"index": place, "id": f"call_{place}", "type": "function"}
            deltas.append({"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]})
        for at in range(0, len(first), 5):
            for place, text in ((0, first), (1, second)):
                part = {"index": place, "function": {"arguments": text[at : at + 5]}}
                deltas.append({"tool_calls": [part]})
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        told = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        told.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told), b"data: [DONE]\n\n"]
    whole = completion("anthropic", "")
    named: list[dict[str, Any]] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for place in (0, 1):
        block = {"type": "tool_use", "id": f"call_{place}", "name": "read", "input": {}}
        named.append({"type": "content_block_start", "index": place, "content_block": block})
    for at in range(0, len(first), 5):
        for place, text in ((0, first), (1, second)):
            delta = {"type": "input_json_delta", "partial_json": text[at : at + 5]}
            named.append({"type": "content_block_delta", "index": place, "delta": delta})
    named += [{"type": "content_block_stop", "index": place} for place in (0, 1)]
    named += [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    return [named_frame(one) for one in named]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_calls_told_in_turns_pass_as_they_are(proxy: Served, upstream: ScriptedUpstream, wire: str) -> None:
    frames = interleaved(wire)
    upstream.then(streaming(*frames))
    assert ask(proxy, wire, stream=True).content == b"".join(frames)


def test_arguments_that_are_no_json_are_kept_as_they_were_and_sent_so_that_they_are_valid(
    upstream: ScriptedUpstream,
) -> None:
    store = open_store("memory:")
    arguments = ['{"path": "a.txt"}', '{"path": "b']
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": "read", "arguments": text}}
        for place, text in enumerate(arguments)
    ]
    said: list[Any] = [{"role": "user", "content": "Read both."}, {"role": "assistant", "tool_calls": calls}]
    said += [{"role": "tool", "tool_call_id": f"call_{place}", "content": "a line\n" * 400} for place in (0, 1)]
    said += [{"role": "user", "content": f"And {n}?"} for n in range(3)]
    body = json.dumps({"model": "m", "messages": said}).encode()
    policy = Policy(window=3_000, history_tokens=900)
    with served(setup_for(upstream, keep=True, policy=policy), store=store) as proxy:
        answer = proxy.post(ROUTES["openai-chat"], body, x_sash_thread="t")
        assert answer.status_code == 200
        assert len(upstream.last.body) < len(body)
        # What the client said is not for us to change, and OpenAI takes it; all else is valid, shortened as it is here.
        assert upstream.faults == ["the arguments of call_1 are no JSON"]
        upstream.faults.clear()
        thread = open_thread(answer.headers["x-sash-thread"], store=store, policy=Policy())
    [asked] = [event for event in thread.events() if event.role == "assistant"]
    assert json.loads(asked.body)["tool_calls"] == calls
    there = thread.request(wire="anthropic")["messages"]
    uses = [block for one in there if one["role"] == "assistant" for block in one["content"] if "input" in block]
    assert [use["input"] for use in uses] == [{"path": "a.txt"}, {"INVALID_JSON": arguments[1]}]
    assert faults("anthropic", json.dumps({"model": "m", "max_tokens": 5, "messages": there}).encode()) == []


# P13: headers of one hop


def test_headers_come_once(proxy: Served, upstream: ScriptedUpstream) -> None:
    told = json.dumps(completion("openai-chat", "x")).encode()
    upstream.then(saying(told, server="upstream", date="Mon, 1 Jan 2024 00:00:00 GMT", x_sash_frame="99"))
    response = ask(proxy, "openai-chat")
    names = [name for name, _ in response.headers.raw]
    assert len({name.lower() for name in names}) == len(names)
    assert response.headers["x-sash-frame"] == "0"


# X2: redirects


@pytest.mark.parametrize(
    "place", ["http://169.254.169.254/latest", "file:///etc/passwd", "//evil.example/v1", "http://127.0.0.1:1/"]
)
def test_a_redirect_to_another_host_is_not_followed(proxy: Served, upstream: ScriptedUpstream, place: str) -> None:
    upstream.then(saying(b"", 307, location=place))
    response = ask(proxy, "openai-chat")
    assert response.status_code == 502
    assert "location" not in response.headers
    assert len(upstream.requests) == 1


def test_a_redirect_on_the_same_host_is_followed(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.then(saying(b"", 307, location="/v1/chat/completions?moved=1"))
    assert ask(proxy, "openai-chat").status_code == 200
    assert upstream.last.target == "/v1/chat/completions?moved=1"
    upstream.default = saying(b"", 307, location="/v1/chat/completions")
    assert ask(proxy, "openai-chat").status_code == 502
