"""What people do to a thread: say something themselves, compact, undo, pin, mark, rewind, fork, remember."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from sash.core.because import because
from sash.core.frame import Frame
from sash.core.turn import no_turn
from sash.server.compacting import compact as run_compact
from sash.server.fault import Fault
from sash.server.handles import new_id
from sash.server.route import Asked, Given, Nothing, Route, Shape
from sash.server.shapes import Compact, Compacted, Id, MessageWire, Number, ThreadShape
from sash.server.threads import shape_of
from sash.thread import Thread
from sash.thread.past import undone_by

MOST_MESSAGES = 10_000


class NewMessages(Given, frozen=True, kw_only=True):
    """Messages of somebody who calls the model themselves."""

    messages: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1, max_length=MOST_MESSAGES)]
    """As the wire writes them."""
    wire: MessageWire = "openai-chat"
    at: Annotated[float, msgspec.Meta(ge=0, le=1e11)] | None = None
    """When they were said, in seconds since 1970."""


class NewUsage(Given, frozen=True, kw_only=True):
    """What the provider reported for the last request."""

    usage: dict[str, Any]
    wire: MessageWire = "openai-chat"


class AppendedShape(Shape, frozen=True, kw_only=True):
    """Where messages stand."""

    seq: int
    turn: int
    frame: int | None
    """Number of the frame that they led to."""
    repeated: bool


class FrameShape(Shape, frozen=True, kw_only=True):
    """The frame in force after a command; null where nothing had to change."""

    frame: Frame | None
    because: str | None
    """Why it was made, in words; of an undo, what it took back."""


class Pin(Given, frozen=True, kw_only=True):
    """A turn by its number."""

    turn: Number


class NewMark(Given, frozen=True, kw_only=True):
    """A place to come back to."""

    label: Annotated[str, msgspec.Meta(max_length=200)] = ""


class Rewind(Given, frozen=True, kw_only=True):
    """Where to go back to: the newest mark of that label, or the newest of all."""

    label: Annotated[str, msgspec.Meta(max_length=200)] | None = None


class MarkShape(Shape, frozen=True, kw_only=True):
    """A mark."""

    seq: int
    turn: int
    label: str


class Marks(Shape, frozen=True, kw_only=True):
    """The marks that can be gone back to, oldest first."""

    marks: list[MarkShape]


class NewFact(Given, frozen=True, kw_only=True):
    """A statement to be kept apart from the history."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]


