"""Whether a provider's complaint means that a request is too long for its model."""

from __future__ import annotations

import re

import msgspec

_wordings = re.compile(
    r"prompt is too long"
    r"|exceeds? (?:the |your )?(?:available |model'?s? |maximum )?(?:context|input) (?:size|limit|window|length)"
    r"|exceed_context_size"
    r"|context_length_exceeded|model_max_prompt_tokens_exceeded"
    r"|max(?:imum)? context (?:length|window)"
    r"|context (?:length|window|size) (?:of|is|was)? ?(?:only )?[\d,]* ?(?:tokens )?(?:exceeded|too small)"
    r"|too many (?:input )?tokens|input (?:token count|length|is too long)|input is too long"
    r"|too large for (?:the )?model|reduce the length of (?:the )?(?:messages|prompt)"
    r"|input length and `?max_tokens`? exceed",
    re.IGNORECASE,
)
_not_it = re.compile(r"per[ _-]?(?:minute|day|second)|rate.?limit|\bTPM\b|quota", re.IGNORECASE)
"""Too many tokens a minute is another matter: there waiting helps."""
_pairs = (
    re.compile(r"([\d,]+) tokens? ?> ?([\d,]+)"),
    re.compile(r"request \(([\d,]+) tokens\).{0,60}?\(([\d,]+) tokens\)"),
    re.compile(r"(?:requested|resulted in|has|contains|using) (?:about )?([\d,]+) (?:input )?tokens"),
    re.compile(r"token count \(?([\d,]+)\)?"),
)
_limit = re.compile(r"(?:maximum|max|limit|up to|context (?:length|size|window))[^\d]{0,40}([\d,]+)", re.IGNORECASE)


class Overflow(msgspec.Struct, frozen=True, kw_only=True):
    """A request was too long, in the provider's own numbers where it told any."""

    tokens: int | None = None
    limit: int | None = None


def overflow_of(complaint: str) -> Overflow | None:
    """What a complaint says about a request that is too long; None when it is about something else."""
    complaint = complaint[:4_000]
    if not _wordings.search(complaint) or _not_it.search(complaint):
        return None
    tokens = limit = None
    for pair in _pairs:
        if found := pair.search(complaint):
            tokens = _number(found[1])
            limit = _number(found[2]) if pair.groups > 1 else None
            break
    if limit is None and (found := _limit.search(complaint)):
        limit = _number(found[1])
    return Overflow(tokens=tokens, limit=limit if limit != tokens else None)


def _number(text: str) -> int | None:
    digits = text.replace(",", "")
    return int(digits) if digits and len(digits) < 12 else None
