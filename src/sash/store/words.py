"""
The words of a text, the same for every store.

Databases disagree on what a word is: one reads `a.b` as a host name, another keeps Chinese
sentences whole. So words are cut here, and the database's index only gets to see them.
"""

from __future__ import annotations

import re
from hashlib import blake2b

from sash.store.rows import Matching

LONGEST = 64
"""Characters of a word that are looked at."""

_WORD = re.compile(
    # Scripts that put no spaces between words: each character stands for itself, and a run of them is a phrase.
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """The text as every database takes it: without NUL and halves of characters. Bodies keep them; words need not."""
    return text if text.isascii() and "\0" not in text else _UNSTORABLE.sub("\ufffd", text)


def words(text: str) -> list[str]:
    """The words of a text in their order, without regard to upper and lower case."""
    # Plain text is most of what there is, and this is seven times as fast on it.
    found = text.translate(_PLAIN).split() if text.isascii() else _WORD.findall(text.casefold())
    return [word[:LONGEST] for word in found] if found and max(map(len, found)) > LONGEST else found


def phrases(text: str, match: Matching) -> list[list[str]]:
    """What has to stand in a message, word by word, for it to be found. A text without any word finds nothing."""
    pieces = [text] if match == "phrase" else text.split()
    return [phrase for piece in pieces if (phrase := words(piece))]


def places(tenant: str, thread: int | None) -> list[str]:
    """
    A tenant, and a thread, as words.

    An index is asked for them together with what is searched, so that nobody's search
    walks through another's messages. Some indexes take no long words, hence the digest.
    """
    owner = f"n{blake2b(tenant.encode(), digest_size=16).hexdigest()}"
    return [owner] if thread is None else [owner, f"t{thread}"]


def holds(text: str, wanted: list[list[str]], match: Matching) -> bool:
    """Whether the phrases stand in the text."""
    said = f" {' '.join(words(text))} "
    enough = any if match == "any" else all
    return enough(f" {' '.join(phrase)} " in said for phrase in wanted)
