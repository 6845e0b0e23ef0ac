"""
Exact counts, offline, through splintr-rs: OpenAI's vocabularies and those of the open models.

Text is never searched for special tokens: a user who types `<|endoftext|>` has typed
thirteen characters, and the provider reads them as such.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from sash.counters.estimate import Family, family
from sash.counters.texts import Tokenized
from sash.errors import MissingExtra, UnknownCounter

if TYPE_CHECKING:
    from splintr import AnyTokenizer

VOCABULARIES = (
    "o200k_base",
    "cl100k_base",
    "llama3",
    "llama2",
    "codellama",
    "qwen3",
    "deepseek_v3",
    "mistral_v1",
    "mistral_v2",
    "mistral_v3",
    "gemma2",
    "gemma3",
    "gemma4",
    "glm4",
    "kimi_k2",
    "kimi_k3",
    "phi4",
    "olmo2",
)

_LONGEST = 1_000_000
"""Half a second for the slowest text there is, one letter a million times."""
_LONGEST_SENTENCEPIECE = 250_000
"""These do not split text into words first and are slower on everything."""
_SENTENCEPIECE = frozenset({"llama2", "codellama", "mistral_v1", "mistral_v2", "gemma2", "gemma3"})


def exact(vocabulary: str, *, near: bool = False, beyond: Family | None = None) -> Tokenized:
    """
    The counter of a vocabulary.

    `near` marks it as standing in for a vocabulary that is not public but close: its counts
    are estimates. `beyond` estimates what is too long to be tokenized.
    """
    if vocabulary not in VOCABULARIES:
        raise UnknownCounter(f"exact:{vocabulary}", known=tuple(f"exact:{name}" for name in VOCABULARIES))
    tokenizer, version = _loaded(vocabulary)
    encode: Callable[[str], list[int]] = tokenizer.encode_ordinary
    return Tokenized(
        f"{'near' if near else 'exact'}:{vocabulary}",
        lambda text: len(encode(text)),
        version=f"splintr-{version}",
        longest=_LONGEST_SENTENCEPIECE if vocabulary in _SENTENCEPIECE else _LONGEST,
        beyond=beyond or family("generic"),
        near=near,
    )


@cache
def _loaded(vocabulary: str) -> tuple[AnyTokenizer, str]:
    try:
        import splintr
    except ModuleNotFoundError as error:
        if error.name != "splintr":
            raise
        raise MissingExtra(f"the counter 'exact:{vocabulary}'", extra="exact", package="splintr-rs") from None
    return splintr.Tokenizer.from_pretrained(vocabulary), splintr.__version__
