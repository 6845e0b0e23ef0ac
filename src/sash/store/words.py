"""
The words of a text, the same for every store.

Databases disagree on what a word is: one reads `a.b` as a host name, another keeps Chinese
sentences whole. So words are cut here, and the database's index only gets to see them.
"""

from __future__ import annotations

import re
from collections import deque
from hashlib import blake2b
from itertools import islice

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


def passage(text: str, wanted: str, *, before: int, most: int) -> str:
    """
    The part of a text where most of what was looked for stands together, on one line.

    It is looked for word by word, as the index does: a part of another word is no hit.
    """
    start = _best_place(text, phrases(wanted, "all"), most - before)
    first, last = max(0, start - before), max(0, start - before) + most
    if first:
        # No word is shown from its middle, unless it goes on for longer than what is shown before the hit.
        space = _SPACE.search(text, first - 1, start)
        first = space.end() if space is not None else first
    shown = " ".join(text[first:last].split())
    return f"{'… ' if first else ''}{shown}{' …' if last < len(text) else ''}"


_SPACE = re.compile(r"\s+")


def _best_place(text: str, wanted: list[list[str]], reach: int) -> int:
    """Where the first stretch of a text begins that holds the most of these phrases; 0 where none stands in it."""
    last = {phrase[-1] for phrase in wanted}
    said: deque[tuple[str, int]] = deque(maxlen=max(map(len, wanted), default=1))
    near: deque[tuple[int, int]] = deque()
    """The hits that stand no further apart: their places, and which of the phrases each is."""
    best = most = 0
    for match in _WORD.finditer(text):
        word = match.group().casefold()[:LONGEST]
        said.append((word, match.start()))
        if word not in last:
            continue
        before = [spoken for spoken, _ in said]
        near += [
            (said[-len(phrase)][1], which) for which, phrase in enumerate(wanted) if before[-len(phrase) :] == phrase
        ]
        # The first leaves when it is too far away, or stands here again.
        while near and (
            near[0][0] <= match.start() - reach or near[0][1] in [which for _, which in islice(near, 1, None)]
        ):
            near.popleft()
        together = len({which for _, which in near})
        if together > most:
            best, most = near[0][0], together
        if most == len(wanted):
            break
    return best


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
