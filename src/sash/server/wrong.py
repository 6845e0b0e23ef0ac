"""What is wrong with what a client said: which field, what it must be, and what was given."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sash.meant import meant
from sash.server.fault import Fault
from sash.wire.kinds import wrong_kind

_PLACE = r"(?: - at `\$(?P<path>(?:\.[^.\[\]`]+|\[[^\]`]*\])+)`)?"
"""Where it is, which is told last: a name or a word before it is the client's, and may look the same."""
_UNKNOWN = re.compile(rf"Object contains unknown field `(?P<name>.*?)`{_PLACE}", re.DOTALL)
_WORD = re.compile(rf"Invalid enum value (?P<quote>['\"]?)(?P<word>.*?)(?P=quote){_PLACE}", re.DOTALL)
_OTHER = re.compile(rf"(?P<problem>.*?){_PLACE}", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[[^\]]*\]")
_SHOWN = 80
"""Characters of a name that nobody knows."""


def wrong(error: msgspec.ValidationError, kind: Any, whole: str) -> Fault:
    """An error of msgspec's as a sentence that begins with the field it is about, or with all that was said."""
    said = str(error)
    unknown, word = _UNKNOWN.fullmatch(said), _WORD.fullmatch(said)
    found = unknown or word or _OTHER.fullmatch(said)
    assert found is not None
    path = found["path"] or ""
    place = field = path.lstrip(".")
    if unknown:
        name = unknown["name"][:_SHOWN]
        place = f"{field}.{name}" if field else name
        known = [each.encode_name for struct in _kinds(kind, path, "fields") for each in struct.fields]
        told = f"{field or whole} has no field {name!r}; {_remedy(name, known)}"
    elif word:
        given = word["word"][:_SHOWN]
        words = [str(each) for literal in _kinds(kind, path, "values") for each in literal.values]
        told = f"{field or whole}: {given!r} is none of its words; {_remedy(given, words)}"
    else:
        problem = wrong_kind(found["problem"])
        told = f"{field}: {problem}" if field else f"{whole} {problem}"
    return Fault("INVALID_ARGUMENT", told, details={"field": place} if place else None)


def _remedy(given: str, known: list[str]) -> str:
    near = meant(given, known)
    return f"did you mean {near!r}?" if near else f"it takes {', '.join(map(repr, known)) or 'none'}"


def _kinds(kind: Any, path: str, having: str) -> list[Any]:
    """What may stand at that place of a value, and has fields, or values to choose from."""
    kinds = _inside(msgspec.inspect.type_info(kind))
    for step in _STEP.finditer(path):
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
