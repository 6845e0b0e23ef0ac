"""Why a request does not fit its window: what takes the most of it, why that may not leave, and what helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sash.core.fold import Fold
from sash.core.remedy import larger_window
from sash.core.tokens import TokenCount
from sash.errors import WindowOverflow
from sash.window.parts import AROUND, parts_of
from sash.window.prepared import Prepared

NAMED = 3
"""So many of the largest parts are named."""
_NAMES = {
    "system": "system prompt",
    "user": "the user's own words",
    "assistant": "the assistant's words",
    "digest": "what sash adds",
    "results": "tool results",
    "calls": "tool calls",
    "told as text": "steps told as text",
    AROUND: "what stands around messages",
}


def overflow(sent: Prepared, *, fixed: TokenCount, answer: int) -> WindowOverflow:
    """The error of a request that has given way as far as it may, and is still too large; `answer` was asked for."""
    fold, limits = sent.fold, sent.fold.limits
    parts = {name: count for name, count in parts_of(sent).items() if count.value}
    alone = {name: count for name, count in parts.items() if name in ("system", "tools")}
    if limits.reserve_by == "max_tokens" and sent.tokens.value < limits.window:
        problem = (
            f"the request takes {sent.tokens} and the answer asked for (`max_tokens`) {answer:,} "
            f"of a window of {limits.window:,}"
        )
        remedies = [f"ask for an answer of at most {limits.window - sent.tokens.value:,}"]
        if sent.tokens.value > limits.reserve:
            problem, remedies = f"{problem}: {_largest(parts)}", [*remedies, *_less(fold, parts)]
    elif fixed.value > limits.room:
        problem = f"{_ALONE[frozenset(alone)]} {fixed} of {_room(fold)}{_sizes(alone)}"
        remedies = list(_less(fold, alone))
    else:
        problem = f"the request takes {sent.tokens} of {_room(fold)}: {_largest(parts)}{_why(fold)}"
        remedies = list(_less(fold, parts))
    if limits.reserve_by == "reserve_tokens" and sent.tokens.value <= limits.window:
        remedies.append("lower `reserve_tokens`")
    return WindowOverflow(
        f"{problem}; {', or '.join([*remedies, larger_window(limits)])}",
        fixed=fixed,
        tokens=sent.tokens,
        window=limits.window,
        reserve=limits.reserve,
        parts=parts,
    )


_ALONE = {
    frozenset({"system", "tools"}): "system prompt and tools alone take",
    frozenset({"system"}): "the system prompt alone takes",
    frozenset({"tools"}): "tools alone take",
    frozenset(): "what every request takes is",
}


def _sizes(alone: Mapping[str, TokenCount]) -> str:
    return f": {_largest(alone)}" if len(alone) > 1 else ""


def _room(fold: Fold) -> str:
    limits = fold.limits
    if limits.reserve_by == "max_input":
        return f"the {limits.room:,} tokens that the model reads"
    kept = f" with {limits.reserve:,} kept for the answer" if limits.reserve else ""
    return f"a window of {limits.window:,}{kept}"


def _largest(parts: Mapping[str, TokenCount]) -> str:
    return ", ".join(f"{_NAMES.get(name, name)} {count}" for name, count in list(parts.items())[:NAMED])


def _why(fold: Fold) -> str:
    """What keeps it from giving way further."""
    if fold.limits.step_digest:
        return ""
    turns = min(len(fold.turns), fold.policy.min_turns)
    kept = f"keeps its newest {turns} turns" if turns > 1 else "keeps the current turn"
    return f"; its policy shortens no turn and {kept}"


def _less(fold: Fold, parts: Mapping[str, TokenCount]) -> Iterator[str]:
    """How the request itself can be made smaller, by what takes the most of it."""
    largest = max(parts, key=lambda name: parts[name].value, default="")
    if largest in ("system", "tools"):
        yield "shorten the system prompt" if largest == "system" else "send fewer tools"
    elif largest == "user":
        yield "shorten the input"
    elif not fold.limits.step_digest:
        if min(len(fold.turns), fold.policy.min_turns) > 1:
            yield "lower `min_turns`"
        yield "set `step_digest_tokens`, which lets it shorten"
    elif fold.pinned & fold.turns.keys():
        yield "unpin a turn"
