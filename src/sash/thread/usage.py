"""What a provider says a request took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sash.errors import InvalidMessage
from sash.wire.json_text import as_json

_READ: Mapping[str, tuple[str, ...]] = {
    # Anthropic counts what came from its cache, and what went into it, apart.
    "anthropic": ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "openai-chat": ("prompt_tokens",),
    "openai-responses": ("input_tokens",),
    "flat": ("prompt_tokens", "input_tokens"),
}


def tokens_read(usage: object, wire: str) -> int | None:
    """
    The tokens that the model read, cached ones among them; None where the usage does not say.

    Takes the `usage` of a response as a mapping, as JSON or as the SDK's object; a whole
    response will do too. What the model wrote is no part of it.
    """
    said: Any = msgspec.json.decode(as_json(usage))
    if isinstance(said, dict) and isinstance(said.get("usage"), dict):
        said = said["usage"]
    if not isinstance(said, dict):
        raise InvalidMessage(
            f"{usage!r} is no usage; send what the provider's response has under `usage`", field="usage"
        )
    parts = [said.get(name) for name in _READ.get(wire, ())]
    known = [part for part in parts if isinstance(part, int) and not isinstance(part, bool) and part >= 0]
    if not known and any(name in said for names in _READ.values() for name in names):
        raise InvalidMessage(
            f"{usage!r} is no usage of {wire}, whose field is {' + '.join(_READ[wire])}; name the `wire` it is of",
            field="usage",
        )
    return sum(known) if known else None
