"""`sash threads`: the threads of a store."""

from __future__ import annotations

import time
from typing import Any

import click
import msgspec

from sash.cli.age import age, moment
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.number import Number
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.screen import screen
from sash.cli.stored import is_stored, store_of
from sash.cli.table import Cell, Column, print_table
from sash.core.tokens import TokenCount
from sash.store import Store, ThreadRow
from sash.thread import first_words, thread_of

LISTED = 50
"""Threads that are listed when nobody says how many."""
ROOMY = 64
"""Columns from which a thread's name is shown whole: it may be a session's id, and is typed."""


class ShownThread(msgspec.Struct, frozen=True, kw_only=True):
    """A thread, as a list of them tells it."""

    name: str
    title: str
    model: str
    created: str | None
    """When it was made here: its age, by which threads are listed."""
    updated: str | None
    """When its newest message was said."""
    events: int
    turns: int
    boundary: int
    """Number of the first live turn."""
    tokens: TokenCount
    """What the next request takes."""
    percent: int
    """Of its window."""


class ShownThreads(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash threads --json` prints."""

    threads: tuple[ShownThread, ...]
    more: bool
    """There are others, which are older."""


@click.command()
@click.option("-n", "--last", type=Number(1), default=LISTED, show_default=True, help="The newest N threads.")
@from_settings(*STORED)
@reports(ShownThreads)
def threads(last: int, as_json: bool, **given: Any) -> None:
    """
    List the stored threads, newest first.

    A thread's age is since it was made here, however old the session is that it was imported from.
    """
    settings = settings_of(given, *STORED)
    now = time.time()
    found: list[tuple[ShownThread, float]] = []
    more = False
    if is_stored(settings):
        with store_of(settings) as store:
            # One more than is shown tells whether there are more.
            rows = store.threads(settings.text("tenant"), limit=last + 1)
            found, more = [_shown(store, row) for row in rows[:last]], len(rows) > last
    if as_json:
        answer(ShownThreads(threads=tuple(shown for shown, _ in found), more=more))
        return
    out = screen()
    if not found:
        out.paragraph("There are no threads yet; `sash import FILE` makes one of a session.")
        return
    columns = (
        Column(title="thread", gives_way=out.width < ROOMY, least=12),
        Column(title="title", gives_way=True, least=16, rank=3),
        Column(title="model", rank=5),
        Column(title="turns", right=True, rank=1),
        Column(title="tokens", right=True),
        Column(title="full", right=True, rank=2),
        Column(title="age", right=True, rank=4),
    )
    print_table(
        out,
        columns,
        [
            [
                Cell(clean(shown.name), "bold"),
                Cell(clean(shown.title)),
                Cell(out.cut(clean(shown.model), 24), "dim"),
                str(shown.turns),
                str(shown.tokens),
                f"{shown.percent} %",
                Cell(age(made, now), "dim"),
            ]
            for shown, made in found
        ],
    )
    if more:
        out.paragraph(f"These are the newest {last:,}; -n lists more of them.", "dim")


def _shown(store: Store, row: ThreadRow) -> tuple[ShownThread, float]:
    thread = thread_of(store, row)
    context = thread.context()
    newest = next((event for event in reversed(thread.events(since=max(0, thread.seq - 20))) if event.at), None)
    at = newest.at if newest is not None else row.at
    shown = ShownThread(
        name=row.name,
        title=row.title or first_words(thread),
        model=context.model,
        created=moment(row.created),
        updated=moment(at),
        events=thread.seq,
        turns=max(0, thread.window.fold.placing.turn or 0),
        boundary=context.boundary,
        tokens=context.used,
        percent=context.pressure.percent,
    )
    return shown, row.created
