"""
What the schemas of tools cost.

OpenAI and Anthropic write them for the model in a form of their own: names, descriptions
and a price for each part, by OpenAI's published recipe. Everybody else hands the model the
JSON, as the templates of open models do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

TOOL, PROPERTIES, PROPERTY, CHOICES, CHOICE = 7, 3, 3, -3, 3
"""Tokens of: a tool, its having parameters, each parameter, its having fixed choices, each of these."""


class SchemaParts(msgspec.Struct, frozen=True):
    """Tools as a provider writes them for the model: the words to count, and tokens of what stands between them."""

    words: str
    between: int


def schema_parts(tools: Sequence[bytes]) -> SchemaParts:
    """
    Take the JSON of tools apart, on whatever wire they are.

    A tool that only its provider knows (web search, shell) has no schema to read: its
    JSON stands for it.
    """
    words: list[str] = []
    between = 0
    for source in tools:
        tool = _decoded(source)
        name, schema = tool.get("name"), _schema(tool)
        if not isinstance(name, str):
            words.append(source.decode("utf-8", "replace"))
            between += TOOL
            continue
        words.append(f"{name}:{_sentence(tool)}")
        between += TOOL
        for part, price in _properties(schema, depth=0):
            words.append(part)
            between += price
    return SchemaParts("\n".join(filter(None, words)), between)


def as_json(tools: Sequence[bytes]) -> str:
    """The JSON of tools as templates print it, one a line, with a space after each comma and colon."""
    return "\n".join(map(_printed, tools))


def _printed(source: bytes) -> str:
    try:
        return msgspec.json.format(source.decode(), indent=0)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return source.decode("utf-8", "replace")


_DEEPEST = 20
"""Nobody writes schemas deeper than that; a trap may be deeper than Python's stack."""


def _decoded(source: bytes) -> dict[str, Any]:
    try:
        tool = msgspec.json.decode(source)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if not isinstance(tool, dict):
        return {}
    for wrapper in ("function", "custom"):
        wrapped = tool.get(wrapper)
        if isinstance(wrapped, dict):
            return wrapped
    return tool


def _schema(tool: dict[str, Any]) -> object:
    return tool.get("input_schema") or tool.get("parameters")


def _sentence(node: dict[str, Any]) -> str:
    description = node.get("description")
    return description.removesuffix(".") if isinstance(description, str) else ""


def _properties(schema: object, *, depth: int) -> Iterator[tuple[str, int]]:
    """Each thing that a schema says, and the price of saying it; nested ones as if they stood at the top."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties:
        yield "", PROPERTIES
        for key, node in properties.items():
            if not isinstance(node, dict):
                yield str(key), PROPERTY
                continue
            yield f"{key}:{_type(node)}:{_sentence(node)}", PROPERTY
            yield from _choices(node)
            yield from _properties(node, depth=depth + 1)
    for inner in ("items", "additionalProperties"):
        yield from _properties(schema.get(inner), depth=depth + 1)
    for several in ("anyOf", "oneOf", "allOf"):
        for node in _listed(schema.get(several)):
            yield from _properties(node, depth=depth + 1)
    for shared in ("$defs", "definitions"):
        defined = schema.get(shared)
        for node in defined.values() if isinstance(defined, dict) else ():
            yield from _properties(node, depth=depth + 1)


def _choices(node: dict[str, Any]) -> Iterator[tuple[str, int]]:
    choices = _listed(node.get("enum"))
    if choices:
        yield "", CHOICES
    for choice in choices:
        yield str(choice), CHOICE


def _type(node: dict[str, Any]) -> str:
    kind = node.get("type")
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")


def _listed(node: object) -> list[Any]:
    return node if isinstance(node, list) else []
