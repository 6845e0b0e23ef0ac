"""The title of a turn, as a line shows it."""

from __future__ import annotations

from sash.cli.characters import clean
from sash.cli.screen import Screen
from sash.core.turn import TITLE_LENGTH


def shown_title(out: Screen, title: str) -> str:
    """The title with nothing in it that a terminal obeys; marked where the user said more."""
    if not title:
        return "(no words)"
    return clean(title) + (out.drawn("…") if len(title) >= TITLE_LENGTH else "")
