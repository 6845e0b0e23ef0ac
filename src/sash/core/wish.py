"""What the user wants from here on, in their own words: standing instructions and corrections."""

from __future__ import annotations

import re
from collections.abc import Sequence

_standing = re.compile(
    r"""
      (?:^(?:[ \t]*[-*+•][ \t]+)?|[.,;:!?(]\s*|\b(?:please|should|must|you|we|and|but|so|then|just|to|will)\s+)
      (?:always\b|never\b(?!\s+mind)|(?:don['’]?t|do\s+not)\s+(?!know\b|think\b|worry\b|see\b|have\b|understand\b))
    | \bmust(?:n['’]?t)?\b(?!\s+have) | \bfrom\s+(?:now|here)\s+on\b | \bgoing\s+forward\b
    | \b(?:in|for)\s+(?:the\s+)?future\b | \bevery\s+time\b | \bwhenever\s+you\b | \bremember\s*(?:to|that|this|:|,)
    | \bkeep\s+in\s+mind\b | \bmake\s+sure\b | \bat\s+all\s+times\b | \bunder\s+no\s+circumstances\b
    | \bby\s+default\b | \bi\s+(?:prefer|insist)\b | \brule\s*:
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_correction = re.compile(
    r"""
      \A\W*(?:no|nope|nah|wait|actually|wrong|not\s+(?:quite|that|what))\b(?!\s+(?:problem|worries))
    | \A\W*stop(?:\s*[,.!]|\s+\w+ing\b|\s*\Z) | (?:^|[.!?]\s+)(?:no|nope)\s*[,.!:;-] | \binstead\b | \brather\s+than\b
    | \bi\s+(?:said|meant|told\s+you)\b | \bthat(?:['’]?s|\s+is)\s+(?:not|wrong|incorrect)\b | \bnot\s+what\s+i\b
    | \byou\s+(?:forgot|misunderstood|missed)\b | \b(?:revert|undo|roll\s+back)\s+(?:that|this|it|your|the)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_STANDING = (
    "always never don't dont don’t not must from forward future every whenever remember mind sure times circumstances "
    "default prefer insist rule"
).split()
_CORRECTION = ("no nah wait actually wrong stop instead rather said meant told that you revert undo roll").split()
"""One of these words stands wherever the pattern finds something: most texts have none, and that is seen quickly."""
_CORRECTION_REACH = 500
"""Who corrects says so at once; further down the same words mean less."""


def is_standing(words: str) -> bool:
    """Whether somebody says how things are to be done from here on, not only now."""
    return has_any(words, _STANDING) and _standing.search(words) is not None


def is_correction(words: str) -> bool:
    """Whether somebody says that something was wrong."""
    words = words[:_CORRECTION_REACH]
    return has_any(words, _CORRECTION) and _correction.search(words) is not None


def has_any(words: str, wanted: Sequence[str]) -> bool:
    """Whether one of the words, in small letters, stands anywhere in a text."""
    lower = words.lower()
    for word in wanted:  # noqa: SIM110  (a generator takes twice as long, and every message of the user's comes by here)
        if word in lower:
            return True
    return False


_no_task = re.compile(r"/[\w:-]+\Z|Here is a demonstration of how\b")


def is_task(words: str) -> bool:
    """Whether words may say what is to be done: setting up the program does not, nor what shows how tasks are done."""
    return _no_task.match(words) is None


_not_typed = re.compile(r"```.*?(?:```|\Z)|<([a-z]+-[a-z-]+)>.*?</\1>|^>.*?$", re.DOTALL | re.MULTILINE)
_left_open = re.compile(r"<[a-z]+-[a-z-]+>.*\Z", re.DOTALL)
_opened_before = re.compile(r"\A.*</[a-z]+-[a-z-]+>", re.DOTALL)
_REACH = 2_000


def own_words(text: str) -> str:
    """
    What the user typed, without code, quotes and what a harness puts between tags.

    People say what they want before or after what they paste: of a long text only both
    ends are looked at.
    """
    if ">" not in text and "```" not in text:
        # Nothing in it can be one of those.
        return text if len(text) <= 2 * _REACH else f"{text[:_REACH]}\n{text[-_REACH:]}"
    if len(text) <= 2 * _REACH:
        return _not_typed.sub("", text)
    head = _left_open.sub("", _not_typed.sub("", text[:_REACH]))
    tail = _opened_before.sub("", _not_typed.sub("", text[-_REACH:]))
    return f"{head}\n{tail}"


LONGEST = 400
"""Characters of a sentence that stands; who says more than that in one go tells a story."""
MOST = 6
"""Sentences of one message that stand."""

_sentence_end = re.compile(r"(?<=[.!?])\s+|\n+")


def wishes_in(text: str) -> list[str]:
    """The sentences of a message that say how things are to be, word for word."""
    words = own_words(text)
    if not is_standing(words) and not is_correction(words):
        return []
    sentences = [sentence.strip() for sentence in _sentence_end.split(words)]
    found = [sentence for sentence in sentences if _stands(sentence)]
    return found[:MOST]


def _stands(sentence: str) -> bool:
    return len(sentence) <= LONGEST and (is_standing(sentence) or is_correction(sentence))
