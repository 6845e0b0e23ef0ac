"""
Server-sent events, cut into frames without changing a byte.

A frame goes on when it is complete: what a broken connection leaves of one is never shown to
a client, whose parser would choke on it. A frame that grows past the limit goes on in pieces.
"""

from __future__ import annotations

import json
import re
from itertools import chain

from sash.providers.sse import EventReader, ServerEvent

LONGEST = 1_000_000
"""Bytes of one frame that are held back at the most."""
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
_OVERLAP = 3
"""An end may begin in one chunk and finish in the next."""


class Frames:
    """Cuts a stream into frames. All that is given out, put together, is all that came in."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._held = b""
        self._inside = False

    @property
    def between(self) -> bool:
        """Whether what was given out so far ends with the end of a frame."""
        return not self._inside

    def feed(self, chunk: bytes) -> list[tuple[bytes, bool]]:
        """What may go on now, each with whether it is a whole frame; a part of a longer one is not."""
        at = max(0, len(self._held) - _OVERLAP)
        held = self._held + chunk
        given: list[tuple[bytes, bool]] = []
        start = 0
        for end in _END.finditer(held, at):
            given.append((held[start : end.end()], not self._inside))
            self._inside = False
            start = end.end()
        held = held[start:]
        if len(held) > (_OVERLAP if self._inside else self._longest):
            # All but what could be the beginning of an end.
            given.append((held[:-_OVERLAP], False))
            self._inside = True
            held = held[-_OVERLAP:]
        self._held = held
        return given

    @property
    def cut_off(self) -> bool:
        """Whether the stream, if it ends here, ends inside a frame: one that lacks but its empty line is whole."""
        if self._inside:
            # The most of it has gone on, so that only its line can be judged.
            return not self._held.endswith((b"\n", b"\r"))
        return not _is_whole(self._held)

    def rest(self) -> bytes:
        """What is left when the stream has ended: a last frame that lacks its empty line, or nothing."""
        left, self._held = self._held, b""
        return left


_DONE = b"[DONE]"


def _is_whole(frame: bytes) -> bool:
    """Whether a frame without its end says all that it was to say; every wire's data is JSON, but for the last word."""
    data = payload(frame)[1]
    if not data:
        return all(line.startswith(b":") for line in frame.splitlines() if line)
    if data.strip() == _DONE:
        return True
    try:
        json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True


def payload(frame: bytes) -> tuple[str, bytes]:
    """A frame's event name and its data, as a client would read them."""
    reader = EventReader()
    event = next(chain(reader.feed(frame), reader.end()), ServerEvent("", b""))
    return event.name, event.data
