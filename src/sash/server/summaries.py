"""A thread's summary: its revisions, the user's own words for it, and writing it anew."""

from __future__ import annotations

from typing import Annotated

import msgspec

from sash.core.summary import Summary
from sash.core.tokens import TokenCount
from sash.server.backend import Backend
from sash.server.moment import moment
from sash.server.route import Asked, Given, Nothing, Route, Shape
from sash.server.shapes import Number
from sash.summarize import Summarizer
from sash.thread import Thread


class Revision(Shape, frozen=True, kw_only=True):
    """One revision of a summary."""

    revision: int
    """Its name, for reverting to it."""
    text: str
    first: int
    until: int
    """Number of the first turn that it does not stand for."""
    by: str
    generation: int
    lost: list[str]
    """What the one before it had lost, where it was written anew."""
    removed: int
    """Lines that the turns do not support: taken out."""
    tokens: TokenCount
    at: str | None


class Summaries(Shape, frozen=True, kw_only=True):
    """What stands for the turns that left, and how it came to that."""

    standing: str
    """As the model sees it: a summary, a digest, or both."""
    written_by: str
    """model, user or code."""
    revisions: list[Revision]
    """Oldest first."""
    trouble: str | None
    """Why the last attempt at a summary failed."""


class NewSummary(Given, frozen=True, kw_only=True):
    """The user's own words for what left."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=100_000)]


class Revert(Given, frozen=True, kw_only=True):
    """An older revision."""

    revision: Number


def _shown(backend: Backend, thread: Thread) -> Summaries:
    window = thread.window
    fold, at = window.fold, {event.seq: event.at for event in thread.events() if event.kind == "summary"}
    return Summaries(
        standing=fold.digest_text() or ("" if fold.summary is None else fold.summary.whole),
        written_by="code" if fold.summary is None else fold.summary.by,
        revisions=[_revision(one, window.counter.text(one.whole), at.get(one.seq)) for one in thread.summaries()],
        trouble=backend.troubles(thread.tenant).get(thread.id),
    )


def _revision(summary: Summary, tokens: TokenCount, at: float | None) -> Revision:
    return Revision(
        revision=summary.seq,
        text=summary.whole,
        first=summary.first,
        until=summary.end,
        by=summary.by,
        generation=summary.generation,
        lost=list(summary.lost),
        removed=summary.removed,
        tokens=tokens,
        at=None if at is None else moment(at),
    )


async def summaries(asked: Asked[None, None]) -> Summaries:
    """What stands for the turns that left, with every revision."""
    backend = asked.backend
    return await backend.call(lambda: _shown(backend, backend.handles.thread(asked.tenant, asked.path["thread"])))


async def edit_summary(asked: Asked[NewSummary, None]) -> Summaries:
    """The user's own words take the place of the summary; no model changes them later."""
    backend = asked.backend

    def work() -> Summaries:
        thread = backend.handles.thread(asked.tenant, asked.path["thread"])
        thread.edit_summary(asked.body.text)
        return _shown(backend, thread)

    return await backend.call(work)


async def revert_summary(asked: Asked[Revert, None]) -> Summaries:
    """An older revision is in force again."""
    backend = asked.backend

    def work() -> Summaries:
        thread = backend.handles.thread(asked.tenant, asked.path["thread"])
        thread.revert_summary(asked.body.revision)
        return _shown(backend, thread)

    return await backend.call(work)


async def rebuild_summary(asked: Asked[Nothing, None]) -> Summaries:
    """Have the provider write the summary anew from the turns themselves; what they do not support is taken out."""
    backend = asked.backend

    def work() -> Summaries:
        thread = backend.handles.thread(asked.tenant, asked.path["thread"])
        summarizer = Summarizer(backend.answering.provider(thread.setup.model), policy=thread.setup.policy)
        thread.summarize(summarizer, anew=True, at=backend.now())
        return _shown(backend, thread)

    return await backend.call(work)


_THREAD = "/v1/threads/{thread}"
ROUTES: tuple[Route, ...] = (
    Route(method="GET", path=f"{_THREAD}/summaries", run=summaries, tag="summaries", answer=Summaries,
          faults=("NOT_FOUND",), says="What stands for the turns that left, with every revision."),
    Route(method="PUT", path=f"{_THREAD}/summary", run=edit_summary, tag="summaries", body=NewSummary,
          answer=Summaries, faults=("NOT_FOUND", "CONFLICT"), says="Write the summary yourself."),
    Route(method="POST", path=f"{_THREAD}/summary/revert", run=revert_summary, tag="summaries", body=Revert,
          answer=Summaries, faults=("NOT_FOUND", "CONFLICT"), says="Go back to an older revision."),
    Route(method="POST", path=f"{_THREAD}/summary/rebuild", run=rebuild_summary, tag="summaries", body=Nothing,
          optional_body=True, answer=Summaries,
          faults=("NOT_FOUND", "CONFLICT", "TIMEOUT", "UPSTREAM_UNAVAILABLE"),
          says="Have the summary written anew from the turns themselves."),
)  # fmt: skip
