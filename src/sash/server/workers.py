"""Several processes on one address: started anew when one dies, ended together."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess

from sash.server.logs import say

LOOK_SECONDS = 0.2
TOO_SOON_SECONDS = 1.0
"""A worker that dies this soon is started again only after a pause: something is wrong that will not pass at once."""


class Workers:
    """Keeps so many processes running that share a socket."""

    def __init__(self, work: Callable[[list[socket.socket]], None], listening: socket.socket, count: int) -> None:
        self._work, self._listening, self._count = work, listening, count
        # Not forked: the database drivers do not survive that.
        self._context = multiprocessing.get_context("spawn")
        self._running: dict[BaseProcess, float] = {}
        self._ending = False

    def run(self) -> None:
        """Until SIGINT or SIGTERM; returns when the last one has ended."""
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: self._end())
        while not self._ending:
            self._fill()
            time.sleep(LOOK_SECONDS)
        for worker in self._running:
            worker.join()

    def _fill(self) -> None:
        for worker, since in list(self._running.items()):
            if not worker.is_alive():
                del self._running[worker]
                say("worker died", level=40, exit_code=worker.exitcode)
                if time.monotonic() - since < TOO_SOON_SECONDS:
                    time.sleep(TOO_SOON_SECONDS)
        while len(self._running) < self._count and not self._ending:
            worker = self._context.Process(target=self._work, args=([self._listening],))
            worker.start()
            self._running[worker] = time.monotonic()

    def _end(self) -> None:
        self._ending = True
        # While it is open here callers would wait at it for workers that take nothing any more.
        self._listening.close()
        for worker in self._running:
            if worker.is_alive():
                worker.terminate()
