"""A request whose fields are of the wrong kind: refused here, by the name of the field, as its provider would."""

from __future__ import annotations

import json

import pytest

from tests.proxy.running import Served
from tests.proxy.upstream import ScriptedUpstream

ROUTES = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}
HISTORY = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages"}


def refused(proxy: Served, wire: str, body: bytes) -> tuple[str, str | None]:
    """What was said, and of which field where the wire has a place to say so."""
    answer = proxy.post(ROUTES[wire], body)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
    assert ("param" in error) == (wire != "anthropic")
    return error["message"], error.get("param")


@pytest.mark.parametrize(
    ("given", "kind"), [("5", "a whole number"), ('{"a": 1}', "an object"), ("null", "null"), ("1.5", "a number")]
)
@pytest.mark.parametrize("wire", ROUTES)
def test_a_history_that_is_none_is_refused_by_its_field_and_kind(
    proxy: Served, upstream: ScriptedUpstream, wire: str, given: str, kind: str
) -> None:
    field = HISTORY[wire]
    wanted = "text or a list" if wire == "openai-responses" else "a list"
    said, param = refused(proxy, wire, f'{{"model": "m", "max_tokens": 9, "{field}": {given}}}'.encode())
    assert said == f"{field}: must be {wanted}, and is {kind}"
    assert param in (None, field)
    assert not upstream.requests


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_text_is_no_list_of_messages_nor_a_message(proxy: Served, wire: str) -> None:
    said, param = refused(proxy, wire, b'{"model": "m", "max_tokens": 9, "messages": "x"}')
    assert said == "messages: must be a list, and is text"
    assert param in (None, "messages")
    said, param = refused(proxy, wire, b'{"model": "m", "max_tokens": 9, "messages": ["x", "y"]}')
    assert said == "message 0: must be an object, and is text"
    assert param in (None, "messages[0]")


def test_a_place_inside_a_message_is_told_by_its_path(proxy: Served) -> None:
    good = {"role": "user", "content": "Hello"}
    for bad, path, problem in (
        ({"role": 5}, "messages[1].role", "message 1, role: must be text, and is a whole number"),
        ({"content": "x"}, "messages[1]", "message 1: must have a field 'role'"),
    ):
        body = json.dumps({"model": "m", "messages": [good, bad]}).encode()
        assert refused(proxy, "openai-chat", body) == (problem, path)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'"x"', "the body must be an object, and is text"),
        (b"[1]", "the body must be an object, and is a list"),
        (b"{", "the body is no JSON: Input data was truncated"),
        (b'{"model": "m", "messages": [], "tools": "x"}', "tools: must be a list, and is text"),
    ],
)
def test_a_body_that_is_none_is_told_as_such(proxy: Served, body: bytes, problem: str) -> None:
    assert refused(proxy, "openai-chat", body)[0] == problem
