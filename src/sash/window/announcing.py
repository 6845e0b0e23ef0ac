"""Telling of a frame: a line of the logger `sash`, and whoever asked to be told."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sash.core.frame import Frame

_log = logging.getLogger("sash")

OnFrame = Callable[[Frame], None]


def announce(frame: Frame, on_frame: OnFrame | None, *, thread: str | None = None) -> None:
    """
    Tell of a frame that is made, and where there is a thread, stored.

    What whoever is told does wrong undoes nothing: it is logged, and the call goes on. Else an
    append that was stored would look failed, and trying it again would say the same twice.
    """
    whose = "" if thread is None else f"thread {thread!r}, "
    _log.info(
        "%sframe %d: %s, boundary %d, %d tokens freed", whose, frame.number, frame.reason, frame.boundary, frame.freed
    )
    if on_frame is None:
        return
    try:
        on_frame(frame)
    except Exception:  # noqa: BLE001 - somebody else's code begins here: from there on this is the outermost frame
        _log.exception("%sframe %d: on_frame failed; the frame stands", whose, frame.number)
