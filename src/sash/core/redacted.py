"""What stands in the place of words that were removed for good, so that the rest of a log reads as before."""

from __future__ import annotations

from sash.core.message import Message, Text, by_sash

REDACTED = by_sash("redacted")
"""Somebody said something here: where it was the user, it starts its turn as the words did."""
REDACTED_ASIDE = by_sash("redacted; not the user's own words")
"""In a message of the user's in which the user wrote nothing, so that it started no turn."""

TOMBSTONES = frozenset({REDACTED, REDACTED_ASIDE})


def stood_for_the_user(message: Message) -> bool:
    """Whether the user had written something in it that was removed since."""
    return message.role == "user" and any(type(block) is Text and block.text == REDACTED for block in message.blocks)
