"""A turn that is being run in this process: asks the provider, stores what is told, and lets others follow."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from sash.core.frame import Frame
from sash.errors import LeaseLost, RequestTooLong, SashError
from sash.providers import Finished, Provider, TextDelta, ThinkingDelta, ToolCalled
from sash.server.fault import Fault, fault_of, internal
from sash.server.logs import LOGGER, say
from sash.server.told import merged, told
from sash.store import RunEnd, RunEvent, RunRow
from sash.thread import Thread

if TYPE_CHECKING:
    from sash.server.backend import Backend

LEASE_SECONDS = 15.0
BEAT_SECONDS = 3.0
"""So often a turn says that it is alive, and hears whether another process wants it to end."""

Ending = Literal["cancelled", "interrupted"]
STOPS = {"end": "end_turn", "length": "max_tokens", "calls": "tool_calls", "refused": "refusal", "paused": "paused"}
MOST_CALLS = 32
"""Times that a model which pauses is asked to go on within one turn."""
MOST_REFUSALS = 6
"""Times that a request which was too long is sent again with less."""


class RunningTurn:
    """One turn, from its input to its end."""

    def __init__(self, backend: Backend, row: RunRow, thread: Thread, provider: Provider, *, background: bool) -> None:
        self.backend, self.row, self.thread, self.provider = backend, row, thread, provider
        self.background = background
        """Whether it goes on when nobody follows it."""
        self.followers = 0
        self.done = asyncio.Event()
        self.max_tokens: int | None = None
        self._said: list[str] = []
        self._heard = False
        """Whether the provider has begun to answer: what was told cannot be taken back."""
        self._pending: list[RunEvent] = []
        self._events: list[RunEvent] = []
        self._news = asyncio.Event()
        self._wake = asyncio.Event()
        self._ending: Ending | None = None
        self._asking: asyncio.Task[RunEnd] | None = None
        self._lost = False

    @property
    def id(self) -> str:
        """The turn's id."""
        return self.row.id

    # What others do with it.

    def cancel(self, ending: Ending) -> None:
        """End it, with what was said so far."""
        if self._ending is None and not self.done.is_set():
            self._ending = ending
            if self._asking is not None:
                self._asking.cancel()

    def enter(self) -> None:
        """Somebody follows."""
        self.followers += 1

    def leave(self) -> None:
        """Somebody does not any more; when it was the last, there is nobody to answer."""
        self.followers -= 1
        if self.followers == 0 and not self.background:
            self.cancel("interrupted")

    async def follow(self, after: int) -> AsyncGenerator[RunEvent]:
        """The events after a number, those to come too, until it ends. Only what is stored is told."""
        place = 0
        while True:
            news = self._news
            while place < len(self._events):
                event = self._events[place]
                place += 1
                if event.seq > after:
                    yield event
            if self.done.is_set():
                return
            await news.wait()

    # How it is run.

    def tell(self, event: RunEvent) -> None:
        """Have an event stored and then shown."""
        self._pending.append(event)
        self._wake.set()

    async def run(self, frame: Frame | None, *, resumed: bool = False) -> None:
        """All of it. Never raises: how it went is its last event."""
        backend = self.backend
        backend.metrics.running.add()
        if not resumed:
            self.tell(told("turn_started", thread_id=self.backend.id_of_thread(self.thread), number=self.row.turn))
        self._tell_frame(frame)
        self._asking = asyncio.create_task(self._ask())
        if self._ending is not None:
            self._asking.cancel()
        try:
            end = await self._written_while_asking(self._asking)
            if not self._lost:
                await self._end(end)
        except SashError as error:
            # The store itself fails: nothing can be stored, so the rest is told to those who are here.
            say("turn lost its store", level=40, turn=self.id, error=type(error).__name__)
            self._tell_unstored(fault_of(error))
        except Exception:  # noqa: BLE001 - the outermost frame of a turn: those who follow must be told
            LOGGER.exception("turn failed", extra={"fields": {"turn": self.id}})
            self._tell_unstored(internal())
        finally:
            self._asking.cancel()
            self.done.set()
            self._publish([])
            backend.metrics.running.add(by=-1)
            backend.metrics.turns.add(self.row.status if self.row.status != "running" else "failed")

    async def _written_while_asking(self, asking: asyncio.Task[RunEnd]) -> RunEnd:
        """Store what is told, while it is told."""
        while True:
            self._wake.clear()
            if self._pending:
                await self._store()
            if self._lost:
                asking.cancel()
            if asking.done():
                if self._pending and not self._lost:
                    continue
                return _outcome(asking, self._ending)
            waking = asyncio.create_task(self._wake.wait())
            await asyncio.wait((asking, waking), timeout=BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not waking.done():
                waking.cancel()
                if not asking.done():
                    await self._store()

    async def _store(self, end: RunEnd | None = None) -> None:
        events, self._pending = merged(self._pending), []
        row, store = self.row, self.backend.store
        try:
            self.row = await self.backend.call(
                lambda: store.write_run(
                    row.tenant, row.id, row.owner, events, lease_seconds=LEASE_SECONDS, turn=row.turn, end=end
                )
            )
        except LeaseLost:
            # The thread was deleted, or we were taken for dead.
            self._lost = True
            self.row = msgspec.structs.replace(self.row, status="interrupted", stop="interrupted")
            return
        first = self.row.last_event - len(events) + 1
        now = self.backend.now()
        self._publish([msgspec.structs.replace(event, seq=first + place, at=now) for place, event in enumerate(events)])
        for event in events:
            self.backend.metrics.events.add(event.kind)
        if self.row.end_asked and end is None:
            self.cancel("cancelled")

    def _publish(self, events: list[RunEvent]) -> None:
        self._events += events
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _tell_unstored(self, fault: Fault) -> None:
        last = self.row.last_event + 1
        event = told("error", error=fault.told, status="failed", stop_reason="error")
        self._publish([msgspec.structs.replace(event, seq=last, at=self.backend.now())])

    def _tell_frame(self, frame: Frame | None) -> None:
        if frame is not None:
            self.backend.metrics.slides.add(frame.reason)
            self.tell(
                told("frame", number=frame.number, boundary=frame.boundary, reason=frame.reason, freed=frame.freed)
            )

    # The conversation with the provider.

    async def _ask(self) -> RunEnd:
        """Ask until the turn is over or waits for somebody else."""
        refused: tuple[Mapping[str, Any], RequestTooLong] | None = None
        refusals = 0
        for _ in range(MOST_CALLS):
            started = self.backend.clock()
            prepared = await self.backend.call(lambda: self.thread.prepared(wire=self.backend.wire_of(self.thread)))
            request = self.backend.request_of(prepared, self.provider)
            if refused is not None and request == refused[0]:
                # Nothing is left that could leave.
                raise refused[1]
            self.backend.metrics.overhead.take(self.backend.clock() - started, "threads")
            try:
                finished = await self._answer(request)
            except RequestTooLong as error:
                refusals += 1
                if refusals > MOST_REFUSALS or self._heard:
                    raise
                # It takes less than we thought, or counts more than we did: the thread learns which, and gives way.
                refused = (request, error)
                self._tell_frame(await self.backend.call(functools.partial(self.thread.record_overflow, error)))
                continue
            await self._take(finished, prepared.tokens.value)
            if finished.stop != "paused":
                return RunEnd(status="completed", stop=STOPS[finished.stop])
        return RunEnd(status="completed", stop="paused")

    async def _answer(self, request: Mapping[str, Any]) -> Finished:
        self._heard = False
        with self.backend.tracing.asked(self.thread, self.provider) as span:
            async with aclosing(self.provider.complete(request, max_tokens=self.max_tokens)) as events:
                async for event in events:
                    self._heard = True
                    if isinstance(event, TextDelta):
                        self._said.append(event.text)
                        self.tell(told("message_delta", text=event.text))
                    elif isinstance(event, ThinkingDelta):
                        self.tell(told("thinking_delta", text=event.text))
                    elif isinstance(event, ToolCalled):
                        self.tell(told("tool_call", call_id=event.id, name=event.name, arguments=event.arguments))
                    else:
                        span.finished(event)
                        return event
        raise AssertionError("a provider's last event is Finished")

    async def _take(self, finished: Finished, counted: int) -> None:
        """Store the answer; from here on nothing of it is only partly said."""
        wire, usage = self.provider.wire, finished.usage

        def store() -> Frame | None:
            appended = self.thread.append(finished.message, wire=wire, at=self.backend.now())
            if usage is not None and usage.reported:
                self.thread.record_usage(usage.reported, wire=wire)
            return appended.frame

        frame = await self.backend.call(store)
        self._said.clear()
        self._tell_message(finished, counted)
        self._tell_frame(frame)

    def _tell_message(self, finished: Finished, counted: int) -> None:
        usage = finished.usage
        if usage is None:
            self.tell(told("message_completed", stop_reason=STOPS[finished.stop], counted_tokens=counted))
            return
        kinds = {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
        }
        paid = {"read": usage.context_tokens, "cached": usage.cache_read_tokens, "written": usage.output_tokens}
        for kind, tokens in paid.items():
            self.backend.metrics.tokens.add(self.provider.name, kind, by=tokens)
        self.tell(
            told(
                "message_completed",
                stop_reason=STOPS[finished.stop],
                counted_tokens=counted,
                **{f"{kind}_tokens": tokens for kind, tokens in kinds.items()},
            )
        )

    async def _end(self, end: RunEnd) -> None:
        """Keep what was said of an answer that broke off, and tell how it ended."""
        if self._said:
            partial = {"role": "assistant", "content": "".join(self._said)}
            self._said.clear()
            await self.backend.call(lambda: self.thread.append(partial, wire="openai-chat", at=self.backend.now()))
        if end.status == "failed":
            fault = _decoded(end.error)
            self.tell(told("error", error=fault, status="failed", stop_reason="error"))
            end = RunEnd(status="failed", stop="error", error=fault["message"])
        else:
            self.tell(told("turn_completed", status=end.status, stop_reason=end.stop))
        await self._store(end)


def _outcome(asking: asyncio.Task[RunEnd], ending: Ending | None) -> RunEnd:
    if asking.cancelled():
        ended: Ending = ending or "interrupted"
        return RunEnd(status=ended, stop=ended)
    error = asking.exception()
    if error is None:
        return asking.result()
    if isinstance(error, SashError):
        fault = fault_of(error)
    else:
        LOGGER.error("turn failed", exc_info=error)
        fault = internal()
    return RunEnd(status="failed", stop="error", error=msgspec.json.encode(fault.told).decode())


def _decoded(error: str) -> dict[str, Any]:
    fault: dict[str, Any] = msgspec.json.decode(error)
    return fault
