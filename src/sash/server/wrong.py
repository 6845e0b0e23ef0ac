"""What is wrong with what a client said: which field, what it must be, and what was given."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sash.meant import meant
from sash.server.fault import Fault
from sash.wire.kinds import wrong_kind

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_WORD = re.compile(r"Invalid enum value '?(?P<word>.*?)'?", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[[^\]]*\]")
_SHOWN = 80
"""Characters of a name that nobody knows."""


def wrong(error: msgspec.ValidationError, kind: Any, whole: str) -> Fault:
    """An error of msgspec's as a sentence that begins with the field it is about, or with all that was said."""
    problem, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    place = field
    if unknown := _UNKNOWN.fullmatch(problem):
        name = unknown["name"][:_SHOWN]
        place = f"{field}.{name}" if field else name
        known = [each.encode_name for struct in _kinds(kind, path, "fields") for each in struct.fields]
        told = f"{field or whole} has no field {name!r}; {_remedy(name, known)}"
    elif word := _WORD.fullmatch(problem):
        given = word["word"][:_SHOWN]
        words = [str(each) for literal in _kinds(kind, path, "values") for each in literal.values]
        told = f"{field or whole}: {given!r} is none of its words; {_remedy(given, words)}"
    else:
        told = f"{field}: {wrong_kind(problem)}" if field else f"{whole} {wrong_kind(problem)}"
    return Fault("INVALID_ARGUMENT", told, details={"field": place} if place else None)


def _remedy(given: str, known: list[str]) -> str:
    near = meant(given, known)
    return f"did you mean {near!r}?" if near else f"it takes {', '.join(map(repr, known)) or 'none'}"


def _kinds(kind: Any, path: str, having: str) -> list[Any]:
    """What may stand at that place of a value, and has fields, or values to choose from."""
    kinds = _inside(msgspec.inspect.type_info(kind))
    for step in _STEP.finditer(path.rstrip("`")):
        kinds = [inner for outer in kinds for each in _next(outer, step["field"]) for inner in _inside(each)]
    return [each for each in kinds if hasattr(each, having)]


def _inside(kind: Any) -> list[Any]:
    """A kind, or those of which it may be one."""
    kind = kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind
    return [inner for each in kind.types for inner in _inside(each)] if hasattr(kind, "types") else [kind]


def _next(kind: Any, name: str | None) -> list[Any]:
    if name is not None and isinstance(kind, msgspec.inspect.StructType):
        return [field.type for field in kind.fields if field.encode_name == name]
    return [kind.item_type] if hasattr(kind, "item_type") else []
