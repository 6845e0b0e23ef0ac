"""Handles: how what is shown in part is asked for as a whole."""

from __future__ import annotations

from sash.core.frame import place_of
from sash.core.message import Block
from sash.errors import NotFound, UnknownHandle
from sash.thread.log import Log, message_of


def block_of(handle: str, log: Log) -> Block:
    """The block that a handle names."""
    position, place = place_of(handle)
    try:
        event = log.event(position + 1)
        if event.kind == "message":
            return message_of(event).blocks[place]
    except (IndexError, NotFound):
        pass
    raise UnknownHandle(handle)
