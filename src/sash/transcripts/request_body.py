"""What a request's body says beside the conversation: its model, how long the answer may be, and what else it asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sash.wire import json_text, wire_named

_ANSWER = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_KEPT = ("previous_response_id", "conversation")
"""By these a provider knows what was said before."""

Fields = Mapping[str, bytes]


def asked_in(fields: Fields, wire: str) -> Fields:
    """
    All fields of a request's body, in their order; none of a log of one, or of a list of messages.

    Those that hold the conversation are empty: it is read from them, and need not be held twice.
    """
    spoken = wire_named(wire)
    if not {"model", spoken.MESSAGES} <= fields.keys() or "response" in fields:
        return {}
    ours = {spoken.MESSAGES, spoken.SYSTEM, "tools"}
    return {name: b"" if name in ours else bytes(value) for name, value in fields.items()}


def with_asked(made: Fields, asked: Fields) -> Fields:
    """A request with what else its body asked for."""
    kept = {name: made.get(name, value) for name, value in asked.items()}
    return {**{name: value for name, value in kept.items() if value}, **made}


def answer_of(asked: Fields) -> int:
    """The largest answer that a body asks for; 0 where it does not say."""
    return next((size for name in _ANSWER if (size := _number(asked.get(name))) > 0), 0)


def goes_on(asked: Fields) -> bool:
    """Whether the provider keeps what was said before, so that the body is only what is new."""
    return any(json_text.present(asked.get(name)) for name in _KEPT)


def _number(value: bytes | None) -> int:
    try:
        told: Any = msgspec.json.decode(value) if value else 0
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return 0
    return told if isinstance(told, int) and not isinstance(told, bool) else 0
