"""The many ways in which providers say that a request was too large for the model."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_WORDINGS = re.compile(
    r"prompt is too long|input length and `?max_tokens`? exceed|context_length_exceeded|maximum context length"
    r"|too many (?:input )?tokens|input is too long|too large for model|exceed_context_size|available context size"
    r"|context window|context limit|context length|maximum number of tokens|reduce the length of (?:the|your)"
    r"|token count .{0,40}exceeds|exceeds the (?:model'?s )?(?:token|context) limit|request_too_large",
    re.IGNORECASE,
)
_STATUSES = frozenset((400, 413, 422, 500))
"""500: some servers of open models know no better."""

_N = r"(\d[\d,_.]*)"
_ADDED = re.compile(rf"{_N}\s*\+\s*{_N}\s*>\s*{_N}")
_OVER = re.compile(
    rf"{_N}(?:\s*tokens?)?\s*(?:>|exceeds?|is (?:more|larger|greater) than)\D{{0,60}}?{_N}", re.IGNORECASE
)
_ASKED = re.compile(
    rf"(?:resulted in|requested|has|contains?|messages? (?:is|are)|token count(?: of)?:?)\D{{0,20}}?{_N}\s*"
    rf"(?:input )?tokens?|token count \({_N}\)",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    rf"(?:maximum context length|context (?:window|length|limit|size)|maximum(?: number of)?(?: tokens)?"
    rf"|allowed|limit)\D{{0,40}}?{_N}",
    re.IGNORECASE,
)


class Overflow(msgspec.Struct, frozen=True, kw_only=True):
    """A request was too large, by the provider's own count where it tells."""

    tokens: int | None = None
    """What was sent."""
    limit: int | None = None
    """What the model takes, the answer included."""


def overflow_in(status: int, body: bytes) -> Overflow | None:
    """The overflow that an error tells of; None where it tells of something else. A stream's error has status 400."""
    if status not in _STATUSES:
        return None
    text = body[:100_000].decode("utf-8", "replace")
    if _WORDINGS.search(text) is None and not (status == 413 and "tokens" in text):
        return None
    said = _fields(text)
    tokens = _whole(said.get("n_prompt_tokens"))
    limit = _whole(said.get("n_ctx"))
    message = said.get("message")
    words = message if isinstance(message, str) else text
    if found := _ADDED.search(words):
        return Overflow(tokens=_number(found[1]), limit=_number(found[3]))
    if found := _OVER.search(words):
        tokens, limit = tokens or _number(found[1]), limit or _number(found[2])
    if found := _ASKED.search(words):
        tokens = tokens or _number(found[1] or found[2])
    if found := _LIMIT.search(words):
        limit = limit or _number(found[1])
    if tokens is not None and limit is not None and tokens <= limit:
        # Not those two numbers, then: nothing that fits is refused.
        tokens = None
    return Overflow(tokens=tokens, limit=limit)


def _fields(text: str) -> dict[str, Any]:
    """The fields of an error, wherever the wire puts them."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    while isinstance(said, dict):
        inner = said.get("error") or said.get("response")
        if not isinstance(inner, dict):
            return said
        said = inner
    return {}


def _number(digits: str) -> int | None:
    plain = re.sub(r"[,_]", "", digits).rstrip(".")
    return _whole(int(plain)) if plain.isdigit() and len(plain) < 12 else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
