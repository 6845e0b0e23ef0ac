"""A model reads back what was shortened, and the client never knows."""

from __future__ import annotations

import json
from typing import Any

import httpx2
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


def streamed_calls(wire: str, *calls: tuple[str, str, str]) -> list[bytes]:
    """An answer with calls, in the smallest pieces."""
    whole = completion(wire, "", calls=calls)
    told: list[dict[str, Any]] = []
    if wire == "openai-responses":
        offered = {**whole, "tools": [{"type": "function", "name": "sash_expand"}]}
        told.append({"type": "response.created", "response": {**offered, "output": []}})
        for place, item in enumerate(whole["output"]):
            told.append({"type": "response.output_item.added", "output_index": place, "item": item})
            told.append({"type": "response.output_item.done", "output_index": place, "item": item})
        return [named_frame(one) for one in (*told, {"type": "response.completed", "response": offered})]
    if wire == "anthropic":
        told.append({"type": "message_start", "message": {**whole, "content": []}})
        for place, call in enumerate(calls):
            block = {"type": "tool_use", "id": call[0], "name": call[1], "input": {}}
            told.append({"type": "content_block_start", "index": place, "content_block": block})
            for piece in pieces_of(call[2]):
                delta = {"type": "input_json_delta", "partial_json": piece}
                told.append({"type": "content_block_delta", "index": place, "delta": delta})
            told.append({"type": "content_block_stop", "index": place})
        told.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}})
        return [named_frame(one) for one in (*told, {"type": "message_stop"})]
    parts: list[dict[str, Any]] = []
    for place, call in enumerate(calls):
        function = {"name": call[1], "arguments": ""}
        parts.append({"index": place, "id": call[0], "type": "function", "function": function})
        parts += [{"index": place, "function": {"arguments": piece}} for piece in pieces_of(call[2])]
    base = {"id": "c1", "object": "chat.completion.chunk"}
    told = [{**base, "choices": [{"index": 0, "delta": {"tool_calls": [part]}}]} for part in parts]
    told.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told), b"data: [DONE]\n\n"]


def pieces_of(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(0, len(text), 3)]


def tool_of(wire: str, name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    if wire == "anthropic":
        return {"name": name, "input_schema": schema}
    about = {"name": name, "parameters": schema}
    return {"type": "function", **about} if wire == "openai-responses" else {"type": "function", "function": about}


def name_of(tool: dict[str, Any]) -> str:
    return str(tool.get("function", tool)["name"])


def told_in(response: httpx2.Response) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def calls_in(wire: str, response: httpx2.Response, *, stream: bool) -> list[tuple[str, str, Any]]:
    """The calls of an answer, read as a client reads them: each in its place, from nought on."""
    told = told_in(response) if stream else []
    if wire == "openai-responses":
        whole = told[-1]["response"] if stream else response.json()
        placed = [one["output_index"] for one in told if one["type"] == "response.output_item.added"]
        assert not stream or placed == list(range(len(whole["output"])))
        return [(item["call_id"], item["name"], json.loads(item["arguments"])) for item in whole["output"]]
    if wire == "anthropic":
        if not stream:
            return [(block["id"], block["name"], block["input"]) for block in response.json()["content"]]
        blocks = [one["content_block"] for one in told if one["type"] == "content_block_start"]
        written = [""] * len(blocks)
        for one in told:
            if one["type"] == "content_block_delta":
                written[one["index"]] += one["delta"]["partial_json"]
        return [(block["id"], block["name"], json.loads(text)) for block, text in zip(blocks, written, strict=True)]
    if not stream:
        listed = response.json()["choices"][0]["message"].get("tool_calls", [])
        return [(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])) for one in listed]
    found: dict[int, list[str]] = {}
    for one in told:
        for part in one["choices"][0]["delta"].get("tool_calls", []):
            known = found.setdefault(part["index"], [part.get("id", ""), part["function"].get("name", ""), ""])
            known[2] += part["function"]["arguments"]
    assert list(found) == list(range(len(found)))
    return [(call, name, json.loads(text)) for call, name, text in found.values()]


