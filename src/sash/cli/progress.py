"""Progress on stderr, for somebody who looks at it, of what takes longer than a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from types import TracebackType
from typing import TextIO, TypeVar

from sash.cli.characters import clean
from sash.cli.screen import screen_of

Item = TypeVar("Item")

PATIENCE = 1.0
"""Seconds before anything is shown."""
PACE = 0.1
"""Seconds between two looks."""


class Progress:
    """A line that is drawn over and over, and wiped in the end. Costs a look at the clock for each step."""

    def __init__(
        self, what: str, total: int = 0, *, stream: TextIO | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._screen = screen_of(stream if stream is not None else sys.stderr, os.environ)
        self._what, self._total, self._clock = clean(what), total, clock
        self._next = clock() + PATIENCE
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._draw("")

    def over(self, each: Iterable[Item]) -> Iterator[Item]:
        """The same, counted as it is gone through."""
        for done, item in enumerate(each):
            self.at(done)
            yield item

    def at(self, done: int) -> None:
        """So much is done."""
        if not self._screen.terminal or self._clock() < self._next:
            return
        self._next = self._clock() + PACE
        self._drawn = True
        share = min(1.0, done / self._total) if self._total else 0.0
        told = f" {self._screen.bar(share, 12)} {share:4.0%}" if self._total else f" {done:,}"
        room = self._screen.width - 1 - len(told)
        self._draw(self._screen.cut(self._what, max(2, room)) + told)

    def _draw(self, line: str) -> None:
        # Wiped by spaces, not by an escape sequence: a dumb terminal shows that one.
        self._screen.stream.write("\r" + " " * (self._screen.width - 1) + "\r" + line[: self._screen.width - 1])
        self._screen.stream.flush()
