"""Turns of one process: begun one at a time for a thread, followed, ended."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from sash.core.frame import Frame
from sash.errors import Conflict, SashError, ThreadBusy
from sash.server.fault import Fault
from sash.server.logs import say
from sash.server.owner import own_name
from sash.server.recovery import Recovery
from sash.server.turn import LEASE_SECONDS, Ending, RunningTurn
from sash.store import Key, NewRun, RunEnd, RunEvent, RunRow, ThreadRow
from sash.thread import Thread

if TYPE_CHECKING:
    from sash.server.backend import Backend

LOOK_SECONDS = 0.1
"""How often somebody looks into the store for what another process does."""
MOST_WAIT_SECONDS = 60.0
KEPT_SECONDS = 5.0
"""A turn that has ended stays at hand for so long, for those who come late."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that somebody asks for."""

    messages: Any
    """What is said, as its wire writes it."""
    wire: str
    key: str = ""
    wait_seconds: float = 0.0
    background: bool = False
    max_tokens: int | None = None


class _Taken(NamedTuple):
    """What was said is stored."""

    frame: Frame | None
    turn: int
    model: str


class Runner:
    """All turns that this process runs."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._name = own_name()
        self._turns: dict[str, RunningTurn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._beginning = 0
        """Turns that are let in and do not run yet."""
        self.recovery = Recovery(backend, self._name, self._runs)

    def _runs(self, run: str) -> bool:
        turn = self._turns.get(run)
        return turn is not None and not turn.done.is_set()

    # Beginning.

    async def start(self, thread: Thread, row: ThreadRow, asked: Start) -> RunningTurn | RunRow:
        """
        Begin a turn: the input is stored, and the provider is being asked.

        With a key that was used before it is the turn that was begun then, wherever it runs
        or ended.
        """
        with self._let_in(row.tenant):
            return await self._begun(thread, row, asked)

    async def _begun(self, thread: Thread, row: ThreadRow, asked: Start) -> RunningTurn | RunRow:
        key = None if not asked.key else Key(asked.key, _digest(asked))
        new = NewRun(id=f"turn_{secrets.token_hex(12)}", owner=self._name, key=key)
        run = await self.claimed(row, new, min(asked.wait_seconds, MOST_WAIT_SECONDS))
        if run.repeated:
            return self._turns.get(run.id, run)
        try:
            taken = await self._backend.call(lambda: self._appended(thread, row, asked))
        except SashError as error:
            await self._give_up(run, error)
            raise
        return self._set_off(msgspec.structs.replace(run, turn=taken.turn), thread, asked, taken)

    @contextmanager
    def _let_in(self, tenant: str) -> Iterator[None]:
        """While a turn is begun, so that a drain waits for it too."""
        self._check_room(tenant)
        self._beginning += 1
        try:
            yield
        finally:
            self._beginning -= 1

    def _check_room(self, tenant: str) -> None:
        setup = self._backend.setup
        if self._backend.draining:
            raise Fault("UPSTREAM_UNAVAILABLE", "the server is about to stop", headers={"retry-after": "2"})
        mine = sum(turn.row.tenant == tenant for turn in self._turns.values() if not turn.done.is_set())
        running = sum(not turn.done.is_set() for turn in self._turns.values())
        if running >= setup.max_running_turns or mine >= setup.max_turns_per_tenant:
            raise Fault(
                "UPSTREAM_UNAVAILABLE", "as many turns are running as this server takes", headers={"retry-after": "1"}
            )

    async def claimed(self, row: ThreadRow, new: NewRun, wait_seconds: float = 0.0) -> RunRow:
        """The right to run a turn in a thread; `ThreadBusy` where another does, for longer than one waits."""
        store = self._backend.store
        return await self._alone(
            row.tenant, lambda: store.start_run(row.tenant, row.id, new, lease_seconds=LEASE_SECONDS), wait_seconds
        )

    async def _alone(self, tenant: str, begin: Callable[[], RunRow], wait_seconds: float = 0.0) -> RunRow:
        """Begin once nothing else runs in the thread; what a dead process left there is ended first."""
        until = time.monotonic() + wait_seconds
        while True:
            try:
                return await self._backend.call(begin)
            except ThreadBusy as busy:
                if await self._backend.call(partial(self.recovery.settle, tenant, busy.run)):
                    continue
                left = until - time.monotonic()
                if left <= 0:
                    raise
                local = self._turns.get(busy.run)
                if local is not None and not local.done.is_set():
                    await _wait(local.done, left)
                else:
                    await asyncio.sleep(min(LOOK_SECONDS, left))

    def _appended(self, thread: Thread, row: ThreadRow, asked: Start) -> _Taken:
        now = self._backend.now()
        try:
            appended = thread.append(asked.messages, wire=asked.wire, at=now)
        except Conflict:
            # Another process left a turn open that has ended since; the turn is ours alone now, so we go on from there.
            appended = thread.append(asked.messages, wire=asked.wire, at=now)
        self._backend.entitle(thread, row)
        return _Taken(appended.frame, appended.turn, thread.setup.model)

    async def _give_up(self, run: RunRow, error: SashError) -> None:
        """The input was not taken: the run is over before it began, and its key is free for a better one."""
        end = RunEnd(status="failed", stop="error", error=type(error).__name__)
        store = self._backend.store
        try:
            await self._backend.call(
                lambda: store.write_run(run.tenant, run.id, run.owner, (), lease_seconds=LEASE_SECONDS, end=end)
            )
        except SashError:
            say("run left behind", level=30, turn=run.id)

    def _set_off(
        self, run: RunRow, thread: Thread, asked: Start, taken: _Taken, *, resumed: bool = False
    ) -> RunningTurn:
        provider = self._backend.answering.provider(taken.model)
        turn = RunningTurn(self._backend, run, thread, provider, background=asked.background)
        turn.max_tokens = asked.max_tokens
        self._turns[run.id] = turn
        task = asyncio.create_task(self._kept(turn, taken.frame, resumed=resumed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return turn

    async def _kept(self, turn: RunningTurn, frame: Frame | None, *, resumed: bool) -> None:
        try:
            await turn.run(frame, resumed=resumed)
        finally:
            loop = asyncio.get_running_loop()
            loop.call_later(KEPT_SECONDS, self._forget, turn)

    def _forget(self, turn: RunningTurn) -> None:
        if self._turns.get(turn.id) is turn:
            del self._turns[turn.id]

    async def resume(self, run: RunRow, thread: Thread, asked: Start) -> RunningTurn:
        """Go on with a turn that waits for results, which are what is said."""
        with self._let_in(run.tenant):
            return await self._resumed(run, thread, asked)

    async def _resumed(self, run: RunRow, thread: Thread, asked: Start) -> RunningTurn:
        store = self._backend.store
        again = await self._alone(
            run.tenant, lambda: store.resume_run(run.tenant, run.id, self._name, lease_seconds=LEASE_SECONDS)
        )
        try:
            taken = await self._backend.call(lambda: self._results(thread, asked))
        except SashError:
            end = RunEnd(status="completed", stop=run.stop)
            await self._backend.call(
                lambda: store.write_run(run.tenant, run.id, self._name, (), lease_seconds=LEASE_SECONDS, end=end)
            )
            raise
        return self._set_off(again, thread, asked, taken, resumed=True)

    def _results(self, thread: Thread, asked: Start) -> _Taken:
        appended = thread.append(asked.messages, wire=asked.wire, at=self._backend.now())
        return _Taken(appended.frame, appended.turn, thread.setup.model)

    # While it runs.

    def local(self, run: str) -> RunningTurn | None:
        """The turn, where this process runs it."""
        return self._turns.get(run)

    async def follow(self, run: RunRow, after: int) -> AsyncGenerator[RunEvent]:
        """The events of a turn after a number: what is stored, then what comes, wherever it runs."""
        store = self._backend.store
        turn = self._turns.get(run.id)
        first = turn.row.last_event if turn is not None else 0
        if turn is not None and not turn.done.is_set() and after >= 0:
            # What this process has told is at hand; what came before a resumption is stored.
            async for event in self._stored(run, after, until=first):
                yield event
                after = event.seq
            async for event in turn.follow(after):
                yield event
            return
        while True:
            row = await self._backend.call(lambda: store.run(run.tenant, run.id))
            async for event in self._stored(run, after):
                yield event
                after = event.seq
            if row.status != "running":
                return
            if await self.settled(row):
                continue
            if row.lapsed:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _stored(self, run: RunRow, after: int, until: int | None = None) -> AsyncGenerator[RunEvent]:
        store = self._backend.store
        while until is None or after < until:
            page = await self._backend.call(partial(store.run_events, run.tenant, run.id, since=after, limit=1000))
            if not page:
                return
            for event in page:
                if until is not None and event.seq > until:
                    return
                yield event
            after = page[-1].seq

    async def settled(self, run: RunRow) -> bool:
        """Whether a turn is over; one that a dead process left is, from here on."""
        return await self._backend.call(lambda: self.recovery.settle(run.tenant, run.id))

    async def cancel(self, run: RunRow) -> RunRow:
        """End a turn, wherever it runs."""
        store = self._backend.store
        turn = self._turns.get(run.id)
        if turn is not None and not turn.done.is_set():
            turn.cancel("cancelled")
            await _wait(turn.done, 10.0)
            return turn.row
        await self.settled(run)
        return await self._backend.call(lambda: store.ask_run_to_end(run.tenant, run.id))

    # Ending.

    async def drain(self, seconds: float) -> None:
        """Let what runs, or is about to, end by itself for a while; then end it."""
        until = time.monotonic() + seconds
        while (self._tasks or self._beginning) and (left := until - time.monotonic()) > 0:
            if self._beginning:
                await asyncio.sleep(min(LOOK_SECONDS, left))
            else:
                await self._all_done(left)
        await self.end_all("interrupted")

    async def end_all(self, ending: Ending) -> None:
        """End whatever runs, with what was said so far."""
        for turn in list(self._turns.values()):
            turn.cancel(ending)
        await self._all_done(10.0)

    async def _all_done(self, seconds: float) -> None:
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)


def _digest(asked: Start) -> bytes:
    said = [asked.wire, asked.messages, asked.max_tokens]
    return blake2b(msgspec.json.encode(said), digest_size=16).digest()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