class ForgottenFact(Given, frozen=True, kw_only=True):
    """A fact by its words, or by the first of them."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=100_000)]


class FactShape(Shape, frozen=True, kw_only=True):
    """A fact."""

    text: str
    turn: int
    found_by: str
    """given by the user, found by code, or by a model."""
    superseded_by: int | None
    """The event of the fact that took its place."""


class Facts(Shape, frozen=True, kw_only=True):
    """What is kept apart from the history."""

    facts: list[FactShape]


async def add_messages(asked: Asked[NewMessages, None]) -> AppendedShape:
    """Add messages to the log, for those who call the model themselves."""
    body = asked.body
    key = asked.request.headers.get("idempotency-key") or None
    backend = asked.backend
    at = backend.now() if body.at is None else body.at

    def work() -> AppendedShape:
        row = backend.handles.row(asked.tenant, asked.path["thread"])
        thread = backend.handles.of(row)
        listed = b"[" + b",".join(map(bytes, body.messages)) + b"]"
        appended = thread.append(listed, wire=body.wire, at=at, key=key)
        backend.entitle(thread, row)
        frame = None if appended.frame is None else appended.frame.number
        return AppendedShape(seq=appended.seq, turn=appended.turn, frame=frame, repeated=appended.repeated)

    return await backend.call(work)


async def add_usage(asked: Asked[NewUsage, None]) -> Any:
    """What the provider says the last request took: counts follow it from now on."""
    return await asked.of_thread(lambda thread: thread.record_usage(asked.body.usage, wire=asked.body.wire))


async def compact_thread(asked: Asked[Compact, None]) -> Compacted:
    """Slide now; under the policy `recent` the provider writes a summary, as an internal turn."""
    return await run_compact(asked.backend, asked.tenant, asked.path["thread"], asked.body)


def _framed(work: Callable[[Thread], Frame | None]) -> Callable[[Thread], FrameShape]:
    def told(thread: Thread) -> FrameShape:
        frame = work(thread)
        if frame is None:
            return FrameShape(frame=None, because=None)
        undone = undone_by(thread.tail.log).get(frame.number, "") if frame.reason == "undo" else ""
        return FrameShape(frame=frame, because=because(frame, undone=undone))

    return told


async def undo(asked: Asked[Nothing, None]) -> FrameShape:
    """Take back the newest slide, or the newest command that can be."""
    return await asked.of_thread(_framed(Thread.undo))


async def pin(asked: Asked[Pin, None]) -> FrameShape:
    """Keep a turn in the window."""
    return await asked.of_thread(_framed(lambda thread: thread.pin(asked.body.turn)))


async def unpin(asked: Asked[None, None]) -> FrameShape:
    """Let a turn leave again."""
    number = asked.path["number"]
    if not number.isdigit() or len(number) > 15:
        raise Fault("INVALID_ARGUMENT", "a turn has a number")
    return await asked.of_thread(_framed(lambda thread: thread.unpin(int(number))))


def _marks(thread: Thread) -> Marks:
    return Marks(marks=[MarkShape(seq=mark.seq, turn=mark.turn, label=mark.label) for mark in thread.marks()])


async def marks(asked: Asked[None, None]) -> Marks:
    """The marks that can be gone back to."""
    return await asked.of_thread(_marks)


async def mark(asked: Asked[NewMark, None]) -> Marks:
    """Mark this place."""

    def work(thread: Thread) -> Marks:
        thread.mark(asked.body.label)
        return _marks(thread)

    return await asked.of_thread(work)


async def rewind(asked: Asked[Rewind, None]) -> FrameShape:
    """Go back to a mark; what was said since leaves the window and stays in the log."""
    return await asked.of_thread(_framed(lambda thread: thread.rewind(asked.body.label)))


def _facts(thread: Thread) -> Facts:
    return Facts(
        facts=[
            FactShape(
                text=fact.text,
                turn=fact.turn,
                found_by=str(getattr(fact, "origin", "given")),
                superseded_by=getattr(fact, "superseded_by", 0) or None,
            )
            for fact in thread.facts()
        ]
    )


async def facts(asked: Asked[None, None]) -> Facts:
    """The statements that are kept apart from the history."""
    return await asked.of_thread(_facts)


async def remember(asked: Asked[NewFact, None]) -> Facts:
    """Keep a statement apart from the history."""

    def work(thread: Thread) -> Facts:
        thread.remember(asked.body.text)
        return _facts(thread)

    return await asked.of_thread(work)


async def forget(asked: Asked[ForgottenFact, None]) -> Facts:
    """Take a statement back that was kept apart."""

    def work(thread: Thread) -> Facts:
        thread.forget(asked.body.text)
        return _facts(thread)

    return await asked.of_thread(work)


class Fork(Given, frozen=True, kw_only=True):
    """Where to go another way."""

    turn: Number | None = None
    """The last turn that both share; left out, all of them."""
    thread_id: Id | None = None


async def fork(asked: Asked[Fork, None]) -> ThreadShape:
    """A new thread that goes on from a turn; both then go their own ways, and the past is shared."""
    backend, body = asked.backend, asked.body

    def work() -> ThreadShape:
        thread = backend.handles.thread(asked.tenant, asked.path["thread"])
        at = None
        if body.turn is not None:
            said = thread.said(body.turn)
            if not said:
                raise no_turn(body.turn, thread.window.fold.turns)
            at = max(event.seq for event in said)
        made = thread.fork(body.thread_id or new_id(), at=at)
        return shape_of(backend, backend.store.thread(asked.tenant, made.id))

    return await backend.call(work)


_THREAD = "/v1/threads/{thread}"
ROUTES: tuple[Route, ...] = (
    Route(method="POST", path=f"{_THREAD}/messages", run=add_messages, tag="messages", body=NewMessages,
          answer=AppendedShape, faults=("NOT_FOUND", "CONFLICT"),
          says="Add messages, for those who call the model themselves."),
    Route(method="POST", path=f"{_THREAD}/usage", run=add_usage, tag="messages", body=NewUsage, answer=Any,
          faults=("NOT_FOUND",), says="Tell what the provider reported for the last request."),
    Route(method="POST", path=f"{_THREAD}/compact", run=compact_thread, tag="commands", body=Compact,
          optional_body=True, answer=Compacted,
          faults=("NOT_FOUND", "CONFLICT", "TIMEOUT", "UPSTREAM_UNAVAILABLE"),
          says="Slide the window now, or with `dryRun` say what that would do."),
    Route(method="POST", path=f"{_THREAD}/undo", run=undo, tag="commands", body=Nothing, optional_body=True,
          answer=FrameShape, faults=("NOT_FOUND", "CONFLICT"), says="Take back the newest slide, pin or rewind."),
    Route(method="POST", path=f"{_THREAD}/pins", run=pin, tag="commands", body=Pin, answer=FrameShape,
          faults=("NOT_FOUND", "CONFLICT"), says="Keep a turn in the window."),
    Route(method="DELETE", path=f"{_THREAD}/pins/{{number}}", run=unpin, tag="commands", answer=FrameShape,
          faults=("NOT_FOUND",), says="Let a turn leave again."),
    Route(method="GET", path=f"{_THREAD}/marks", run=marks, tag="commands", answer=Marks, faults=("NOT_FOUND",),
          says="The marks that can be gone back to."),
    Route(method="POST", path=f"{_THREAD}/marks", run=mark, tag="commands", body=NewMark, optional_body=True,
          answer=Marks, faults=("NOT_FOUND",), says="Mark this place."),
    Route(method="POST", path=f"{_THREAD}/rewind", run=rewind, tag="commands", body=Rewind, optional_body=True,
          answer=FrameShape, faults=("NOT_FOUND",), says="Go back to a mark."),
    Route(method="POST", path=f"{_THREAD}/fork", run=fork, tag="commands", body=Fork, optional_body=True, status=201,
          answer=ThreadShape, faults=("NOT_FOUND", "CONFLICT"),
          says="A new thread that goes on from a turn of this one."),
    Route(method="GET", path=f"{_THREAD}/facts", run=facts, tag="commands", answer=Facts, faults=("NOT_FOUND",),
          says="The statements that are kept apart from the history."),
    Route(method="POST", path=f"{_THREAD}/facts", run=remember, tag="commands", body=NewFact, answer=Facts,
          faults=("NOT_FOUND",), says="Keep a statement apart from the history."),
    Route(method="POST", path=f"{_THREAD}/forget", run=forget, tag="commands", body=ForgottenFact, answer=Facts,
          faults=("NOT_FOUND",), says="Take a statement back that was kept apart."),
)  # fmt: skip
