"""Looking at a thread: its history, its window, what would be sent, and what would be under another policy."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from sash.core.calibration import Calibration, Report, observe
from sash.core.explanation import Explanation
from sash.core.frame import Frame
from sash.core.policy import policy_from
from sash.core.pressure import Pressure
from sash.core.tokens import TokenCount
from sash.server.fault import Fault
from sash.server.handles import id_of
from sash.server.history import history_of
from sash.server.origins import Part, parts_of
from sash.server.route import Asked, Given, Route, Shape
from sash.server.shapes import History, HistoryQuery, Name, Number, Page, Share, Size, WireName
from sash.server.timeline import Moment, cached_share, timeline_of
from sash.store.words import passage
from sash.thread import Thread
from sash.thread.acts import act_of
from sash.thread.log import message_of
from sash.thread.past import edits_in
from sash.window.replay import Replay

BEFORE, PASSAGE = 30, 500
"""Characters that are shown before what was found, and in all: a list has only two lines for it."""
MOST_REPLAYED = 50_000
"""Events of a log that is replayed to answer a what-if."""
MOST_CHARGED = 2_000
"""The newest of them, whose requests are put together to tell what they cost; before that only the window slides."""


class SourceShape(Shape, frozen=True, kw_only=True):
    """What one source takes of the window."""

    source: str
    tokens: TokenCount
    given: int
    """What it may take."""
    change: str
    """What changes it."""


class ContextShape(Shape, frozen=True, kw_only=True):
    """Where the tokens of the next request go."""

    model: str
    counter: str
    counter_why: str
    window: int
    window_known: bool
    reserve: int
    tokens: TokenCount
    high: int
    low: int
    history_tokens: int
    keep_share: float
    boundary: int
    frame: int
    pressure: Pressure
    cached_share: float | None
    """Of all requests so far, as a provider with a cache would charge them."""
    timeline: list[Moment]
    sources: list[SourceShape]
    around: int
    """What repairs, and what stands around words of sash's own, add to the sources' tokens."""
    unsent: int
    """What history counts in the window and is not sent: left out by repairs, or without a place in a flat prompt."""


class Frames(Shape, frozen=True, kw_only=True):
    """All frames, oldest first."""

    frames: list[Frame]


class RequestQuery(Given, frozen=True, kw_only=True):
    """How the request is to be written."""

    wire: WireName | None = None
    """Left out, the provider's own."""
    at: Number | None = None
    """The request as it was right after that event."""
    origins: bool = False
    """Whether to say where each part comes from."""


class RequestShape(Shape, frozen=True, kw_only=True):
    """What is sent."""

    wire: str
    tokens: TokenCount
    request: dict[str, Any]
    repairs: list[str]
    parts: list[Part] | None = None


class ExpandQuery(Given, frozen=True, kw_only=True):
    """Which block, and which lines of it."""

    handle: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,15}\.[0-9]{1,9}$")]
    lines: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,9}-[0-9]{1,9}$")] | None = None
    """`1-80`."""
    grep: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    """Only the lines that hold this text."""


class Expanded(Shape, frozen=True, kw_only=True):
    """The whole of a block, or some of its lines."""

    text: str


class SearchQuery(Given, frozen=True, kw_only=True):
    """What to look for."""

    text: Annotated[str, msgspec.Meta(max_length=1000)]
    limit: Page = 20


class FoundShape(Shape, frozen=True, kw_only=True):
    """A message that holds the text."""

    thread_id: str
    title: str
    turn: int
    role: str
    handle: str
    text: str
    """At most 500 characters of it, from where most of the words stand together."""
    rewound: bool
    """A rewind has taken it out of its thread."""


class FoundList(Shape, frozen=True, kw_only=True):
    """What was found, newest first."""

    found: list[FoundShape]


class WhatIf(Given, frozen=True, kw_only=True):
    """Another policy or model to try; nothing is changed."""

    history_tokens: Size | None = None
    keep_share: Share | None = None
    window: Size | None = None
    model: Name | None = None


class Outcome(Shape, frozen=True, kw_only=True):
    """What a policy does to the whole thread."""

    boundary: int
    tokens: TokenCount
    slides: int
    average: float
    cached_share: float
    cost: float
    """All requests together, in tokens at the provider's list price."""


