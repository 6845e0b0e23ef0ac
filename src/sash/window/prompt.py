"""A window as one prompt of text (seed 004)."""

from __future__ import annotations

import msgspec

from sash.core.explanation import Explanation
from sash.core.fold import Fold
from sash.core.live import LiveTurn
from sash.core.message import Text
from sash.core.policy import Policy
from sash.core.tokens import Counter
from sash.wire.flat import Exchange, compose


class FlatPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A window as one text."""

    text: str
    turns: tuple[int, ...]
    """Numbers of the turns in it."""
    unsent: int
    """Tokens of what history counts and the text has not: other turns, calls and results, the end of a long input."""


def flat_prompt(fold: Fold, policy: Policy) -> FlatPrompt:
    """The newest turns before the current one, and what the user said last."""
    turns = [turn for number, turn in fold.turns.items() if number > 0]
    said = _said(turns[-1], "user") if turns else ""
    exchanges = [Exchange(_said(turn, "user"), _said(turn, "assistant")) for turn in turns[:-1]]
    recent = policy.recent_turns or len(exchanges)
    summary = fold.summary.whole if fold.summary is not None else ""
    prompt = compose(said, summary=summary, turns=exchanges, recent_turns=recent, max_chars=policy.max_chars)
    shown = tuple(turn.number for turn in turns[len(turns) - 1 - prompt.turns :] if turns)
    counter = fold.counter
    unsent = sum(_wordless(turn, counter) if turn.number in shown else turn.tokens for turn in fold.turns.values())
    if prompt.input_cut:
        unsent += max(0, counter.text(said).value - counter.text(prompt.text).value)
    return FlatPrompt(text=prompt.text, turns=shown, unsent=unsent)


def as_prompted(explanation: Explanation, fold: Fold, policy: Policy) -> Explanation:
    """The same, telling of turns of the window for which the prompt has no room that it has none."""
    sent = flat_prompt(fold, policy).turns
    why = f"not in the prompt: its {policy.max_chars:,} characters (`max_chars`) have no room for it"
    turns = tuple(
        msgspec.structs.replace(turn, reason=why) if turn.state == "live" and turn.number not in sent else turn
        for turn in explanation.turns
    )
    return msgspec.structs.replace(explanation, turns=turns)


def _said(turn: LiveTurn, role: str) -> str:
    return "\n".join(live.message.text for live in turn.messages() if live.message.role == role and live.message.text)


def _wordless(turn: LiveTurn, counter: Counter) -> int:
    """
    What a turn takes beside its words, which alone are told.

    An answer to the current input has its place too, as soon as the user goes on. What is counted
    around a message is nothing that anybody said.
    """
    tokens = 0
    for live in turn.messages():
        message = live.message
        others = [block for block in message.blocks if type(block) is not Text]
        if message.role in ("user", "assistant") and len(others) < len(message.blocks):
            tokens += sum(counter.block(block).value for block in others)
        elif message.blocks:
            tokens += live.size.tokens
    return min(tokens, turn.tokens)
