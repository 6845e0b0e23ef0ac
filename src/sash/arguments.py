"""Arguments of public calls: one of a wrong kind is refused by its name, before anything is done."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, ParamSpec, TypeVar

from sash.core.sources import Source
from sash.errors import InvalidArgument

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

LARGEST = 1 << 63
"""No store counts so far."""


class Kind(NamedTuple):
    """What an argument may be."""

    wanted: str
    """In words: `a whole number`."""
    fits: Callable[[object], bool]


def takes(**kinds: Kind) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """
    Look at these arguments of a call first; `InvalidArgument` names the one that is something else.

    An argument whose default is None may be None.
    """

    def decorated(call: Callable[Given, Answer]) -> Callable[Given, Answer]:
        parameters = inspect.signature(call).parameters
        names = tuple(parameters)
        assert kinds.keys() <= parameters.keys(), f"{call.__name__} has no such arguments"
        optional = {name for name in kinds if parameters[name].default is None}

        def look(name: str, value: object) -> None:
            kind = kinds.get(name)
            if kind is None or (value is None and name in optional) or kind.fits(value):
                return
            raise InvalidArgument(name, value, kind.wanted)

        @functools.wraps(call)
        def checked(*given: Given.args, **named: Given.kwargs) -> Answer:
            for name, value in zip(names, given, strict=False):
                look(name, value)
            for name, value in named.items():
                look(name, value)
            return call(*given, **named)

        return checked

    return decorated


def one_of(*words: str) -> Kind:
    """One of these words."""
    return Kind(f"one of {', '.join(map(repr, words))}", lambda value: isinstance(value, str) and value in words)


def having(wanted: str, *verbs: str, kind: type = str) -> Kind:
    """Something of that kind, or anything that has all of these."""
    return Kind(wanted, lambda value: isinstance(value, kind) or all(hasattr(value, verb) for verb in verbs))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -LARGEST < value < LARGEST


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_moment(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _are_lines(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_whole, value))


def _are_sources(value: object) -> bool:
    return isinstance(value, Sequence) and all(isinstance(each, Source) for each in value)


TEXT = Kind("text", lambda value: isinstance(value, str))
WHOLE = Kind("a whole number", _is_whole)
NUMBER = Kind("a number", _is_number)
MOMENT = Kind("a time in seconds", _is_moment)
SWITCH = Kind("True or False", lambda value: isinstance(value, bool))
LINES = Kind("the numbers of the first and the last line", _are_lines)
SOURCES = Kind("a list of sash.Source", _are_sources)
CALLABLE = Kind("something to call", callable)
