"""The turns of a thread as people read them: from the log, and from what the server knows of each answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sash.core.event import Event
from sash.core.explanation import ExplainedTurn
from sash.core.frame import handle_of
from sash.core.message import Message, ToolCall, ToolResult
from sash.core.turn import wrote
from sash.errors import NotFound
from sash.server.moment import moment
from sash.server.shapes import History, HistoryQuery, ToolShape, TurnShape
from sash.server.told import shown, text_of
from sash.store import RunEvent, RunRow, Store
from sash.thread import Thread
from sash.thread.log import messages_of
from sash.window import text_of as text_of_block

SHOWN_CHARACTERS = 2_000
MOST_EVENTS = 20_000
"""Of one turn in a history; its own address gives all of them."""


def history_of(store: Store, thread: Thread, thread_id: str, query: HistoryQuery) -> History:
    """The newest turns, or those before some number."""
    # One more than is shown tells whether there are more.
    turns = thread.turns(before=query.before, limit=query.limit + 1)
    page = turns[-query.limit :]
    first, last = (page[0].number, page[-1].number) if page else (0, -1)
    if len(turns) == len(page):
        first = -1
    runs = store.runs(thread.tenant, thread.id, first=first, last=None if query.before is None else last)
    by_number = {run.turn: run for run in runs if not run.internal}
    events = _by_turn(thread, [turn.number for turn in page])
    told = [
        _turn(thread, thread_id, turn, events.get(turn.number, []), by_number.get(turn.number), query) for turn in page
    ]
    if query.include_internal:
        told += [_internal(store, thread_id, run, query) for run in runs if run.internal]
        told.sort(key=lambda turn: (turn.number, turn.is_internal, turn.created_at or ""))
    return History(turns=told, next=page[0].number if len(page) < len(turns) else None)


def turn_of(store: Store, thread: Thread, thread_id: str, run: RunRow, *, include_events: bool = False) -> TurnShape:
    """One turn that the server ran."""
    query = HistoryQuery(include_events=include_events)
    if run.internal:
        return _internal(store, thread_id, run, query)
    for turn in thread.turns(before=run.turn + 1, limit=1):
        if turn.number == run.turn:
            return _turn(thread, thread_id, turn, _by_turn(thread, [turn.number])[turn.number], run, query)
    raise NotFound("turn", run.id)


def status_of(run: RunRow) -> str:
    """A turn whose process has died is interrupted, whether or not somebody has written that down yet."""
    return "interrupted" if run.status == "running" and run.lapsed else run.status


def _by_turn(thread: Thread, numbers: list[int]) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = {number: [] for number in numbers}
    for number in numbers:
        found[number] = [event for event in thread.said(number) if event.kind == "message"]
    return found


def _turn(
    thread: Thread,
    thread_id: str,
    turn: ExplainedTurn,
    events: list[Event],
    run: RunRow | None,
    query: HistoryQuery,
) -> TurnShape:
    messages = messages_of(events)
    response = "\n".join(message.text for message in messages.values() if message.role == "assistant" and message.text)
    at = [event.at for event in events if event.at is not None]
    newest = turn.number == thread.window.fold.newest
    status = status_of(run) if run is not None else _status(messages.values(), newest=newest)
    told: list[RunEvent] = []
    if run is not None and (query.include_events or not response):
        told = thread.store.run_events(run.tenant, run.id, limit=MOST_EVENTS)
    if run is not None and not response:
        response = "".join(text_of(event) for event in told if event.kind == "message_delta")
    ended = run.ended if run is not None else (max(at) if at and status == "completed" else None)
    return TurnShape(
        turn_id=run.id if run is not None else f"{thread_id}:{turn.number}",
        thread_id=thread_id,
        number=turn.number,
        request_text="\n".join(message.text for message in messages.values() if wrote(message)),
        response_text=response,
        is_internal=False,
        status=status,  # type: ignore[arg-type]  # one of the statuses, as just made
        stop_reason=_stop(run, status),
        error_message=(run.error or None) if run is not None else None,
        created_at=_moment(run.started if run is not None else min(at, default=None)),
        completed_at=_moment(ended),
        state=turn.state,
        tools=_tools(messages),
        events=[shown(run.id, event) for event in told] if run is not None and query.include_events else None,
    )


def _moment(at: float | None) -> str | None:
    """What came without a time has none."""
    return None if at is None else moment(at)


def _stop(run: RunRow | None, status: str) -> str | None:
    if run is None:
        return "end_turn" if status == "completed" else None
    return run.stop or ("interrupted" if status == "interrupted" else None)


def _status(messages: Iterable[Message], *, newest: bool) -> str:
    """Of a turn that the server did not run: whether it was answered, or may be still."""
    said = list(messages)
    called = {block.id for message in said for block in message.blocks if isinstance(block, ToolCall)}
    given = {block.call_id for message in said for block in message.blocks if isinstance(block, ToolResult)}
    answered = bool(said) and said[-1].role == "assistant" and not called - given
    return "completed" if answered else "open" if newest else "interrupted"


def _tools(messages: Mapping[int, Message]) -> list[ToolShape]:
    results: dict[str, tuple[str, ToolResult]] = {}
    calls: list[ToolCall] = []
    for position, message in messages.items():
        for place, block in enumerate(message.blocks):
            if isinstance(block, ToolResult):
                results[block.call_id] = handle_of(position, place), block
            elif isinstance(block, ToolCall):
                calls.append(block)
    told = []
    for call in calls:
        handle, result = results.get(call.id, (None, None))
        told.append(
            ToolShape(
                name=call.name,
                arguments=call.arguments[:SHOWN_CHARACTERS],
                handle=handle,
                text="" if result is None else text_of_block(result)[:SHOWN_CHARACTERS],
                error=result is not None and result.error,
            )
        )
    return told


def _internal(store: Store, thread_id: str, run: RunRow, query: HistoryQuery) -> TurnShape:
    events = store.run_events(run.tenant, run.id, limit=MOST_EVENTS)
    return TurnShape(
        turn_id=run.id,
        thread_id=thread_id,
        number=run.turn,
        request_text="",
        response_text="".join(text_of(event) for event in events if event.kind == "message_delta"),
        is_internal=True,
        status=status_of(run),  # type: ignore[arg-type]  # one of the statuses
        stop_reason=run.stop or None,
        error_message=run.error or None,
        created_at=moment(run.started),
        completed_at=_moment(run.ended),
        state="internal",
        tools=[],
        events=[shown(run.id, event) for event in events] if query.include_events else None,
    )
