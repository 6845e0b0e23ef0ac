"""
Tokens estimated from the shape of a text, for models whose tokenizer is not at hand.

A token ends mostly where one kind of character meets another. Each byte is translated to
the code of its class, the codes are read as one long integer `v`, and
`(v ^ v >> 8).bit_count()` adds up in how many bits the codes of neighboring bytes differ:
the codes are such that two classes differ the more, the likelier a token ends between them.
That is a handful of passes in C over the bytes, whatever the text. Of a character beyond
ASCII only the first byte takes part in that. It is weighed twice more, by its bytes and by
the block of Unicode that it is in, which tells its script: in the tables for these a code has
the more bits, the more tokens what it stands for takes, and nothing but their number is asked.

The weights are in `estimate.json`, with what they were fitted on and how far off they were;
`tools/fit_estimator.py` fits them.
"""

from __future__ import annotations

from codecs import utf_16_le_encode
from functools import cache
from importlib.resources import files
from math import ceil
from zlib import adler32

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
    per_beyond: float
    """Tokens of each character beyond ASCII, before its bytes and its block are weighed; may be below zero."""
    per_continuing: float
    """Tokens of each of its bytes but the first, before these are weighed; mostly below zero."""
    per_bit_leading: float
    """Tokens of each bit of its first byte."""
    per_bit_continuing: float
    """Tokens of each bit of its other bytes."""
    per_bit_of_block: float
    """Tokens of each bit of its block."""
    codes: bytes
    """The code of each of the 256 byte values."""
    bits_leading: bytes
    """How many bits each byte value has as the first byte of a character beyond ASCII, none where it cannot be one."""
    bits_continuing: bytes
    """The same as one of its other bytes."""
    bits_of_blocks: bytes
    """How many each block of 256 characters has; the first, and with it ASCII, has none."""
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

    Rounded up, since an undercount overflows the model and an overcount only slides a little
    early; and never less than the longest tokens there are could hold (`_least`).
    """
    size = len(text)
    if text.isascii():
        # Most texts are ASCII and short, so a call more would be felt: this is done in place.
        line = _as_integer(text.encode().translate(family.codes), "little")
        tokens = family.per_character * size + family.per_edge * (line ^ line >> 8).bit_count()
    else:
        tokens = _beyond_ascii(text, family)
    return ceil(tokens) if tokens * 8.0 > size else ceil(max(tokens, _least(text)))


def _beyond_ascii(text: str, family: Family) -> float:
    """The edges of a text that is not all ASCII, and what its other characters weigh."""
    # A lone surrogate counts as the three bytes it would take: it must not stop a conversation.
    content = text.encode("utf-8", "surrogatepass")
    size = len(text)
    # Each character has one byte that continues none.
    continuing = len(content) - size
    if 4 * continuing < size:
        # Mostly ASCII, of which nothing but the edges is asked.
        marked = content.translate(family.codes, _CONTINUING)
        content = content.translate(None, _ASCII)
        text = content.decode("utf-8", "surrogatepass")
        first = content.translate(family.bits_leading)
        beyond = len(text)
    else:
        # Where kinds of bytes take turns, to drop some takes up to three times as long as to translate them all.
        kept = content.translate(None, _CONTINUING)
        marked = kept.translate(family.codes)
        first = kept.translate(family.bits_leading, _ASCII)
        beyond = len(first)
    others = content.translate(family.bits_continuing)
    blocks = utf_16_le_encode(text, "surrogatepass")[0][1::2].translate(family.bits_of_blocks)
    if len(content) > _PIECE:
        leading, following, of_blocks = _sum(first), _sum(others), _sum(blocks)
    else:
        leading, following, of_blocks = adler32(first, 0) & _LOW, adler32(others, 0) & _LOW, adler32(blocks, 0) & _LOW
    line = _as_integer(marked, "little")
    edges = family.per_character * size + family.per_edge * (line ^ line >> 8).bit_count()
    tokens = edges + family.per_beyond * beyond + family.per_continuing * continuing
    tokens += family.per_bit_leading * leading
    tokens += family.per_bit_continuing * following
    tokens += family.per_bit_of_block * of_blocks
    # What makes up for the edges around an accented letter must not eat up the words beside a row of dashes.
    return max(tokens, _LEAST_OF_EDGES * edges)


def _sum(bits: bytes) -> int:
    """
    The sum of these bytes, none of which is above eight.

    It is the lower half of Adler's checksum, for which one pass in C is enough. That is modulo
    65521, so what is longer than `_PIECE` is added up from pieces.
    """
    return sum(adler32(bits[start : start + _PIECE], 0) & _LOW for start in range(0, len(bits), _PIECE))


def _least(text: str) -> float:
    """
    What a text without edges takes: one letter again and again, the padding of a table.

    No public tokenizer has a token for more than eight repeated letters; of what people rule
    and pad with they have runs of 16 to 128.
    """
    content = text.encode("utf-8", "surrogatepass")
    rules = len(content) - len(content.translate(None, _RULES))
    return (len(text) - rules) / 8 + rules / 32


_as_integer = int.from_bytes
_PIECE = 8_000
"""Eight times that is still below 65521."""
_LOW = 0xFFFF
_LEAST_OF_EDGES = 0.6
"""In no language it is less, of a thousand characters."""
_ASCII = bytes(range(0x80))
_RULES = b" \t\n-=_*#~./+"
_CONTINUING = bytes(range(0x80, 0xC0))
"""Every byte of a character beyond ASCII but its first."""


class Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family as `estimate.json` writes it: the codes in hexadecimal."""

    fitted_on: str
    per_character: float
    per_edge: float
    per_beyond: float
    per_continuing: float
    per_bit_leading: float
    per_bit_continuing: float
    per_bit_of_block: float
    codes: str
    codes_leading: str
    """Of the bytes from 0xC0 on."""
    codes_continuing: str
    """Of the bytes from 0x80 to 0xBF."""
    codes_of_blocks: str
    framing: Framing


