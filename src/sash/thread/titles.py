"""What a thread is called that nobody gave a title."""

from __future__ import annotations

from sash.core.turn import title_of, wrote
from sash.core.wish import is_task
from sash.thread.log import message_of
from sash.thread.thread import Thread

TURNS = 5
"""So many turns are looked at: the first may hold nothing but a picture, or set up the program."""


def first_words(thread: Thread) -> str:
    """The first words that the user wrote in it, of a task where there is one; nothing where there are none yet."""
    first = ""
    for number in range(1, TURNS + 1):
        for event in thread.said(number):
            message = message_of(event)
            if wrote(message) and (title := title_of(message)):
                if is_task(title):
                    return title
                first = first or title
    return first
