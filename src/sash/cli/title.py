"""The title of a turn, as a line shows it."""

from __future__ import annotations

from sash.cli.characters import clean
from sash.cli.screen import Screen


def shown_title(out: Screen, title: str) -> str:
    """The title with nothing in it that a terminal obeys."""
    return out.drawn(clean(title)) if title else "(no words)"
