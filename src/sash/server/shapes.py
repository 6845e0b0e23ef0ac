"""What the threads API takes and gives."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from sash.core.pressure import Pressure
from sash.server.route import Given, Shape
from sash.server.told import ToldEvent
from sash.store import RunStatus

WireName = Literal["openai-chat", "openai-responses", "anthropic", "flat"]
MessageWire = Literal["openai-chat", "openai-responses", "anthropic"]
PolicyName = Literal["best", "sliding", "priority", "threshold", "recent", "chat"]

Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")]
"""Of a thread that is to be made. One with a dot in front would not be listed: so side calls are kept."""
Title = Annotated[str, msgspec.Meta(max_length=200)]
Name = Annotated[str, msgspec.Meta(max_length=200)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Page = Annotated[int, msgspec.Meta(ge=1, le=500)]
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=60.0)]


class Window(Given, frozen=True, kw_only=True):
    """What of a policy a client may set; what is left out is the policy's own."""

    policy: PolicyName | None = None
    history_tokens: Size | None = None
    keep_share: Share | None = None
    window: Size | None = None
    recall_tokens: Size | None = None
    pin_tokens: Size | None = None
    facts_tokens: Size | None = None


class NewThread(Window, frozen=True, kw_only=True):
    """A thread that is to be made; all of it may be left out."""

    thread_id: Id | None = None
    title: Title = ""
    model: Name | None = None
    system: str | None = None
    tools: list[dict[str, Any]] | None = None
    """As OpenAI's chat API takes them."""


class ChangedThread(Window, frozen=True, kw_only=True):
    """What is to change; what is left out stays."""

    title: Title | None = None
    model: Name | None = None
    system: str | None = None
    tools: list[dict[str, Any]] | None = None


class ListedThread(Shape, frozen=True, kw_only=True):
    """A thread as a list has it."""

    thread_id: str
    title: str
    model: str
    policy: str
    created_at: str
    updated_at: str
    turns: int
    """Number of the newest turn."""
    boundary: int
    """Number of the first live turn."""
    pressure: Pressure
    window_known: bool
    """False where nobody knows the model's window, and a default stands in."""
    health: list[str]
    """What somebody should look at; empty when all is well."""


class ThreadShape(ListedThread, frozen=True, kw_only=True):
    """A thread."""

    summary: str
    """What stands for the turns that left the window."""


class ThreadList(Shape, frozen=True, kw_only=True):
    """Threads, the newest first."""

    threads: list[ListedThread]
    next: str | None
    """Give it as `before` to go on; null at the end."""


class ListQuery(Given, frozen=True, kw_only=True):
    """Which threads."""

    limit: Page = 50
    before: str | None = None


class StartTurn(Given, frozen=True, kw_only=True):
    """A turn that is to be run."""

    input: str | list[dict[str, Any]]
    """What the user says: words, or a user message's content blocks as OpenAI's chat API takes them."""
    stream: bool = True
    """Whether the answer is told as it comes, as server-sent events."""
    background: bool = False
    """Answer at once; the turn goes on by itself and is followed by its events."""
    wait_seconds: Seconds | None = None
    """How long to wait for a turn before this one; left out, as the server is set."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] | None = None


class CallResult(Given, frozen=True, kw_only=True):
    """What a tool gave."""

    call_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    content: str


class Results(Given, frozen=True, kw_only=True):
    """The results of a turn's open calls."""

    results: Annotated[list[CallResult], msgspec.Meta(min_length=1, max_length=1000)]
    stream: bool = True
    background: bool = False


class ToolShape(Shape, frozen=True, kw_only=True):
    """A call, and what came of it."""

    name: str
    arguments: str
    handle: str | None
    """Of the result: `expand` gives the whole of it."""
    text: str
    """The first 2,000 characters of the result."""
    error: bool


class TurnShape(Shape, frozen=True, kw_only=True):
    """A turn: what was asked, what was answered, and how it went."""

    turn_id: str
    thread_id: str
    number: int
    request_text: str
    """The user's own words."""
    response_text: str
    is_internal: bool
    status: RunStatus | Literal["open"]
    """Open: the newest, and nobody has answered it yet, nor does the server."""
    stop_reason: str | None
    error_message: str | None
    created_at: str | None
    """When it began; None where nobody said, as in an imported session without times."""
    completed_at: str | None
    state: str
    """Where it stands: live, carried, evicted or rewound; of an internal one, internal."""
    tools: list[ToolShape]
    events: list[ToldEvent] | None = None
    """Only where they were asked for."""


class History(Shape, frozen=True, kw_only=True):
    """The turns of a thread, oldest first."""

    turns: list[TurnShape]
    next: int | None
    """Give it as `before` for older ones; null at the beginning."""


class HistoryQuery(Given, frozen=True, kw_only=True):
    """Which turns, and how much of each."""

    include_internal: bool = False
    include_events: bool = False
    limit: Page = 200
    before: Number | None = None
    """Only turns with a smaller number."""


class EventsQuery(Given, frozen=True, kw_only=True):
    """From where on."""

    after: Number = 0


class Compact(Given, frozen=True, kw_only=True):
    """How to compact."""

    max_summary_chars: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    dry_run: bool = False


class Compacted(Shape, frozen=True, kw_only=True):
    """What compacting did, or with `dryRun` would do."""

    thread_id: str
    turn_id: str
    status: RunStatus
    stop_reason: str
    summary: str
    summary_chars: int
    frame: int | None
    """Number of the frame that it made; null where the window stays as it is."""
    boundary: int
    freed_tokens: int
