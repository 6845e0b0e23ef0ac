"""
Tokens estimated from the shape of a text, for models whose tokenizer is not at hand.

A token ends mostly where one kind of character meets another. Each byte is translated to
the code of its class, the codes are read as one long integer `v`, and
`(v ^ v >> 8).bit_count()` adds up in how many bits the codes of neighboring bytes differ:
the codes are such that two classes differ the more, the likelier a token ends between them.
That is a handful of passes in C over the bytes, whatever the text. What is not ASCII is
weighed a second time by a table of its own, which tells scripts and their letters apart;
in the first they are told apart in the rough.

The weights are in `estimate.json`, with what they were fitted on and how far off they were;
`tools/fit_estimator.py` fits them.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from math import ceil

import msgspec

from sash.errors import UnknownFamily


class Framing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a provider adds around the words of a message, in tokens."""

    user: float
    """A message the user wrote."""
    assistant: float
    """A message of the model."""
    first_call: float
    """Added once to a message that calls tools; below zero where a lone call costs less than each of several."""
    call: float
    """Each call, beside the words of its name and arguments."""
    parameter: float
    """Each argument of a call, beside the words of its name and value."""
    first_result: float
    """The first result of a step; of Claude as much as each other, so that it does not matter how they are grouped."""
    further_result: float
    thinking_per_character: float
    """Of the signature: it grows with the thinking, of which the text is often only a summary."""
    thinking: float
    """Added for each thinking block; below zero, since a signature has a fixed part that stands for no thinking."""

    def thought(self, signature: str) -> int:
        """Tokens of a thinking block with this signature."""
        return max(0, ceil(self.thinking_per_character * len(signature) + self.thinking))


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of one family of tokenizers."""

    name: str
    fitted_on: str
    """What these weights were fitted against, and whether anything has verified them."""
    version: str
    """The day of the fit: counts of two versions are not added up."""
    per_character: float
    per_edge: float
    """Tokens of each bit in which neighboring codes differ."""
    per_edge_beyond: float
    """The same by the second table, which only text beyond ASCII is weighed by."""
    codes: bytes
    """The code of each of the 256 byte values."""
    codes_beyond: bytes
    framing: Framing


def family(name: str) -> Family:
    """The weights of a family: `openai`, `claude`, `claude-new`, `gemini` or `generic`."""
    families = _families()
    if name not in families:
        raise UnknownFamily(name, known=tuple(families))
    return families[name]


def estimate_text(text: str, family: Family) -> int:
    """
    About how many tokens this text is, without any framing.

    Rounded up, and never less than an eighth of its bytes: an undercount overflows the
    model, an overcount only slides a little early.
    """
    is_ascii = text.isascii()
    # A lone surrogate counts as the three bytes it would take: it must not stop a conversation.
    content = text.encode() if is_ascii else text.encode("utf-8", "surrogatepass")
    # Most texts are short, so a call more would be felt: the edges are counted in place.
    line = _as_integer(content.translate(family.codes), "little")
    tokens = family.per_character * len(text) + family.per_edge * (line ^ line >> 8).bit_count()
    if not is_ascii:
        line = _as_integer(content.translate(family.codes_beyond), "little")
        tokens += family.per_edge_beyond * (line ^ line >> 8).bit_count()
    least = len(content) / 8
    return ceil(tokens) if tokens > least else ceil(least)


_as_integer = int.from_bytes


class _Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family as `estimate.json` writes it: the codes in hexadecimal."""

    fitted_on: str
    per_character: float
    per_edge: float
    per_edge_beyond: float
    codes: str
    codes_beyond: str
    framing: Framing


class _Multiple(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family of which only a relative has been measured."""

    fitted_on: str
    like: str
    times: float


class _Fit(msgspec.Struct, frozen=True, kw_only=True):
    fitted: str
    families: dict[str, _Weights]
    multiples: dict[str, _Multiple]


@cache
def _families() -> dict[str, Family]:
    path = files("sash.counters").joinpath("estimate.json")
    fit = msgspec.json.decode(path.read_bytes(), type=_Fit)
    families = {name: _compiled(name, weights, version=fit.fitted) for name, weights in fit.families.items()}
    for name, multiple in fit.multiples.items():
        families[name] = _times(families[multiple.like], name, multiple)
    return families


def _compiled(name: str, weights: _Weights, *, version: str) -> Family:
    return Family(
        name=name,
        fitted_on=weights.fitted_on,
        version=version,
        per_character=weights.per_character,
        per_edge=weights.per_edge,
        per_edge_beyond=weights.per_edge_beyond,
        codes=bytes.fromhex(weights.codes),
        codes_beyond=bytes.fromhex(weights.codes_beyond),
        framing=weights.framing,
    )


def _times(family: Family, name: str, multiple: _Multiple) -> Family:
    framing = {part: tokens * multiple.times for part, tokens in msgspec.structs.asdict(family.framing).items()}
    return msgspec.structs.replace(
        family,
        name=name,
        fitted_on=multiple.fitted_on,
        per_character=family.per_character * multiple.times,
        per_edge=family.per_edge * multiple.times,
        per_edge_beyond=family.per_edge_beyond * multiple.times,
        framing=Framing(**framing),
    )
