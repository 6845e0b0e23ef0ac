"""Threads carried in and out: a session file of some tool, or the whole log as one provider's messages."""

from __future__ import annotations

from io import BytesIO
from typing import Annotated, Any

import msgspec

from sash.errors import SashError, ThreadExists
from sash.server.body import read_body
from sash.server.fault import Fault
from sash.server.handles import id_of
from sash.server.route import Asked, Given, Route, Shape
from sash.server.shapes import MessageWire
from sash.thread import Spoken
from sash.thread.log import messages_of
from sash.transcripts import FORMATS, open_transcript
from sash.wire import prepare, write_fields

MOST_DAMAGE = 100


class ImportQuery(Given, frozen=True, kw_only=True):
    """How to read the file."""

    format: Annotated[str, msgspec.Meta(max_length=40)] = ""
    """Left out, it is told by its content."""


class DamageShape(Shape, frozen=True, kw_only=True):
    """A part of the file that could not be read."""

    line: int
    why: str


class Imported(Shape, frozen=True, kw_only=True):
    """What was added."""

    thread_id: str
    format: str
    added: int
    """Messages."""
    known: int
    """Messages that were there already: done again, it adds what is new and nothing twice."""
    damaged: int
    damage: list[DamageShape]
    """The first hundred."""


class ExportQuery(Given, frozen=True, kw_only=True):
    """How to write it."""

    wire: MessageWire = "openai-chat"


class Exported(Shape, frozen=True, kw_only=True):
    """All that was said and not rewound, whatever is in the window."""

    thread_id: str
    wire: str
    request: dict[str, Any]
    left_out: list[str]
    """What this wire has no place for, or would refuse."""


async def import_session(asked: Asked[None, ImportQuery]) -> Imported:
    """Add the messages of a session file: the body is the file itself."""
    backend, query = asked.backend, asked.query
    if query.format and query.format not in FORMATS:
        raise Fault("INVALID_ARGUMENT", f"there is no format {query.format!r}; there are {', '.join(FORMATS)}")
    raw = await read_body(asked.request, backend.setup.max_body_bytes)

    def work() -> Imported:
        row = backend.handles.row(asked.tenant, asked.path["thread"])
        thread = backend.handles.of(row)
        try:
            transcript = open_transcript(BytesIO(raw), format=query.format)
            entries = [entry for entry in transcript.messages() if entry.message.role != "meta"]
        except SashError as error:
            raise Fault("INVALID_ARGUMENT", str(error)) from None
        try:
            taken = thread.take(Spoken(entry.message, entry.at) for entry in entries)
        except ThreadExists:
            raise Fault(
                "CONFLICT", "the thread holds something else than the session begins with; import it into a new thread"
            ) from None
        backend.entitle(thread, row)
        return Imported(
            thread_id=id_of(row),
            format=transcript.format,
            added=taken.added,
            known=taken.known,
            damaged=transcript.damaged,
            damage=[DamageShape(line=one.line, why=one.why) for one in transcript.damage[:MOST_DAMAGE]],
        )

    return await backend.call(work)


async def export_thread(asked: Asked[None, ExportQuery]) -> Exported:
    """The whole thread as one provider's request."""
    backend, wire = asked.backend, asked.query.wire

    def work() -> Exported:
        row = backend.handles.row(asked.tenant, asked.path["thread"])
        thread = backend.handles.of(row)
        said = messages_of(thread.standing())
        prepared = prepare((*thread.setup.system, *said.values()), wire)
        fields = write_fields(prepared.messages, thread.setup.tools, wire)
        request = {name: msgspec.json.decode(value) for name, value in fields.items() if value not in (b"[]", b"null")}
        return Exported(
            thread_id=id_of(row), wire=wire, request=request, left_out=[repair.why for repair in prepared.repairs]
        )

    return await backend.call(work)


_THREAD = "/v1/threads/{thread}"
ROUTES: tuple[Route, ...] = (
    Route(method="POST", path=f"{_THREAD}/import", run=import_session, tag="messages", query=ImportQuery,
          answer=Imported, faults=("NOT_FOUND", "CONFLICT"),
          says="Add the messages of a session file, which is the body."),
    Route(method="GET", path=f"{_THREAD}/export", run=export_thread, tag="messages", query=ExportQuery,
          answer=Exported, faults=("NOT_FOUND",), says="The whole thread, as one provider's request."),
)  # fmt: skip
