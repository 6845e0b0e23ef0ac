"""What a thread is called that nobody gave a title."""

from __future__ import annotations

from sash.core.turn import title_of, wrote
from sash.thread.log import message_of
from sash.thread.thread import Thread

TURNS = 5
"""So many turns are looked at: the first may hold nothing but a picture."""


def first_words(thread: Thread) -> str:
    """The first words that the user wrote in it; nothing where there are none yet."""
    for number in range(1, TURNS + 1):
        for event in thread.said(number):
            message = message_of(event)
            if wrote(message) and (title := title_of(message)):
                return title
    return ""
