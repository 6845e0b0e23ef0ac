"""Requests of a batch, as OpenAI, Anthropic and those like them take it: each a conversation with a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sash.errors import InvalidMessage
from sash.wire import json_text

_any = msgspec.json.Decoder(Any)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a batch."""

    name: str
    wire: str
    """The wire of its body."""
    body: bytes


def wire_in(line: Mapping[str, Any]) -> str:
    """The wire that a line of a batch asks in; empty where it is none. Of a body only its fields' names matter."""
    body, params, url = line.get("body"), line.get("params"), line.get("url")
    if "custom_id" not in line:
        return ""
    if isinstance(params, Mapping):
        return "anthropic" if "messages" in params else ""
    if not isinstance(body, Mapping):
        return ""
    # A batch of embeddings has an `input` too.
    path = url.rstrip("/") if isinstance(url, str) else ""
    if "messages" in body and (not path or path.endswith("/chat/completions")):
        return "openai-chat"
    return "openai-responses" if "input" in body and (not path or path.endswith("/responses")) else ""


def request_in(line: Mapping[str, bytes | msgspec.Raw]) -> Request | None:
    """The request that a line of a batch is; None where it is none."""
    if "custom_id" not in line:
        return None
    try:
        bodies = {name: json_text.fields(line[name]) for name in ("body", "params") if name in line}
        told = {name: json_text.decode(_any, line[name])[0] for name in ("custom_id", "url") if name in line}
    except InvalidMessage:
        return None
    wire = wire_in(told | bodies)
    if not wire:
        return None
    held = line["params" if "params" in bodies else "body"]
    return Request(name=str(told["custom_id"]), wire=wire, body=bytes(held))
