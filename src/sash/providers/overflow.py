"""The many ways in which providers say that a request was too long for the model."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

MOST_READ = 100_000
"""Characters of a complaint."""

_wordings = re.compile(
    r"prompt is too long|input length and `?max_tokens`? exceed|request_too_large"
    r"|exceeds? (?:the |your )?(?:available |model'?s? |maximum )?(?:context|input|token) (?:size|limit|window|length)"
    r"|exceed_context_size|context_length_exceeded|model_max_prompt_tokens_exceeded|available context size"
    r"|max(?:imum)? context (?:length|window)|maximum number of tokens"
    r"|context (?:length|window|limit|size) (?:of|is|was)? ?(?:only )?[\d,]* ?(?:tokens )?(?:exceeded|too small)"
    r"|context (?:length|window|limit)"
    r"|too many (?:input )?tokens|input (?:token count|length|is too long)|token count .{0,40}exceeds"
    r"|too large for (?:the )?model|reduce the length of (?:the|your) ?(?:messages|prompt|input)?",
    re.IGNORECASE,
)
_not_it = re.compile(r"per[ _-]?(?:minute|day|second|hour)|rate.?limit|\bTPM\b|quota", re.IGNORECASE)
"""Too many tokens a minute is another matter: there waiting helps."""

_N = r"(\d[\d,_.]*)"
_added = re.compile(rf"{_N}\s*\+\s*{_N}\s*>\s*{_N}")
_of_which = re.compile(rf"\({_N} (?:tokens )?(?:in|from) (?:the |your )?(?:messages|prompt|input)\D{{0,40}}?{_N} ")
"""What the request takes, and what was to be left for the answer."""
_both = re.compile(rf"request \({_N} tokens\).{{0,60}}?\({_N} tokens\)", re.IGNORECASE)
_over = re.compile(
    rf"{_N}(?:\s*tokens?)?\s*(?:>|exceeds?|is (?:more|larger|greater) than)\D{{0,60}}?{_N}", re.IGNORECASE
)
_asked = re.compile(
    rf"(?:resulted in|requested|has|using|contains?|messages? (?:is|are)|token count(?: of)?:?)\D{{0,20}}?{_N}\s*"
    rf"(?:input )?tokens?|token count \(?{_N}\)?",
    re.IGNORECASE,
)
_limit = re.compile(
    rf"(?:maximum context length|context (?:window|length|limit|size)|max(?:imum)?(?: number of)?(?: tokens)?"
    rf"|allowed|limit|up to)\D{{0,40}}?{_N}",
    re.IGNORECASE,
)


class Overflow(msgspec.Struct, frozen=True, kw_only=True):
    """A request was too long, by the provider's own count where it tells."""

    tokens: int | None = None
    """What was sent."""
    limit: int | None = None
    """What the model takes, the answer included."""
    answer: int | None = None
    """What was asked for the answer, where it was that together with the request which was too much."""


def overflow_of(complaint: str) -> Overflow | None:
    """What a complaint, words or JSON, says about a request that is too long; None when it is about something else."""
    complaint = complaint[:MOST_READ]
    if not _wordings.search(complaint) or _not_it.search(complaint):
        return None
    return sizes_in(complaint)


def is_about_rates(complaint: str) -> bool:
    """Whether it speaks of how much may be asked in some time."""
    return _not_it.search(complaint[:MOST_READ]) is not None


def sizes_in(complaint: str) -> Overflow:
    """The numbers of a complaint that is known to be about a request's length."""
    said = _fields(complaint)
    tokens, limit = _whole(said.get("n_prompt_tokens")), _whole(said.get("n_ctx"))
    message = said.get("message")
    words = message if isinstance(message, str) else complaint
    if found := _added.search(words):
        return Overflow(tokens=_number(found[1]), limit=_number(found[3]), answer=_number(found[2]))
    if found := _both.search(words) or _over.search(words):
        tokens, limit = tokens or _number(found[1]), limit or _number(found[2])
    if found := _asked.search(words):
        tokens = tokens or _number(found[1] or found[2])
    if found := _limit.search(words):
        limit = limit or _number(found[1])
    if tokens is not None and limit is not None and tokens <= limit:
        # Not those two numbers, then: nothing that fits is refused.
        tokens = None
    if found := _of_which.search(words):
        return Overflow(tokens=_number(found[1]), limit=limit, answer=_number(found[2]))
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
