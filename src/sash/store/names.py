"""Names and times that come from outside: whatever every database can hold will do."""

from __future__ import annotations

import math

from sash.errors import InvalidName, StoreError

LONGEST = 512
"""Characters."""


def checked(what: str, name: str, *, empty: bool = False) -> str:
    """The name itself, where it can be one."""
    if not isinstance(name, str):
        raise InvalidName(what, name, "a text")
    if not name and not empty:
        raise InvalidName(what, name, "at least one character")
    if len(name) > LONGEST:
        raise InvalidName(what, name[:40] + "...", f"at most {LONGEST} characters")
    if "\0" in name:
        raise InvalidName(what, name, "no NUL characters")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidName(what, name, "whole characters, no halves of a surrogate pair") from None
    return name


def tenant_name(tenant: str) -> str:
    """A tenant may have the empty name: whoever is alone needs none."""
    return checked("tenant", tenant, empty=True)


def said_at(at: float | None) -> float | None:
    """A time as the caller says; databases disagree on what is no number, and on a zero with a sign."""
    if at is None:
        return None
    if not math.isfinite(at):
        raise StoreError(f"{at!r} is no time; it takes seconds since 1970, or None")
    return float(at) + 0.0