def stops_in(wire: str, response: httpx2.Response) -> list[str]:
    told = told_in(response)
    if wire == "anthropic":
        return [one["delta"]["stop_reason"] for one in told if one["type"] == "message_delta"]
    return [choice.get("finish_reason") or "" for one in told for choice in one.get("choices", ())]


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
            talk.chunk(b"".join(streamed_calls(wire, call)))
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


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/responses/input_tokens"])
def test_the_tool_is_counted_as_it_would_be_sent(upstream: ScriptedUpstream, path: str) -> None:
    route, _, _ = path.rpartition("/")
    wire = next(wire for wire, known in ROUTES.items() if known == route)
    body = body_of(wire, stream=False)
    with served(setup_for(upstream, policy=POLICY, expand=True)) as proxy:
        assert proxy.post(path, body).status_code == 200
        proxy.post(route, body)
    counted, sent = upstream.requests
    assert "sash_expand" in counted.body.decode()
    assert counted.json == sent.json


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
    assert response.status_code == 502
    assert "says nothing" in response.text
    assert "sash_expand" not in response.text
    assert len(upstream.requests) == 7
    assert "no block has the handle" in upstream.last.body.decode()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_in_the_last_round_the_tool_is_withdrawn_and_a_call_of_it_kept_from_the_client(
    upstream: ScriptedUpstream, wire: str, stream: bool
) -> None:
    def asking(received: Received, talk: Talk) -> None:
        number = len(upstream.requests)
        calls = [(f"call_{number}", "sash_expand", '{"handle": "99.9"}')]
        if number == 7:
            calls.append((f"own_{number}", "read", '{"path": "a"}'))
        if stream:
            talk.stream_head()
            talk.chunk(b"".join(streamed_calls(wire, *calls)))
            talk.stream_end()
        else:
            talk.answer(200, json.dumps(completion(wire, "", calls=tuple(calls))).encode())

    upstream.default = asking
    body = json.loads(body_of(wire, stream=stream))
    body["tools"] = [tool_of(wire, "read")]
    with served(setup_for(upstream, policy=POLICY, expand=True)) as proxy:
        response = proxy.post(ROUTES[wire], json.dumps(body).encode())
    assert response.status_code == 200
    offered = [[name_of(tool) for tool in request.json["tools"]] for request in upstream.requests]
    assert offered == [["read", "sash_expand"]] * 6 + [["read"]]
    assert "sash_expand" not in response.text
    assert calls_in(wire, response, stream=stream) == [("own_7", "read", {"path": "a"})]


@pytest.mark.parametrize("wire", WIRES)
def test_while_nothing_is_shortened_a_streamed_call_is_kept_from_the_client(
    upstream: ScriptedUpstream, wire: str
) -> None:
    def asking(_: Received, talk: Talk) -> None:
        talk.stream_head()
        talk.chunk(b"".join(streamed_calls(wire, ("call_1", "sash_expand", '{"handle": "1.0"}'))))
        talk.stream_end()

    upstream.default = asking
    field = "input" if wire == "openai-responses" else "messages"
    body = {"model": "m", "max_tokens": 9, "stream": True, field: [{"role": "user", "content": "Hello"}]}
    with served(setup_for(upstream, policy=POLICY, expand=True)) as proxy:
        response = proxy.post(ROUTES[wire], json.dumps(body).encode())
    assert len(upstream.requests) == 1
    assert "sash_expand" not in response.text
    assert "call_1" not in response.text
    assert calls_in(wire, response, stream=True) == []
    assert not {"tool_calls", "tool_use"} & set(stops_in(wire, response))


def test_without_being_asked_for_no_tool_is_offered(upstream: ScriptedUpstream) -> None:
    with served(setup_for(upstream, policy=POLICY)) as proxy:
        proxy.post(ROUTES["openai-chat"], body_of("openai-chat", stream=False))
    assert b"sash_expand" not in upstream.last.body
