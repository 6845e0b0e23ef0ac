"""`sash import`: a session file becomes a stored thread; what is there already is not added again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.damage import print_damage
from sash.cli.folded import Telling, tell_file
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.progress import Progress
from sash.cli.screen import screen
from sash.cli.stored import store_of
from sash.cli.subject import located, reading_options, subject_argument, take_reading
from sash.core.policy import Policy
from sash.core.tokens import TokenCount
from sash.errors import NotFound
from sash.settings import Settings
from sash.store import Store
from sash.thread import Spoken, Thread, first_words, open_thread, thread_of
from sash.transcripts import Damage
from sash.wire import wire_named


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash import --json` prints."""

    thread: str
    added: int
    """Messages that were added."""
    known: int
    """Messages that were there already."""
    turns: int
    boundary: int
    tokens: TokenCount
    """What the next request takes."""
    damage: tuple[Damage, ...]
    damaged: int


@click.command("import")
@subject_argument()
@click.option("--thread", "name", help="The thread's name; left out, the session's id, or the file's name.")
@reading_options
@from_settings(*WINDOW, *STORED)
@reports(Imported)
def import_session(subject: str, name: str | None, as_json: bool, **given: Any) -> None:
    """
    Store SUBJECT, a session file or claude:latest, as a thread.

    Done again after the session has grown, it adds what is new and nothing twice.
    """
    reading = take_reading(given)
    settings = settings_of(given, *WINDOW, *STORED)
    place = located(subject, settings)
    if place is None:
        raise NotFound("session file", subject)
    telling = tell_file(place.name, place.given(), settings, place.reading(reading))
    transcript = telling.transcript
    assert transcript is not None
    with store_of(settings, create=True) as store:
        name = name or transcript.id or (place.path.stem if place.path is not None else "imported")
        thread = _thread(store, name, telling, settings)
        taken = thread.take(_told(telling))
        if not taken.known and (title := transcript.title or first_words(thread)):
            store.put_title(thread.tenant, thread.id, title)
        context = thread.context()
        turns = thread.window.fold.placing.turn or 0
    told = Imported(
        thread=name,
        added=taken.added,
        known=taken.known,
        turns=turns,
        boundary=context.boundary,
        tokens=context.used,
        damage=tuple(transcript.damage),
        damaged=transcript.damaged,
    )
    if as_json:
        answer(told)
        return
    out = screen()
    there = f", {taken.known:,} were there already" if taken.known else ""
    count = f"{amount(taken.added, 'message')} added to the thread {clean(name)!r}{there}"
    out.paragraph(f"{count}; {amount(told.turns, 'turn')} in all.")
    out.paragraph(f"Look at it: sash show {clean(name)}")
    print_damage(out, told.damage, told.damaged)


def _thread(store: Store, name: str, telling: Telling, settings: Settings) -> Thread:
    setup, transcript = telling.setup, telling.transcript
    assert transcript is not None
    wire = wire_named(transcript.wire)
    system = [msgspec.json.decode(wire.write_system(message)) for message in setup.system] if wire.SYSTEM else []
    known = store.find(settings.text("tenant"), name)
    policy: Policy | None = setup.policy
    if known is not None:
        # A thread keeps its own policy, but for what flags say.
        policy = settings.asked_of(thread_of(store, known).setup.policy) if settings.asked() else None
    return open_thread(
        name,
        store=store,
        model=setup.model or None,
        policy=policy,
        system=system[0] if system else None,
        tools=[msgspec.json.decode(wire_named(tool.wire).write_tool(tool)) for tool in setup.tools] or None,
        wire=transcript.wire,
        tenant=settings.text("tenant"),
    )


def _told(telling: Telling) -> Iterator[Spoken]:
    with Progress(f"reading {telling.name}") as progress:
        for number, entry in enumerate(telling.entries, 1):
            progress.at(number)
            if entry.message.role != "meta":
                yield Spoken(entry.message, entry.at)
