"""What processes left behind that died in the middle of an answer: it is kept, and its turn is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from sash.errors import LeaseLost, NotFound, SashError
from sash.server.logs import say
from sash.server.owner import is_dead
from sash.server.told import LAST, text_of, told
from sash.server.turn import LEASE_SECONDS
from sash.store import RunEnd, RunEvent, RunRow
from sash.thread import thread_of

if TYPE_CHECKING:
    from sash.server.backend import Backend

SWEEP_SECONDS = 10.0


class Recovery:
    """Ends turns that nobody runs any more."""

    def __init__(self, backend: Backend, name: str, is_running: Callable[[str], bool]) -> None:
        """`name` is this process, and `is_running` tells whether a turn runs in it."""
        self._backend, self._name, self._is_running = backend, name, is_running
        self._lock = Lock()

    async def sweep(self) -> None:
        """Look now and every few seconds."""
        while True:
            try:
                await self._backend.call(self.recover)
            except SashError as error:
                say("looking for lost turns failed", level=30, error=type(error).__name__)
            await asyncio.sleep(SWEEP_SECONDS)

    def recover(self) -> int:
        """Interrupt what nobody runs any more. How many turns that were."""
        return sum(self._is_left(run) and self._settled(run) for run in self._backend.store.open_runs())

    def _settled(self, run: RunRow) -> bool:
        """One that cannot be settled now is no reason to leave the others, or not to start."""
        try:
            return self.settle(run.tenant, run.id)
        except SashError as error:
            say("a lost turn was not ended", level=30, turn=run.id, error=type(error).__name__)
            return False

    def settle(self, tenant: str, run: str) -> bool:
        """Whether a turn is over, by now or because nobody runs it any more."""
        # One at a time: whoever needs its thread waits until the turn is ended, and is not turned away meanwhile.
        with self._lock:
            try:
                row = self._backend.store.run(tenant, run)
            except NotFound:
                return True
            return row.status != "running" or (self._is_left(row) and self._interrupt(row))

    def _is_left(self, run: RunRow) -> bool:
        if run.owner == self._name and self._is_running(run.id):
            return False
        return run.lapsed or is_dead(run.owner)

    def _interrupt(self, run: RunRow) -> bool:
        store = self._backend.store
        try:
            # It stays open until what was said is stored: else the next turn begins, and gets it as its own answer.
            run = store.take_run(run, self._name, lease_seconds=LEASE_SECONDS)
        except LeaseLost:
            # Another process was faster.
            return False
        try:
            if not run.internal:
                self._keep(run, store.run_events(run.tenant, run.id, limit=100_000))
        finally:
            # Whatever became of what was said, the thread is free again.
            self._end(run)
        say("turn interrupted", turn=run.id, owner=run.owner)
        self._backend.metrics.turns.add("interrupted")
        return True

    def _end(self, run: RunRow) -> None:
        last = told("turn_completed", status="interrupted", stop_reason="interrupted")
        end = RunEnd(status="interrupted", stop="interrupted")
        # Its thread may have been deleted meanwhile, or somebody took us for dead: then it is over all the same.
        with suppress(LeaseLost):
            self._backend.store.write_run(run.tenant, run.id, run.owner, [last], lease_seconds=LEASE_SECONDS, end=end)

    def _keep(self, run: RunRow, events: list[RunEvent]) -> None:
        """Store what was half said in its own turn; where that is over, it is told in the turn's events only."""
        said = "".join(text_of(event) for event in _since_last_answer(events))
        if not said or self._is_stored(run, events, said):
            return
        store = self._backend.store
        # A handle of its own: it stands where it looked, whatever others say meanwhile, and is refused after that.
        thread = thread_of(store, store.thread(run.tenant, run.thread))
        try:
            if thread.window.fold.placing.turn == run.turn:
                thread.append({"role": "assistant", "content": said}, wire="openai-chat", at=self._backend.now())
                return
        except SashError as error:
            say("partial answer not kept", level=30, turn=run.id, error=type(error).__name__)
            return
        say("partial answer not kept", turn=run.id)

    def _is_stored(self, run: RunRow, events: list[RunEvent], said: str) -> bool:
        """Whether the whole answer made it into the log before the process died, and only telling so was left."""
        logged = self._backend.store.events_of_turns(run.tenant, run.thread, [run.turn])
        answers = [event.text for event in logged if event.role == "assistant"]
        told_whole = sum(event.kind == "message_completed" for event in events)
        return len(answers) > told_whole and answers[-1].startswith(said)


def _since_last_answer(events: list[RunEvent]) -> list[RunEvent]:
    """The deltas of an answer that was never stored whole: those behind the last one that was."""
    deltas: list[RunEvent] = []
    for event in events:
        if event.kind == "message_delta":
            deltas.append(event)
        elif event.kind in ("message_completed", *LAST):
            deltas.clear()
    return deltas
