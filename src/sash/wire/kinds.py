"""A value of the wrong kind, told in the words of JSON."""

from __future__ import annotations

import re

_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]+)`(?P<limit>[^,]*)(?:, got `(?P<given>[^`]+)`)?")
_LACKS = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "an object",
    "str": "text",
}


def wrong_kind(problem: str) -> str:
    """What msgspec says of a value, as a sentence after its name: `must be a list, and is text`; else as it is."""
    if lacks := _LACKS.fullmatch(problem):
        return f"must have a field {lacks['field']!r}"
    expected = _EXPECTED.fullmatch(problem)
    if expected is None:
        return problem
    given = f", and is {_told(expected['given'])}" if expected["given"] else ""
    return f"must be {_told(expected['wanted'])}{expected['limit']}{given}"


def _told(kinds: str) -> str:
    told = [_KINDS.get(kind, kind) for kind in kinds.split(" | ")]
    return " or ".join((", ".join(told[:-1]), told[-1])) if len(told) > 1 else told[0]
