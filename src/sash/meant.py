"""A name that there is not, and the one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def meant(name: str, known: Iterable[str], *, alike: float = 0.6) -> str:
    """The known name that is most like this one; empty where none is."""
    # Looked for only once something is wrong: its module takes a moment to import.
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=alike)), "")
