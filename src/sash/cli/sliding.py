"""When history slides next, and what of it is not sent, in words."""

from __future__ import annotations

from sash.cli.amount import amount
from sash.core.explanation import Explanation
from sash.core.policy import Policy
from sash.core.tokens import TokenCount, short
from sash.window import Context

SUSPENDED = "slides only when the window is full, since an undo"
LISTED = "`sash fit --json` lists them"


def when_it_slides(told: Explanation | Context, policy: Policy) -> str:
    """Above which mark, and how far; after an undo no mark is looked at."""
    marks = SUSPENDED if told.suspended else f"slides above {short(told.high)}, down to {short(told.low)}"
    keeps = turns_kept(policy)
    # Without a mark of its own only the window would slide such a history: long before that its turns leave.
    return ", and ".join(filter(None, (keeps, marks if policy.history_tokens or not keeps else "")))


def turns_kept(policy: Policy) -> str:
    """How many turns a policy keeps that goes by their number; empty of one that does not."""
    turns = policy.recent_turns
    return f"keeps the newest {amount(turns, 'turn')} before the current one" if turns else ""


def what_is_not_sent(now: Context, policy: Policy) -> str:
    """What history counts in the window and no request holds, and why; empty where all of it is sent."""
    if not now.unsent:
        return ""
    why = "a flat prompt has no place for it" if policy.flat else f"repairs leave it out, {LISTED}"
    return f"{TokenCount(now.unsent, now.used.exact)} that history counts is not sent: {why}"
