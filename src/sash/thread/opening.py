"""`sash.open`: a thread by its name, made where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from sash.arguments import SOURCES, TEXT, Kind, having, takes
from sash.core.policy import Policy
from sash.core.sources import Source
from sash.errors import ThreadExists
from sash.store import DEFAULT, Store, ThreadRow, open_store
from sash.thread.acts import Change, change_of
from sash.thread.origin import Origin
from sash.thread.thread import Summaries, Thread, handle_on
from sash.window import Setup

if TYPE_CHECKING:
    from sash.providers import Provider
    from sash.summarize import Summarizer


_SUMMARIZER = Kind(
    "a provider, a sash.Summarizer, or PROVIDER:MODEL",
    lambda value: isinstance(value, str) or hasattr(value, "model") or hasattr(value, "provider"),
)


@takes(
    name=TEXT,
    store=having("the address of a store, or an open one", "find", "create"),
    model=TEXT,
    sources=SOURCES,
    wire=TEXT,
    summarizer=_SUMMARIZER,
    tenant=TEXT,
)
def open_thread(  # noqa: PLR0913  (the public door, whose names are fixed)
    name: str,
    *,
    store: str | Store = DEFAULT,
    model: str | None = None,
    policy: Policy | None = None,
    system: object = None,
    tools: object = None,
    sources: Sequence[Source] | None = None,
    wire: str = "openai-chat",
    summarizer: Summarizer | Provider | str | None = None,
    tenant: str = "",
) -> Thread:
    """
    The thread of that name; a new one where there is none.

    `store` is an address (`sqlite:///sash.db`, `postgresql://...`, `memory:`) or a store that is
    open already; without one it is the user's own database. What is given beside it is stored with the
    thread; what is left out is as it was stored. `wire` says how system prompt and tools
    are written, and what messages are taken for where nothing else is said. A `summarizer` (a provider, or
    its name and model as in `anthropic:MODEL`) writes summaries of what leaves, in a thread of its own.
    """
    change = change_of(wire, model=model, policy=policy, system=system, tools=tools, sources=sources)
    place = open_store(store) if isinstance(store, str) else store
    try:
        row = place.find(tenant, name) or _created(place, tenant, name, change)
        thread = thread_of(place, row, wire=wire, owned=isinstance(store, str))
        thread.apply_change(change)
        if summarizer is not None:
            thread.worker = _worker(thread, summarizer)
    except BaseException:
        if isinstance(store, str):
            place.close()
        raise
    return thread


def _worker(thread: Thread, summarizer: Summarizer | Provider | str) -> Summaries:
    from sash.summarize import summarizer_of
    from sash.thread.worker import Terms, Worker

    terms = Terms(turns=thread.setup.policy.summary_min_turns + 1)
    worker = Worker(thread.store, summarizer_of(summarizer), tenant=thread.tenant, terms=terms)
    worker.start()
    return worker


def thread_of(store: Store, row: ThreadRow, *, wire: str = "openai-chat", owned: bool = False) -> Thread:
    """A handle on a stored thread."""
    return handle_on(store, row, wire=wire, owned=owned)


def _created(store: Store, tenant: str, name: str, change: Change) -> ThreadRow:
    setup = change.of(Setup())
    # Counting for a model that is not known, or by a counter that is not there, fails here and not at the first append.
    setup.choice()
    try:
        return store.create(tenant, name, msgspec.json.encode(Origin.of(setup)))
    except ThreadExists:
        row = store.find(tenant, name)
        assert row is not None
        return row
