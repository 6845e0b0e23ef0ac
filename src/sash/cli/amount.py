"""How many of something, in words."""

from __future__ import annotations


def amount(number: int, noun: str) -> str:
    """`1 turn`, `1,204 turns`."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"
