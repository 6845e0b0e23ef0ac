"""Why a frame was made, as the end of a sentence."""

from __future__ import annotations

from sash.core.frame import Frame, Reason

BECAUSE: dict[Reason, str] = {
    "start": "nothing has happened yet",
    "high mark": "history was above its high mark",
    "between turns": "the next turn would have taken history above its high mark",
    "cold cache": "the pause was longer than the provider keeps its cache, so sliding cost little",
    "window": "the model's window was full",
    "bytes": "the request's body was too large to send",
    "recent turns": "the policy keeps only so many of the newest turns",
    "compact": "somebody compacted",
    "pin": "a turn was pinned",
    "unpin": "a turn was unpinned",
    "undo": "what came before was undone",
    "rewind": "the thread was rewound",
    "configure": "model or policy changed",
    "redact": "something was redacted",
    "overflow": "the provider refused the request as too long",
    "summary": "its summary was edited or written anew",
    "forget": "a fact was forgotten",
}

_UNDONE: dict[Reason, str] = {
    "compact": "the compact",
    "pin": "the pin",
    "unpin": "the unpin",
    "rewind": "the rewind",
    "summary": "the summary",
    "forget": "the forgetting",
}
"""What an event did; all others, a slide."""


def because(frame: Frame, *, undone: str = "") -> str:
    """Why this frame was made; of an undo with what was `undone`, where that is known."""
    return f"{undone} was undone" if undone else BECAUSE[frame.reason]


def what_was(reason: Reason, frame: int = 0) -> str:
    """What an undo takes back, with the number of the frame that it had led to."""
    words = _UNDONE.get(reason, "the slide")
    return f"{words} of frame {frame}" if frame else words
