"""Turns: run, followed, cancelled, gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from starlette.responses import Response

from sash.errors import NotFound, ThreadBusy
from sash.server.backend import Backend
from sash.server.body import key_of
from sash.server.camel import camelled
from sash.server.fault import Fault
from sash.server.handles import id_of
from sash.server.history import turn_of
from sash.server.route import Asked, Nothing, Route
from sash.server.runner import Start
from sash.server.shapes import EventsQuery, Results, StartTurn, TurnShape
from sash.server.stream import EventStream, gone
from sash.server.told import sent
from sash.server.turn import RunningTurn
from sash.store import RunRow


async def start_turn(asked: Asked[StartTurn, None]) -> Response | TurnShape:
    """
    Run a turn: store the input, build the request, ask the provider, tell the answer as it comes.

    A client that goes away ends its turn, unless it runs in the `background`. With an
    `Idempotency-Key` a turn is run once, and asking again follows or tells the first.
    """
    backend, body = asked.backend, asked.body
    if not body.input:
        raise Fault("INVALID_ARGUMENT", "`input` is empty: a turn begins with what the user says")
    row = await backend.call(lambda: backend.handles.row(asked.tenant, asked.path["thread"]))
    thread = await backend.call(lambda: backend.handles.of(row))
    start = Start(
        messages=[{"role": "user", "content": body.input}],
        wire="openai-chat",
        key=key_of(asked.request),
        wait_seconds=backend.setup.wait_seconds if body.wait_seconds is None else body.wait_seconds,
        background=body.background,
        max_tokens=body.max_tokens,
    )
    try:
        turn = await backend.runner.start(thread, row, start)
    except ThreadBusy as busy:
        raise _busy(busy) from None
    return await _answer(asked, turn, stream=body.stream, background=body.background)


def _busy(busy: ThreadBusy) -> Fault:
    return Fault("CONFLICT", str(busy), details={"turnId": busy.run}, headers={"x-should-retry": "false"})


async def _answer(
    asked: Asked[Any, Any], turn: RunningTurn | RunRow, *, stream: bool, background: bool
) -> Response | TurnShape:
    run = turn.row if isinstance(turn, RunningTurn) else turn
    if background:
        told = await _shape(asked.backend, run)
        return Response(msgspec.json.encode(camelled(told)), 202, {"cache-control": "no-store"}, "application/json")
    if stream:
        return _stream(asked.backend, run, 0)
    await _finished(asked, turn)
    return await _shape(asked.backend, await asked.backend.call(lambda: asked.backend.store.run(run.tenant, run.id)))


def _stream(backend: Backend, run: RunRow, after: int) -> EventStream:
    turn = backend.runner.local(run.id)
    left = None
    if turn is not None and not turn.done.is_set():
        turn.enter()
        left = turn.leave
    return EventStream(_chunks(backend, run, after), left=left, headers={"x-turn-id": run.id})


async def _chunks(backend: Backend, run: RunRow, after: int) -> AsyncGenerator[bytes]:
    async for event in backend.runner.follow(run, after):
        yield sent(run.id, event)


async def _finished(asked: Asked[Any, Any], turn: RunningTurn | RunRow) -> None:
    """Wait until it is over; a client that goes away leaves it."""
    backend = asked.backend
    if isinstance(turn, RunRow):
        async for _ in backend.runner.follow(turn, turn.last_event):
            pass
        return
    turn.enter()
    ended = asyncio.create_task(turn.done.wait())
    left = asyncio.create_task(gone(asked.request.receive))
    try:
        await asyncio.wait((ended, left), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (ended, left):
            task.cancel()
        turn.leave()
    if not turn.done.is_set():
        raise Fault("INTERNAL", "the client has gone", status=499)


async def _shape(backend: Backend, run: RunRow) -> TurnShape:
    def work() -> TurnShape:
        row = backend.store.thread(run.tenant, run.thread)
        return turn_of(backend.store, backend.handles.of(row), id_of(row), run)

    return await backend.call(work)


async def _run(asked: Asked[Any, Any]) -> RunRow:
    backend = asked.backend
    run = await backend.call(lambda: backend.store.run(asked.tenant, asked.path["turn"]))
    local = backend.runner.local(run.id)
    # Which turn of the thread it is gets stored with its first event only.
    return run if local is None else msgspec.structs.replace(run, turn=local.row.turn)


async def get_turn(asked: Asked[None, None]) -> TurnShape:
    """A turn as it stands now."""
    return await _shape(asked.backend, await _run(asked))


async def turn_events(asked: Asked[None, EventsQuery]) -> Response:
    """What was told of a turn after an event, and then what is being told, until it ends."""
    last = asked.request.headers.get("last-event-id", "")
    if last and not (last.isascii() and last.isdigit() and len(last) < 16):
        raise Fault("INVALID_ARGUMENT", "`Last-Event-ID` is the `id` of an event, which is a number")
    after = max(asked.query.after, int(last or 0))
    return _stream(asked.backend, await _run(asked), after)


async def cancel_turn(asked: Asked[Nothing, None]) -> TurnShape:
    """End a turn with what was said so far; one that has ended stays as it is."""
    run = await asked.backend.runner.cancel(await _run(asked))
    return await _shape(asked.backend, run)


async def turn_results(asked: Asked[Results, None]) -> Response | TurnShape:
    """Go on with a turn that stopped for calls: the client ran them, these are their results."""
    backend, body = asked.backend, asked.body
    run = await _run(asked)
    if run.status == "running":
        if not await backend.runner.settled(run):
            raise _busy(ThreadBusy(thread=run.thread, run=run.id))
        run = await _run(asked)
    if run.stop != "tool_calls":
        raise Fault(
            "CONFLICT", "the turn waits for no results", details={"stopReason": run.stop},
            headers={"x-should-retry": "false"},
        )  # fmt: skip
    row = await backend.call(lambda: backend.store.thread(run.tenant, run.thread))
    thread = await backend.call(lambda: backend.handles.of(row))
    wanted = await backend.call(lambda: _open_calls(backend, run))
    unknown = [result.call_id for result in body.results if result.call_id not in wanted]
    if unknown:
        raise NotFound("open call", unknown[0])
    messages = [{"role": "tool", "tool_call_id": given.call_id, "content": given.content} for given in body.results]
    start = Start(messages=messages, wire="openai-chat", background=body.background)
    try:
        turn = await backend.runner.resume(run, thread, start)
    except ThreadBusy as busy:
        raise _busy(busy) from None
    return await _answer(asked, turn, stream=body.stream, background=body.background)


def _open_calls(backend: Backend, run: RunRow) -> set[str]:
    events = backend.store.run_events(run.tenant, run.id, limit=100_000)
    return {msgspec.json.decode(event.body)["callId"] for event in events if event.kind == "tool_call"}


ROUTES: tuple[Route, ...] = (
    Route(method="POST", path="/v1/threads/{thread}/turns", run=start_turn, tag="turns", body=StartTurn,
          answer=TurnShape, media=("events", "json"),
          faults=("NOT_FOUND", "CONFLICT", "TIMEOUT", "UPSTREAM_UNAVAILABLE"),
          says="Run a turn: the answer comes as server-sent events, or whole with `stream: false`."),
    Route(method="GET", path="/v1/turns/{turn}", run=get_turn, tag="turns", answer=TurnShape, faults=("NOT_FOUND",),
          says="Look at a turn."),
    Route(method="GET", path="/v1/turns/{turn}/events", run=turn_events, tag="turns", query=EventsQuery,
          media=("events",), faults=("NOT_FOUND",),
          says="Replay a turn's events after a number, then follow it."),
    Route(method="POST", path="/v1/turns/{turn}/cancel", run=cancel_turn, tag="turns", body=Nothing,
          optional_body=True, answer=TurnShape, faults=("NOT_FOUND",), says="End a turn with what was said so far."),
    Route(method="POST", path="/v1/turns/{turn}/results", run=turn_results, tag="turns", body=Results,
          answer=TurnShape, media=("events", "json"),
          faults=("NOT_FOUND", "CONFLICT", "TIMEOUT", "UPSTREAM_UNAVAILABLE"),
          says="Give the results of a turn's calls and go on with it."),
)  # fmt: skip
