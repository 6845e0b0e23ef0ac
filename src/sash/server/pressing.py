"""What a list shows of a thread without reading it again while nothing has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

import msgspec

from sash.core.policy import Policy
from sash.core.pressure import Pressure
from sash.store import ThreadRow
from sash.thread import Thread, first_words

MOST = 4096


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """A thread at a glance."""

    title: str
    """The first words that were said in it."""
    model: str
    policy: Policy
    turns: int
    boundary: int
    pressure: Pressure
    window_known: bool
    health: tuple[str, ...]


class Glances:
    """Glances by the state that they were taken of."""

    def __init__(self, look: Callable[[ThreadRow], Glance]) -> None:
        self._look = look
        self._known: OrderedDict[tuple[str, int], tuple[int, Glance]] = OrderedDict()
        self._lock = Lock()

    def at(self, row: ThreadRow) -> Glance:
        """The thread as it stands in this row."""
        place = row.tenant, row.id
        with self._lock:
            known = self._known.get(place)
            if known is not None and known[0] == row.last_seq:
                self._known.move_to_end(place)
                return known[1]
        glance = self._look(row)
        with self._lock:
            self._known[place] = row.last_seq, glance
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return glance

    def drop(self, row: ThreadRow) -> None:
        """The thread is gone."""
        with self._lock:
            self._known.pop((row.tenant, row.id), None)


def glance_at(thread: Thread) -> Glance:
    """What a list shows of a thread."""
    context, setup = thread.context(), thread.setup
    fold = thread.window.fold
    return Glance(
        title=first_words(thread),
        model=setup.model,
        policy=setup.policy,
        turns=fold.placing.taken,
        boundary=context.boundary,
        pressure=context.pressure,
        window_known=context.window_known,
        health=() if fold.frame.fits else ("what may not leave is over the budget",),
    )
