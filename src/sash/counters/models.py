"""
What is known about models: how their words are counted, and how much they can read and write.

The facts are in `models.json`, with the day they were gathered. Anybody can know better:
`overrides` win over the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from sash.core.model_limits import ModelLimits
from sash.core.policy import DEFAULT_WINDOW
from sash.counters.images import Flat, ImageRule
from sash.counters.names import asks_for_long_window, canonical, is_edition

_LONG_WINDOW = 1_000_000


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a model can read and write, in tokens."""

    window: int
    """What a request and its answer may take together."""
    max_output: int | None = None
    max_input: int | None = None
    """Most that a request may take by itself, where that is less than the window."""


class Reading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model reads: by which vocabulary, and what a picture costs it."""

    family: str = "generic"
    """The family of the estimator, for its framing and where the vocabulary cannot be had."""
    vocabulary: str = ""
    """Empty where none is public."""
    near: bool = False
    """The vocabulary is a relative's: counts by it are estimates."""
    images: ImageRule = Flat()
    priming: int = 0
    """Tokens that every request costs beside its messages and tools."""
    tools_as_json: bool = True
    """The model is shown the JSON of its tools, and not a form of the maker's own."""
    tools_prompt: int = 0
    """What the maker adds once to a request that has tools."""
    published: bool = False
    """The maker says what it adds to a plain message."""


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about one model."""

    name: str
    """As it was asked for."""
    canonical: str
    reading: Reading
    read_as: str = ""
    """The entry that says how it reads; empty for a model that nobody knows."""
    limits: Limits
    limits_of: str = ""
    """The entry that says its limits; empty when they are the default."""

    @property
    def window(self) -> int:
        """What a request and its answer may take together."""
        return self.limits.window

    @property
    def default_window(self) -> bool:
        """True when nobody knows the window and the default stands in: to be shown as such."""
        return not self.limits_of


def describe(
    model: str, *, overrides: Mapping[str, Limits] | None = None, default_window: int = DEFAULT_WINDOW
) -> Model:
    """
    What is known about a model of this name, in whatever spelling.

    How it reads is taken from the entry with the longest beginning of its name in common:
    a new model reads most likely as its forerunner. Limits are taken only from the model
    itself or one that this is an edition of: they change from one to the next.
    """
    return _described(model, default_window) if not overrides else _looked_up(model, overrides, default_window)


@lru_cache(maxsize=256)
def _described(model: str, default_window: int) -> Model:
    return _looked_up(model, {}, default_window)


def _looked_up(model: str, overrides: Mapping[str, Limits], default_window: int) -> Model:
    name = canonical(model)
    known = _known()
    read_as = max((entry for entry in known.reading if name.startswith(entry)), key=len, default="")
    limits, limits_of = _limits(name, {**known.limits, **_canonical(overrides)})
    if limits is None:
        limits = Limits(window=default_window)
    if asks_for_long_window(model) and limits.window < _LONG_WINDOW:
        limits, limits_of = msgspec.structs.replace(limits, window=_LONG_WINDOW), limits_of or "[1m]"
    return Model(
        name=model,
        canonical=name,
        reading=known.reading[read_as] if read_as else Reading(),
        read_as=read_as,
        limits=limits,
        limits_of=limits_of,
    )


def stated(models: Iterable[ModelLimits]) -> dict[str, Limits]:
    """What a policy states about models, as overrides."""
    return {
        known.model: Limits(window=known.window, max_output=known.max_output, max_input=known.max_input)
        for known in models
    }


def gathered() -> str:
    """The day on which the facts were gathered."""
    return _known().gathered


def _limits(name: str, limits: Mapping[str, Limits]) -> tuple[Limits | None, str]:
    entry = max((entry for entry in limits if is_edition(name, entry)), key=len, default="")
    return (limits[entry], entry) if entry else (None, "")


def _canonical(overrides: Mapping[str, Limits]) -> dict[str, Limits]:
    return {canonical(model): limits for model, limits in overrides.items()}


class _ReadingRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models that read alike, by the beginnings of their names."""

    models: list[str]
    reading: Reading


class _LimitsRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: list[str]
    limits: Limits


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`models.json`."""

    gathered: str
    sources: list[str]
    reading: list[_ReadingRow]
    limits: list[_LimitsRow]


_file = msgspec.json.Decoder(_File)


class _Known(msgspec.Struct, frozen=True):
    gathered: str
    reading: dict[str, Reading]
    limits: dict[str, Limits]


@cache
def _known() -> _Known:
    file = _file.decode(files("sash.counters").joinpath("models.json").read_bytes())
    return _Known(
        file.gathered,
        {model: row.reading for row in file.reading for model in row.models},
        {model: row.limits for row in file.limits for model in row.models},
    )
