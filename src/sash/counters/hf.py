"""Exact counts by any `tokenizer.json` of Hugging Face that the user points to."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from sash.counters.estimate import family
from sash.counters.texts import Tokenized
from sash.errors import MissingExtra, UnreadableTokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LONGEST = 250_000


def hf(path: str | Path) -> Tokenized:
    """The counter of a `tokenizer.json`, or of the directory that holds one."""
    place = Path(path).expanduser()
    if place.is_dir():
        place /= "tokenizer.json"
    try:
        content = place.read_bytes()
    except OSError as error:
        raise UnreadableTokenizer(str(path), (error.strerror or "it cannot be read").lower()) from None
    digest = blake2b(content, digest_size=6).hexdigest()
    tokenizer = _loaded(str(place), digest)
    return Tokenized(
        f"hf:{place.parent.name or place.name}",
        # Boundary tokens belong to the template of the chat, not to the words.
        lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
        version=digest,
        longest=_LONGEST,
        beyond=family("generic"),
    )


@cache
def _loaded(path: str, digest: str) -> Tokenizer:  # noqa: ARG001 - a file that changed is another tokenizer
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        if error.name != "tokenizers":
            raise
        raise MissingExtra(f"the counter 'hf:{path}'", extra="hf", package="tokenizers") from None
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001 - the package raises bare Exception for a file that it cannot read
        raise UnreadableTokenizer(path, str(error)) from None
