"""
One writer per process, and one fsync for all who write at the same moment.

Whoever finds nobody writing leads: it runs its own work and that of all who queued up
meanwhile in one transaction, commits once, and passes the lead to the next in the queue.
No thread is started for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event as Flag
from threading import Lock
from typing import Any

import apsw

from sash.errors import StoreUnavailable
from sash.store.running import Running
from sash.store.sqlite.connection import BUSY_SECONDS, Immediate
from sash.store.sqlite.running import Transaction

MOST = 64
"""Works that share a commit."""

INTERRUPTED = "the writer was interrupted; whether this was stored is not known"

CHECKPOINT_PAGES = 1_000
TRUNCATE_PAGES = 8_000
SCRUB_PAGES = 10_000
"""That are overwritten with one blob."""
"""From 32 MB on the write-ahead log is not only copied back but emptied, even if that takes a moment."""


class Work:
    """Something to be written, and what came of it."""

    __slots__ = ("called", "done", "erasing", "error", "result", "run")

    def __init__(self, run: Callable[[Running], Any], *, erasing: bool) -> None:
        self.run, self.erasing = run, erasing
        self.done = False
        self.called = Flag()
        """Set when it is done, or when it is its turn to lead."""
        self.result: Any = None
        self.error: Exception | None = None

    def outcome(self) -> Any:
        """Its result, or its error raised where the work came from."""
        if self.error is not None:
            raise self.error
        return self.result


class Writer:
    """The one connection that writes."""

    def __init__(self, connection: apsw.Connection, place: str) -> None:
        self.connection, self._place = connection, place
        self._running = Transaction(connection)
        self._queue: deque[Work] = deque()
        self._lock = Lock()
        """Held for a moment, to join the queue or to leave it."""
        self._led = False
        self._pages = 0
        self._freed, self._scrubbed = True, -1
        """Whether pages may have been freed since they were last scrubbed, and the version of the database then."""
        connection.set_wal_hook(self._grown)

    def _grown(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def write(self, run: Callable[[Running], Any], *, erasing: bool = False) -> Any:
        """Run the work, alone or in company; returns when it is durable."""
        work = Work(run, erasing=erasing)
        if self._leads(work):
            try:
                self._lead()
            finally:
                self._pass_on()
        return work.outcome()

    def _leads(self, work: Work) -> bool:
        """Queue up; True when it is this work's turn to lead, False when somebody did it along with theirs."""
        with self._lock:
            self._queue.append(work)
            first, self._led = not self._led, True
        if not first:
            try:
                work.called.wait()
            except BaseException:
                self._give_up(work)
                raise
        return not work.done

    def _give_up(self, work: Work) -> None:
        """Leave the queue: who was interrupted must not be called to lead."""
        with self._lock:
            waiting = work in self._queue
            if waiting:
                self._queue.remove(work)
        if waiting and work.called.is_set():
            self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            self._led = bool(self._queue)
            if self._queue:
                self._queue[0].called.set()

    def _lead(self) -> None:
        with self._lock:
            # Its own work is the first of them.
            batch = [self._queue.popleft() for _ in range(min(MOST, len(self._queue)))]
        erasing = any(work.erasing for work in batch)
        try:
            if erasing:
                self._erase(True)
            self._together(batch)
            self._freed = self._freed or not erasing
            if erasing:
                self._scrub()
        finally:
            for work in batch:
                if not work.done:
                    # Interrupted: a commit may or may not have come through, so nobody's work is run a second time.
                    work.error, work.done = StoreUnavailable(self._place, INTERRUPTED), True
                work.called.set()
            if erasing:
                self._erase(False)
        self._empty_log(TRUNCATE_PAGES if not erasing else 0)

    def _together(self, batch: list[Work]) -> None:
        if len(batch) > 1:
            try:
                with Immediate(self.connection):
                    for work in batch:
                        self._one_of_many(work)
            except apsw.Error:
                # One of them, or all of them, is too much: let each have its own answer.
                pass
            else:
                for work in batch:
                    work.done = True
                return
        for work in batch:
            work.result = work.error = None
            try:
                with Immediate(self.connection):
                    work.result = work.run(self._running)
            except Exception as error:  # noqa: BLE001 - raised again in the thread whose work it is
                work.error = error
            work.done = True

    def _one_of_many(self, work: Work) -> None:
        work.result = work.error = None
        self.connection.execute("SAVEPOINT work")
        try:
            work.result = work.run(self._running)
        except apsw.Error:
            raise
        except Exception as error:  # noqa: BLE001 - raised again in the thread whose work it is
            work.error = error
            self.connection.execute("ROLLBACK TO work")
        self.connection.execute("RELEASE work")

    def _erase(self, on: bool) -> None:
        with suppress(apsw.Error):
            self.connection.pragma("secure_delete", "ON" if on else "FAST")

    def _scrub(self) -> None:
        """
        Zeros over the pages that nobody uses: what was replaced earlier, a checkpoint say, may still stand there.

        A blob as large as all of them takes them up and gives them back. Left out where nothing was
        freed since the last time; where there is no room for it, the words are at least in no table.
        """
        with suppress(apsw.Error):
            version = int(str(self.connection.pragma("data_version")))
            if not self._freed and version == self._scrubbed:
                return
            with Immediate(self.connection):
                free = int(str(self.connection.pragma("freelist_count")))
                page = int(str(self.connection.pragma("page_size")))
                self.connection.execute("CREATE TABLE scrub (zeros BLOB)")
                for first in range(0, free, SCRUB_PAGES):
                    zeros = min(SCRUB_PAGES, free - first) * page
                    self.connection.execute("INSERT INTO scrub VALUES (zeroblob(?))", (zeros,))
                self.connection.execute("DROP TABLE scrub")
            self._freed, self._scrubbed = False, version

    def _empty_log(self, truncate_pages: int) -> None:
        """Copy the write-ahead log back. What was committed is safe without it, so its failure is nobody's error."""
        if truncate_pages and self._pages < CHECKPOINT_PAGES:
            return
        mode = apsw.SQLITE_CHECKPOINT_PASSIVE
        if self._pages >= truncate_pages:
            mode = apsw.SQLITE_CHECKPOINT_TRUNCATE
            # A reader in the way is not waited for: the next commit tries again.
            self.connection.set_busy_timeout(50)
        try:
            with suppress(apsw.Error):
                self.connection.wal_checkpoint(mode=mode)
        finally:
            if mode == apsw.SQLITE_CHECKPOINT_TRUNCATE:
                self.connection.set_busy_timeout(int(BUSY_SECONDS * 1000))

    def close(self) -> None:
        """Wait for whoever writes, then let go."""
        while not self._leads(last := Work(lambda _: None, erasing=False)):
            continue
        try:
            with self._lock:
                self._queue.remove(last)
            self.connection.close()
        finally:
            self._pass_on()
