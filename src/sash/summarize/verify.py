"""
A model's summary, checked by code before anybody sees it.

What it says must be in the turns it cites: quotations word for word, paths, names and numbers
as they stand, and the rest at least in its words. The user's wishes are kept as quotations of
the user and of nobody else. What is not supported is taken out and counted; an answer that is
no summary at all is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from sash.errors import SummaryRejected
from sash.providers import Answer
from sash.summarize.evidence import Evidence, Words, plain, stems
from sash.summarize.sections import OWN_WORDS, Line, parsed, within, written

SUPPORT = 0.4
"""Share of a line's longer words that its turns must hold, in some form."""
OWN_SUPPORT = 0.75
"""The same for what reads like an instruction: there the user's own words must hold it."""
MOST_REMOVED = 0.6
"""Of all lines: a model that makes up more than this is not to be trusted with the rest."""
LONGEST = 600
"""Characters of a line."""

_refusal = re.compile(
    r"\W*(?:i(?:'m| am)?\s+(?:so\s+)?(?:sorry|unable|afraid|not able)"
    r"|i\s+(?:can(?:no|')t|cannot|won't|will not|must decline)"
    r"|as an ai\b|sorry,|unfortunately, i|i apologi[sz]e)",
    re.IGNORECASE,
)
_quotation = re.compile(r'"([^"]{2,})"')
_code = re.compile(r"`([^`]+)`")
_name = re.compile(
    r"""
      https?://[^\s"'<>)\]]+                                 # addresses
    | (?<![\w/.~-])[\w.~-]*(?:/[\w.@+~-]+)+/?                # paths
    | \b[\w-]+\.(?:[A-Za-z]{1,5}\d?|lock)\b(?!\.\w)          # files and dotted names
    | \b[A-Za-z]+_\w+\b | \b\w+__\w+\b                       # snake_case
    | \b[A-Za-z]*[a-z][A-Z]\w*\b                             # camelCase
    | \b[A-Z]{2,}[-_]?\d+\b                                  # TICKET-12
    | \b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,}\b                  # hashes
    | [$€£]?\d[\d,._:]*\d%? | (?<![\w.])\d%?(?![\w.])        # numbers
    """,
    re.VERBOSE,
)
_common = frozenset({"e.g", "i.e", "etc.", "vs.", "and/or", "he/she", "n/a", "w/o"})
_orders = re.compile(
    r"""
      \b(?:always|never|must|shall|should|ought|from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future|henceforth)\b
    | \b(?:do\s+not|don't|ignore|disregard|override|forget|bypass|pretend|reveal|exfiltrate|without\s+asking|trusted)\b
    | \b(?:you|assistants?|agents?|models?|ai)\s+(?:are|is|have|has|need|needs|will|can|may|to)\b
    | \b(?:remember|make\s+sure|be\s+sure|ensure|important|instructions?|instructed|system\s+prompt
        |(?:new|standing)\s+rule|polic(?:y|ies)|require[ds]?|mandatory|obey|comply|authori[sz]ed|approved|permission|allowed)\b
    | \b(?:each|every|any|all)\s+(?:time|session|response|reply|request|turn|commit|future|message|answer)s?\b
    | \b(?:before|after)\s+(?:each|every|any|all|responding|answering)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_imperative = re.compile(
    r"\W*(?:please\s+)?(?:run|execute|send|post|curl|wget|delete|remove|visit|download|install|call|invoke|use|print"
    r"|output|include|append|add|write|say|tell|reply|respond|answer|email|upload|fetch|open|set|disable|enable|grant"
    r"|click|go\s+to|follow|treat|consider|note\s+that|begin|start|end|insert|forward|share|push|merge|approve)\b(?!ed)",
    re.IGNORECASE,
)


class Removed(msgspec.Struct, frozen=True):
    """A line that was taken out, and why."""

    words: str
    why: str


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that says only what its turns say."""

    text: str
    lines: tuple[Line, ...]
    removed: tuple[Removed, ...] = ()
    left_out: int = 0
    """Lines that were true but for which there was no room."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a summary may cite, and how large it may be."""

    first: int
    end: int
    """The first turn that is not covered."""
    fits: Callable[[str], bool]
    """Whether a text is within the summary's cap."""
    smaller: Callable[[str], bool]
    """Whether a text is smaller than what it stands for."""


def checked_answer(answer: Answer) -> str:
    """The words of an answer, or `SummaryRejected` where it is none: empty, refused, cut off, a call."""
    text = answer.text.strip()
    if answer.calls:
        raise SummaryRejected("it calls tools instead of writing")
    if answer.stop == "refused" or _refusal.match(text):
        raise SummaryRejected("the model refused")
    if answer.stop == "length":
        raise SummaryRejected("it was cut off")
    if not text:
        raise SummaryRejected("it is empty")
    return text


def verified(text: str, evidence: Evidence, bounds: Bounds, *, carried: Sequence[Line] = ()) -> Verified:
    """
    A summary of lines that hold, or `SummaryRejected` where not enough of it does.

    `carried` are lines of an earlier summary that must not be lost, whatever the model thinks.
    """
    found = parsed(text)
    if not found.lines:
        raise SummaryRejected("it has no line in any section: it continues the conversation, or says something else")
    kept: list[Line] = []
    removed = [Removed(row[:LONGEST], "it stands in no section") for row in found.stray]
    unsupported = 0
    for line in dict.fromkeys(found.lines):
        checked = _checked(line, evidence, bounds)
        if isinstance(checked, Removed):
            removed.append(checked)
            unsupported += 1
        else:
            kept += checked
    if unsupported > MOST_REMOVED * len(found.lines):
        raise SummaryRejected(f"{unsupported} of its {len(found.lines)} lines are not in the turns they cite")
    kept = list(dict.fromkeys([*_not_lost(carried, kept), *kept]))
    lines = within(kept, bounds.fits)
    if not lines:
        raise SummaryRejected("nothing of it holds" if not kept else "not even its first line is within the cap")
    whole = written(lines)
    if not bounds.smaller(whole):
        raise SummaryRejected("it is larger than what it stands for")
    return Verified(text=whole, lines=lines, removed=tuple(removed), left_out=len(kept) - len(lines))


def _not_lost(carried: Sequence[Line], kept: Sequence[Line]) -> list[Line]:
    told = {plain(line.words) for line in kept if line.section in OWN_WORDS}
    return [line for line in carried if line.section in OWN_WORDS and plain(line.words) not in told]


def _checked(line: Line, evidence: Evidence, bounds: Bounds) -> list[Line] | Removed:
    """The line as it may stand, or why it may not."""

    def out(why: str) -> Removed:
        return Removed(line.words[:LONGEST], why)

    if not line.turns:
        return out("it cites no turn")
    cited = {turn: words for turn in line.turns if (words := _within(turn, evidence, bounds)) is not None}
    if not cited:
        return out("it cites no turn that it may rest on")
    if len(line.words) > LONGEST:
        return out("it is too long for a line")
    if line.section in OWN_WORDS:
        return _own_words(line, cited) or out("it is no quotation of the user's own words in the turns it cites")
    if missing := _missing(line, list(cited.values())):
        return out(f"{missing!r} is not in the turns it cites")
    if _reads_as_order(line) and not _ordered_by_user(line, list(cited.values())):
        return out("it reads as an instruction that the user did not give")
    wanted = stems(_quotation.sub(" ", _code.sub(" ", line.words)))
    if wanted and len(wanted & set().union(*(words.all_stems for words in cited.values()))) < SUPPORT * len(wanted):
        return out("the turns it cites speak of something else")
    return [Line(line.section, line.words, tuple(cited))]


def _within(turn: int, evidence: Evidence, bounds: Bounds) -> Words | None:
    return evidence(turn) if bounds.first <= turn < bounds.end else None


def _own_words(line: Line, cited: dict[int, Words]) -> list[Line]:
    """What of a line is the user's own words: its quotations, each with the turns it was said in, and nothing else."""
    lines = []
    spelled = plain(line.words)
    for quotation in _quotation.findall(spelled) or [spelled.strip("'")]:
        said_in = tuple(turn for turn, words in cited.items() if quotation.rstrip(".…") in words.user)
        if said_in and len(quotation) > _SHORTEST_QUOTE:
            lines.append(Line(line.section, f'"{quotation}"', said_in))
    return lines


_SHORTEST_QUOTE = 3


def _missing(line: Line, cited: Sequence[Words]) -> str:
    """The first quotation, path, name or number of a line that none of its turns holds."""
    texts = [words.everything for words in cited]
    for name in names_of(line.words):
        if not any(_holds(text, name) for text in texts):
            return name
    return ""


def names_of(words: str) -> list[str]:
    """What must be copied exactly: quotations, code, paths, identifiers, addresses and numbers."""
    spelled = plain(words)
    names = [found.rstrip(".…") for found in (*_quotation.findall(spelled), *_code.findall(spelled))]
    for found in _name.finditer(_code.sub(" ", _quotation.sub(" ", spelled))):
        name = found[0].strip(".,:;-~")
        # A few counts are made by whoever summarizes.
        if name and name.lower() not in _common and not (len(name) == 1 and name in "123"):
            names.append(name)
    return names


def _holds(text: str, name: str) -> bool:
    if name.rstrip("%").isdigit():
        # A number is not found inside of a larger one.
        return re.search(rf"(?<!\d){re.escape(name)}(?!\d)", text) is not None
    return name in text or name.lstrip("./") in text


def _reads_as_order(line: Line) -> bool:
    bare = _quotation.sub(" ", line.words)
    return _orders.search(line.words) is not None or _imperative.match(bare) is not None


def _ordered_by_user(line: Line, cited: Sequence[Words]) -> bool:
    """Whether the user said so; what only begins like an order may be the assistant's own decision too."""
    wanted = stems(line.words)
    if not wanted:
        return False
    strict = _orders.search(line.words) is not None
    said: set[str] = set()
    for words in cited:
        said |= words.user_stems if strict else words.spoken_stems
    return len(wanted & said) >= OWN_SUPPORT * len(wanted)
