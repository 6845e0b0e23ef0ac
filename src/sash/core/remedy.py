"""What would give more room: by what binds, so that nobody is told to raise what holds nothing back."""

from __future__ import annotations

from sash.core.budget import SourceName
from sash.core.limits import Limits
from sash.core.policy import Policy

_CHANGES: dict[SourceName, str] = {
    "system": "shorten the system prompt",
    "tools": "send fewer tools",
    "skills": "set budget.skills",
    "knowledge": "set budget.knowledge",
    "cross-thread": "set budget.cross-thread",
    "facts": "set facts_tokens",
    "summary": "set summary_tokens and step_digest_tokens",
    "recalled": "set recall_tokens",
    "input": "ask with less",
}


def change_of(source: SourceName, policy: Policy, limits: Limits) -> str:
    """How a source can be given less, or more, in a few words."""
    if source == "reserve":
        words = {"max_tokens": "ask for a shorter answer", "max_input": "the model does not read it"}
        return words.get(limits.reserve_by, "set reserve_tokens")
    if source != "history":
        return _CHANGES[source]
    if policy.recent_turns and not policy.history_tokens:
        return "set recent_turns, or max_chars" if policy.flat else "set recent_turns"
    return f"{_change_of_history(limits)}, or compact"


def _change_of_history(limits: Limits) -> str:
    match limits.high_by:
        case "budget":
            return "set budget.history"
        case "fixed":
            return "send fewer tools"
        case "reserve" if limits.reserve_by == "max_tokens":
            return "ask for a shorter answer"
        case "reserve" if limits.reserve_by == "max_input":
            return "take a model that reads more"
        case "reserve":
            return "set reserve_tokens" if limits.window_by in _MODELS else "set window"
        case field:
            return f"set {field}"


def more_history(limits: Limits) -> str:
    """What would let history take more than it may now."""
    match limits.high_by:
        case "budget":
            return "raise `budget.history.ceiling`"
        case "fixed":
            return "send fewer tools, or shorten the system prompt"
        case "trigger_share" if limits.window_by not in _MODELS:
            return "raise `trigger_share` or `window`"
        case "reserve":
            return more_room(limits)
        case field:
            return f"raise `{field}`"


def more_room(limits: Limits) -> str:
    """What would let a request take more than it may now."""
    if limits.reserve_by == "max_tokens":
        return "ask for a shorter answer (`max_tokens`)"
    larger = larger_window(limits)
    if limits.reserve_by == "max_input" or not limits.reserve:
        return larger
    return f"{larger}, or lower `reserve_tokens`"


def larger_window(limits: Limits) -> str:
    """What has more room, whatever is asked of it."""
    if limits.reserve_by == "max_input":
        return "take a model that reads more"
    return "take a model with a larger window" if limits.window_by in _MODELS else "raise `window`"


_MODELS = ("model", "told")
"""Who speaks of a window that only another model would change."""