class WhatIfShape(Shape, frozen=True, kw_only=True):
    """The thread under another policy, beside how it is."""

    explanation: Explanation
    now: Outcome
    then: Outcome


async def history(asked: Asked[None, HistoryQuery]) -> History:
    """The turns, oldest first; internal ones only where they are asked for."""
    backend = asked.backend

    def work() -> History:
        row = backend.handles.row(asked.tenant, asked.path["thread"])
        return history_of(backend.store, backend.handles.of(row), id_of(row), asked.query)

    return await backend.call(work)


async def context(asked: Asked[None, None]) -> ContextShape:
    """Where the tokens of the next request go, and how it came to that."""
    return await asked.of_thread(_context)


def _context(thread: Thread) -> ContextShape:
    window = thread.window
    known, policy = window.context(), thread.setup.policy
    timeline = timeline_of(thread)
    limits = window.fold.limits
    return ContextShape(
        model=known.model,
        counter=known.counter,
        counter_why=known.counter_why,
        window=known.window,
        window_known=known.window_known,
        reserve=limits.reserve,
        tokens=known.used,
        high=known.high,
        low=known.low,
        history_tokens=policy.history_tokens,
        keep_share=policy.keep_share,
        boundary=known.boundary,
        frame=known.frame,
        pressure=known.pressure,
        cached_share=cached_share(timeline),
        timeline=timeline,
        sources=[
            SourceShape(
                source=row.source,
                tokens=row.used,
                given=max(row.given, row.allotted),
                change=known.changes[row.source],
            )
            for row in known.ledger.rows
            if row.used.value or row.given
        ],
        around=known.around,
        unsent=known.unsent,
    )


def _replay(thread: Thread, change: dict[str, Any]) -> Replay | None:
    """The log under a policy; None where it is too long to do that while somebody waits."""
    if thread.seq > MOST_REPLAYED:
        return None
    setup = thread.setup
    named = {name: value for name, value in change.items() if name != "model"}
    if named:
        setup = msgspec.structs.replace(setup, policy=policy_from(named, setup.policy))
    if "model" in change:
        setup = msgspec.structs.replace(setup, model=change["model"])
    replay, calibration = Replay("now", setup), Calibration()
    for event in thread.standing():
        if event.kind == "message":
            replay.add(message_of(event), event.at, charged=event.seq > thread.seq - MOST_CHARGED)
        elif event.kind == "usage" and "model" not in change:
            # What the provider reported moved the real slides; of another model nothing was reported.
            calibration = observe(calibration, act_of(event, Report))
            replay.window.fold.calibrate(calibration)
    return replay


async def explain(asked: Asked[None, None]) -> Explanation:
    """Of every turn, result and frame: what became of it, by which rule, and how to get it back."""
    return await asked.of_thread(Thread.explain)


async def frames(asked: Asked[None, None]) -> Frames:
    """All frames, oldest first."""
    return await asked.of_thread(lambda thread: Frames(frames=list(thread.frames())))


async def request(asked: Asked[None, RequestQuery]) -> RequestShape:
    """Exactly what is sent, on the wire that is asked for."""
    query = asked.query

    def work(thread: Thread) -> RequestShape:
        wire = query.wire or asked.backend.wire_of(thread)
        prepared = thread.prepared(wire=wire, at=query.at)
        return RequestShape(
            wire=wire,
            tokens=prepared.tokens,
            request=prepared.request,
            repairs=[repair.why for repair in prepared.report.repairs],
            parts=parts_of(thread, prepared) if query.origins else None,
        )

    return await asked.of_thread(work)


async def expand(asked: Asked[None, ExpandQuery]) -> Expanded:
    """The whole of a block that was shortened, or some of its lines."""
    query = asked.query
    lines = None
    if query.lines is not None:
        first, _, last = query.lines.partition("-")
        lines = int(first), int(last)

    def work(thread: Thread) -> Expanded:
        # Plain text, not a pattern: somebody else's pattern may take for ever.
        grep = None if query.grep is None else re.escape(query.grep)
        return Expanded(text=thread.expand(query.handle, lines=lines, grep=grep))

    return await asked.of_thread(work)


