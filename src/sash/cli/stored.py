"""A stored thread as a subject, and the ways to open one: to look at, or to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from shlex import quote

import click
import msgspec

from sash.cli.characters import clean
from sash.cli.folded import Telling
from sash.cli.offered import is_session
from sash.cli.written import heading_for
from sash.core.explanation import Explanation
from sash.core.message import Message
from sash.core.request import assemble
from sash.core.tokens import Counter
from sash.errors import NotFound
from sash.settings import Settings
from sash.store import Store, ThreadRow, open_store
from sash.store.url import file_of
from sash.thread import Thread, thread_of
from sash.thread.edits import edits_of
from sash.thread.log import message_of
from sash.transcripts import Damage, Entry, Heading, Usage
from sash.window import Context, Prepared, Setup, Window

LEAST_PREFIX = 4
"""Characters of a name that may stand for all of it, where no other thread's begins so."""
PAGE = 500


class Stored:
    """A stored thread, looked at."""

    kind = "thread"
    damage: Sequence[Damage] = ()
    damaged = 0
    compactions = 0
    reported: Usage | None = None
    asked: Mapping[str, bytes] = {}

    def __init__(self, thread: Thread) -> None:
        self.thread = thread

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self.thread.name

    @property
    def title(self) -> str:
        """What it is called, where somebody gave it a title."""
        return self.thread.store.thread(self.thread.tenant, self.thread.id).title

    @property
    def model(self) -> str:
        """The model it is counted for."""
        return self.thread.setup.model

    @property
    def counter(self) -> Counter:
        """What counts."""
        return self.thread.window.counter

    @cached_property
    def _when(self) -> list[tuple[int, int, float]]:
        """Position and turn of each message, with when it was said."""
        return [
            (event.seq - 1, event.turn, event.at)
            for event in self.thread.events()
            if event.kind == "message" and event.at is not None
        ]

    @property
    def moments(self) -> Mapping[int, float]:
        """When each message was said, by its position."""
        return {position: at for position, _, at in self._when}

    @property
    def times(self) -> Mapping[int, float]:
        """When each turn was started."""
        return {turn: at for _, turn, at in reversed(self._when)}

    @property
    def setup(self) -> Setup:
        """The model, the policy and what stands beside the conversation."""
        return self.thread.setup

    def heading(self) -> Heading:
        """What a session file made of it says about itself."""
        return heading_for(self.name, self.setup, None)

    @property
    def messages(self) -> int:
        """All that was said and still stands."""
        return sum(turn.messages for turn in self.thread.turns() if turn.state != "rewound")

    @property
    def parts(self) -> tuple[()]:
        """A thread is one conversation."""
        return ()

    def context(self) -> Context:
        """Where the tokens of the next request go."""
        return self.thread.context()

    def explain(self) -> Explanation:
        """Why everything is where it is."""
        return self.thread.explain()

    @property
    def wire(self) -> str:
        """Whose JSON its messages are."""
        newest = next((event for event in reversed(self.thread.events()) if event.kind == "message"), None)
        return newest.wire if newest is not None else self.thread.wire

    def prepared(self, wire: str) -> Prepared:
        """The request that it would make now."""
        return self.thread.prepared(wire=wire)

    def upcoming(self) -> Prepared | None:
        """The request that `context` tells of; None where nothing can be sent yet."""
        return self.thread.window.upcoming()

    def in_window(self) -> Iterator[tuple[int, Message]]:
        """All that the model sees."""
        assembled = assemble(self.thread.window.fold)
        yield from zip(assembled.origins, assembled.messages, strict=True)

    def said(self, turn: int) -> Iterator[tuple[int, Message]]:
        """The messages of a turn."""
        for event in self.thread.said(turn):
            yield event.seq - 1, message_of(event)


@contextmanager
def store_of(settings: Settings, *, create: bool = False) -> Iterator[Store]:
    """The store, open; one that is not there yet is made only where something is to be written."""
    address = settings.store()
    if not create and (file := _missing(address)) is not None:
        raise NotFound("store", str(file), "`sash import` makes it, with a session as its first thread")
    store = open_store(address, to_write=create)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def stored_thread(name: str, settings: Settings) -> Iterator[Thread]:
    """The thread of that name; `NotFound` where there is none."""
    if not is_stored(settings) and _is_session(name):
        raise _no_thread(name)
    with store_of(settings) as store:
        row = _row(store, name, settings)
        if row.name != name:
            click.echo(f"{clean(name)} is the thread {clean(row.name)}", err=True)
        yield thread_of(store, row)


def _row(store: Store, name: str, settings: Settings) -> ThreadRow:
    """The thread of that name, or the one whose name begins so."""
    tenant = settings.text("tenant")
    row = store.find(tenant, name)
    if row is not None:
        return row
    begin = _beginning(store, tenant, name)
    if not begin:
        raise _no_thread(name)
    if len(begin) > 1:
        named = ", ".join(clean(one.name) for one in begin[:3]) + (", ..." if len(begin) > 3 else "")
        raise NotFound("thread", name, f"several begin so: {named}; write more of the name")
    return begin[0]


def _no_thread(name: str) -> NotFound:
    """What is a session, and no thread yet, can become one."""
    remedy = f"it is a session: `sash import {quote(name)}` makes a thread of it"
    return NotFound("thread", name, remedy if _is_session(name) else "`sash threads` lists those there are")


def _is_session(name: str) -> bool:
    return is_session(name) or Path(name).expanduser().is_file()


def _beginning(store: Store, tenant: str, name: str) -> list[ThreadRow]:
    """The threads whose names begin so, where enough of it was written."""
    found: list[ThreadRow] = []
    before: int | None = None
    while len(name) >= LEAST_PREFIX:
        rows = store.threads(tenant, before=before, limit=PAGE)
        found += [row for row in rows if row.name.startswith(name)]
        if len(rows) < PAGE:
            break
        before = rows[-1].id
    return found


def _missing(address: str) -> Path | None:
    """The file of a database that is not there."""
    file = file_of(address)
    return None if file is None or file.exists() else file


def is_stored(settings: Settings) -> bool:
    """Whether the store is there; a file that was never written is not."""
    return _missing(settings.store()) is None


def has_thread(name: str, settings: Settings) -> bool:
    """Whether a thread of that name is stored."""
    if not is_stored(settings):
        return False
    with store_of(settings) as store:
        tenant = settings.text("tenant")
        return store.find(tenant, name) is not None or bool(_beginning(store, tenant, name))


def tell_thread(thread: Thread, settings: Settings) -> Telling:
    """What was said in a thread, to be gone through under the policy that flags make of its own."""
    setup = thread.setup
    model = settings.text("model") if settings.where("model").startswith("--") else setup.model
    changed = msgspec.structs.replace(setup, model=model, policy=settings.asked_of(setup.policy))
    return Telling(name=thread.name, setup=changed, entries=entries_in(thread))


def told_apart(thread: Thread, window: Window) -> None:
    """What a thread knows beside what was said in it: what it was told to remember, and what its provider reported."""
    for fact in thread.facts():
        if fact.origin != "found":
            window.fold.remember(fact)
    known = thread.window.fold
    window.fold.factor, window.fold.beyond = known.factor, known.beyond


def entries_in(thread: Thread) -> Iterator[Entry]:
    """All that was said in a thread and still stands, with when; not what was rewound."""
    events = thread.events()
    edits = edits_of(events)
    for event in events:
        if event.kind == "message" and edits.stands(event):
            yield Entry(message=message_of(event), at=event.at)
