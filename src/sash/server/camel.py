"""Structs as the API writes them: fields in camelCase, at every depth; what clients gave stays as it is."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec


def camelled(value: object) -> Any:
    """A value as plain objects. Only the fields of structs are renamed: keys of a mapping are somebody's own."""
    if isinstance(value, msgspec.Struct):
        named = {name: camelled(getattr(value, field)) for field, name in _fields(type(value))}
        tag = _tag(type(value))
        return named if tag is None else {tag[0]: tag[1], **named}
    if isinstance(value, dict):
        return {key: camelled(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [camelled(inner) for inner in value]
    return value


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, camel(field.encode_name)) for field in msgspec.structs.fields(kind))


@cache
def _tag(kind: type[msgspec.Struct]) -> tuple[str, Any] | None:
    config = kind.__struct_config__
    return None if config.tag is None or config.tag_field is None else (config.tag_field, config.tag)


def camel(name: str) -> str:
    """`tokens_before` as `tokensBefore`."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def camelled_schema(schema: Any) -> Any:
    """The same for a JSON schema of structs."""
    if isinstance(schema, list):
        return [camelled_schema(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: camelled_schema(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        made["properties"] = {camel(name): camelled_schema(of) for name, of in schema["properties"].items()}
    if isinstance(schema.get("required"), list):
        made["required"] = [camel(name) for name in schema["required"]]
    return made