async def search_thread(asked: Asked[None, SearchQuery]) -> FoundList:
    """The messages of a thread that hold a text."""
    return await _search(asked, asked.path["thread"])


async def search(asked: Asked[None, SearchQuery]) -> FoundList:
    """The messages of all threads that hold a text."""
    return await _search(asked, None)


async def _search(asked: Asked[None, SearchQuery], thread_id: str | None) -> FoundList:
    backend, query = asked.backend, asked.query

    def work() -> FoundList:
        thread = None if thread_id is None else backend.handles.thread(asked.tenant, thread_id)
        if thread is not None:
            found = list(thread.search(query.text, limit=query.limit))
        else:
            found = backend.store.search(asked.tenant, query.text, limit=query.limit)
        rows = {one.thread: backend.store.thread(asked.tenant, one.thread) for one in found}
        # A fork holds what its parent said before it; what is rewound in the one need not be in the other.
        edits = {number: edits_in((thread or backend.handles.of(row)).tail.log) for number, row in rows.items()}
        return FoundList(
            found=[
                FoundShape(
                    thread_id=id_of(rows[one.thread]),
                    title=rows[one.thread].title or one.name,
                    turn=one.turn,
                    role=one.role,
                    handle=f"{one.seq - 1}.0",
                    text=passage(one.text, query.text, before=BEFORE, most=PASSAGE),
                    rewound=edits[one.thread].out(one.seq),
                )
                for one in found
            ]
        )

    return await backend.call(work)


async def what_if(asked: Asked[WhatIf, None]) -> WhatIfShape:
    """The thread under another policy or model; nothing is changed."""
    change = {name: value for name, value in msgspec.structs.asdict(asked.body).items() if value is not None}

    def work(thread: Thread) -> WhatIfShape:
        now, then = _replay(thread, {}), _replay(thread, change)
        if now is None or then is None:
            raise Fault("INVALID_ARGUMENT", f"a log of more than {MOST_REPLAYED:,} events is not replayed here")
        return WhatIfShape(explanation=then.window.explain(stored=True), now=_outcome(now), then=_outcome(then))

    return await asked.of_thread(work)


def _outcome(replay: Replay) -> Outcome:
    came = replay.outcome()
    fold = replay.window.fold
    return Outcome(
        boundary=fold.frame.boundary,
        tokens=fold.total,
        slides=came.slides,
        average=came.average,
        cached_share=came.cached,
        cost=came.cost,
    )


_THREAD = "/v1/threads/{thread}"
ROUTES: tuple[Route, ...] = (
    Route(method="GET", path=f"{_THREAD}/history", run=history, tag="looking", query=HistoryQuery, answer=History,
          faults=("NOT_FOUND",), says="The turns of a thread."),
    Route(method="GET", path=f"{_THREAD}/context", run=context, tag="looking", answer=ContextShape,
          faults=("NOT_FOUND",), says="Where the tokens of the next request go."),
    Route(method="GET", path=f"{_THREAD}/explain", run=explain, tag="looking", answer=Explanation,
          faults=("NOT_FOUND",), says="Why every turn is in the window or out of it."),
    Route(method="GET", path=f"{_THREAD}/frames", run=frames, tag="looking", answer=Frames, faults=("NOT_FOUND",),
          says="Every slide, and why it was made."),
    Route(method="GET", path=f"{_THREAD}/request", run=request, tag="looking", query=RequestQuery,
          answer=RequestShape, faults=("NOT_FOUND",), says="Exactly what is sent."),
    Route(method="GET", path=f"{_THREAD}/expand", run=expand, tag="looking", query=ExpandQuery, answer=Expanded,
          faults=("NOT_FOUND",), says="The whole of what was shortened."),
    Route(method="GET", path=f"{_THREAD}/search", run=search_thread, tag="looking", query=SearchQuery,
          answer=FoundList, faults=("NOT_FOUND",), says="Search a thread."),
    Route(method="GET", path="/v1/search", run=search, tag="looking", query=SearchQuery, answer=FoundList,
          says="Search all threads."),
    Route(method="POST", path=f"{_THREAD}/whatif", run=what_if, tag="looking", body=WhatIf, answer=WhatIfShape,
          faults=("NOT_FOUND",), says="The thread under another policy or model; nothing is changed."),
)  # fmt: skip
