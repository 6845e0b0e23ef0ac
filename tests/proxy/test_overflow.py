"""Errors that say a request was too large, in the words of those who say so."""

from __future__ import annotations

import json

import pytest

from sash.providers import Overflow
from sash.server.proxy.overflow import overflow_in

WORDINGS = [
    ("prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
    (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        190_000,
        200_000,
    ),
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130,512 tokens.",
        130_512,
        128_000,
    ),
    ("maximum context length is 8192 tokens, however you requested 9000 tokens (8000 in the messages)", 9_000, 8_192),
    ("the request exceeds the available context size (4096 tokens), try increasing it", None, 4_096),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_200_000, 1_048_576),
    ("too many tokens", None, None),
    ("Input is too long for requested model.", None, None),
    ("request too large for model `x` in organization", None, None),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
]


@pytest.mark.parametrize(("words", "tokens", "limit"), WORDINGS)
@pytest.mark.parametrize("status", [400, 413])
def test_every_wording_is_an_overflow_with_its_numbers(
    words: str, tokens: int | None, limit: int | None, status: int
) -> None:
    openai = json.dumps({"error": {"message": words, "type": "invalid_request_error", "code": None}}).encode()
    anthropic = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": words}}).encode()
    for body in (openai, anthropic, words.encode()):
        told = overflow_in(status, body)
        assert told is not None
        assert (told.tokens, told.limit) == (tokens, limit)


def test_a_code_says_it_too() -> None:
    body = json.dumps({"error": {"message": "too big", "code": "context_length_exceeded"}}).encode()
    assert overflow_in(400, body) == Overflow()


def test_a_local_server_tells_its_numbers_in_fields() -> None:
    told = {
        "code": 400,
        "message": "exceed",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 5_100,
        "n_ctx": 4_096,
    }
    assert overflow_in(400, json.dumps({"error": told}).encode()) == Overflow(tokens=5_100, limit=4_096)


def test_in_a_stream_it_stands_deeper() -> None:
    told = {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "no"}}}
    assert overflow_in(400, json.dumps(told).encode()) == Overflow()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b'{"error":{"message":"messages.3: tool_use ids must be unique"}}'),
        (401, b'{"error":{"message":"maximum context length is 5 tokens"}}'),
        (429, b'{"error":{"message":"too many tokens per minute"}}'),
        (500, b"<html>Internal Server Error</html>"),
        (400, b""),
    ],
)
def test_other_errors_are_none(status: int, body: bytes) -> None:
    assert overflow_in(status, body) is None


def test_numbers_that_contradict_the_refusal_are_not_believed() -> None:
    body = b'{"error":{"message":"prompt is too long: 100 tokens > 200000 maximum"}}'
    assert overflow_in(400, body) == Overflow(tokens=None, limit=200_000)


@pytest.mark.parametrize("status", [400, 413, 500])
def test_too_many_tokens_a_minute_is_another_matter(status: int) -> None:
    words = "Rate limit reached: too many tokens per minute (TPM): Limit 30000, Used 29000"
    assert overflow_in(status, json.dumps({"error": {"message": words}}).encode()) is None