class _Multiple(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family of which only a relative has been measured."""

    fitted_on: str
    like: str
    times: float


class _Fit(msgspec.Struct, frozen=True, kw_only=True):
    fitted: str
    families: dict[str, Weights]
    multiples: dict[str, _Multiple]


_fit = msgspec.json.Decoder(_Fit)


@cache
def _families() -> dict[str, Family]:
    path = files("sash.counters").joinpath("estimate.json")
    fit = _fit.decode(path.read_bytes())
    families = {name: compiled(name, weights, version=fit.fitted) for name, weights in fit.families.items()}
    for name, multiple in fit.multiples.items():
        families[name] = _times(families[multiple.like], name, multiple)
    return families


def compiled(name: str, weights: Weights, *, version: str) -> Family:
    """A family with its tables ready to translate by."""
    return Family(
        name=name,
        fitted_on=weights.fitted_on,
        version=version,
        per_character=weights.per_character,
        per_edge=weights.per_edge,
        per_beyond=weights.per_beyond,
        per_continuing=weights.per_continuing,
        per_bit_leading=weights.per_bit_leading,
        per_bit_continuing=weights.per_bit_continuing,
        per_bit_of_block=weights.per_bit_of_block,
        codes=bytes.fromhex(weights.codes),
        bits_leading=bytes(0xC0) + _bits(weights.codes_leading),
        bits_continuing=bytes(0x80) + _bits(weights.codes_continuing) + bytes(0x40),
        bits_of_blocks=_bits(weights.codes_of_blocks),
        framing=weights.framing,
    )


def _bits(codes: str) -> bytes:
    """How many bits each of these codes has: of some tables nothing else is asked."""
    return bytes(code.bit_count() for code in bytes.fromhex(codes))


def _times(family: Family, name: str, multiple: _Multiple) -> Family:
    framing = {part: tokens * multiple.times for part, tokens in msgspec.structs.asdict(family.framing).items()}
    return msgspec.structs.replace(
        family,
        name=name,
        fitted_on=multiple.fitted_on,
        per_character=family.per_character * multiple.times,
        per_edge=family.per_edge * multiple.times,
        per_beyond=family.per_beyond * multiple.times,
        per_continuing=family.per_continuing * multiple.times,
        per_bit_leading=family.per_bit_leading * multiple.times,
        per_bit_continuing=family.per_bit_continuing * multiple.times,
        per_bit_of_block=family.per_bit_of_block * multiple.times,
        framing=Framing(**framing),
    )
