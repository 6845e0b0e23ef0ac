"""A file that holds several conversations: which was read, and how to get at the others."""

from __future__ import annotations

from collections.abc import Sequence

from sash.cli.amount import amount
from sash.cli.characters import clean
from sash.cli.screen import Screen
from sash.transcripts import Part

NAMED = 6
"""So many other conversations of a file are named one by one."""


def which_of(parts: Sequence[Part]) -> str:
    """`one of 5 conversations in the file (part 0)`; empty where there are no others."""
    if not others_of(parts):
        return ""
    # Of a tree any entry can be named, also one that no conversation ends with.
    current = next((f" (part {part.name})" for part in parts if part.current), "")
    return f"one of {amount(len(parts), 'conversation')} in the file{clean(current)}"


def which_was_read(parts: Sequence[Part]) -> str:
    """The same for who only looks, with how to look at another."""
    which = which_of(parts)
    return f"{which}; --part reads another: {others_of(parts)}" if which else ""


def print_which(out: Screen, parts: Sequence[Part]) -> None:
    """A line of it, where there are several."""
    if line := which_was_read(parts):
        out.paragraph(line, "dim")


def others_of(parts: Sequence[Part]) -> str:
    """The names of the others, for `--part`; of many, the first and the last."""
    names = [part.name for part in parts if not part.current]
    return clean(" ".join(names) if len(names) <= NAMED else f"{names[0]} {names[1]} ... {names[-1]}")
