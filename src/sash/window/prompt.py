"""A window as one prompt of text (seed 004)."""

from __future__ import annotations

from sash.core.fold import Fold
from sash.core.live import LiveTurn
from sash.core.policy import Policy
from sash.wire.flat import Exchange, compose


def flat_prompt(fold: Fold, policy: Policy) -> tuple[str, tuple[int, ...]]:
    """The newest turns before the current one and what the user said last, and the numbers of those turns."""
    turns = [turn for number, turn in fold.turns.items() if number > 0]
    said = _said(turns[-1], "user") if turns else ""
    exchanges = [Exchange(_said(turn, "user"), _said(turn, "assistant")) for turn in turns[:-1]]
    recent = policy.recent_turns or len(exchanges)
    summary = fold.summary.whole if fold.summary is not None else ""
    prompt = compose(said, summary=summary, turns=exchanges, recent_turns=recent, max_chars=policy.max_chars)
    return prompt.text, tuple(turn.number for turn in turns[len(turns) - 1 - prompt.turns :] if turns)


def _said(turn: LiveTurn, role: str) -> str:
    return "\n".join(live.message.text for live in turn.messages() if live.message.role == role and live.message.text)
