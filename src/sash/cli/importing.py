"""`sash import`: a session file becomes a stored thread; what is there already is not added again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import click
import msgspec

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.damage import print_damage
from sash.cli.folded import Reading, Telling, Told, placed, tell_file
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.parts import others_of, which_of
from sash.cli.progress import Progress
from sash.cli.screen import Screen, screen
from sash.cli.stored import store_of
from sash.cli.subject import Located, located, reading_options, subject_argument, take_reading
from sash.cli.threads import LISTED
from sash.core.policy import Policy
from sash.core.tokens import TokenCount
from sash.errors import NotFound, ThreadExists
from sash.settings import Settings
from sash.store import Store
from sash.thread import Spoken, Thread, first_words, open_thread, thread_of
from sash.transcripts import Damage, Part, Transcript
from sash.transcripts.source import Source
from sash.wire import wire_named

OTHER_NAME = "--thread gives this one another name"


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash import --json` prints; with `--all` an object that lists one for each conversation: `imported`."""

    thread: str
    added: int
    """Messages that were added; a system prompt is none."""
    known: int
    """Messages that were there already."""
    turns: int
    boundary: int
    tokens: TokenCount
    """What the next request takes."""
    part: str
    """The conversation of the file that was taken; empty where it holds only one."""
    parts: int
    """Conversations in the file."""
    damage: tuple[Damage, ...]
    damaged: int


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that was not taken, since its thread's name is that of another."""

    thread: str
    part: str
    why: str


class ImportedAll(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash import --all --json` prints."""

    imported: tuple[Imported, ...]
    refused: tuple[Refused, ...]


@click.command("import")
@subject_argument()
@click.option("--thread", "name", help="The thread's name; left out, the session's id, or the file's name.")
@click.option("--all", "every", is_flag=True, help="Each conversation in the file, as a thread of its own.")
@reading_options
@from_settings(*WINDOW, *STORED)
@reports(Imported)
def import_session(subject: str, name: str | None, every: bool, as_json: bool, **given: Any) -> None:
    """
    Store SUBJECT, a session file or claude:latest, as a thread.

    Done again after the session has grown, it adds what is new and nothing twice. Of a file with
    several conversations it takes the one that is read unasked, or that of --part, or each with
    --all; the name of a thread that is not the one read unasked ends with that of its part.
    """
    reading = take_reading(given)
    if every and reading.part:
        raise click.UsageError("--all takes each conversation in the file, --part one of them: give one of the two.")
    settings = settings_of(given, *WINDOW, *STORED)
    place = located(subject, settings)
    if place is None:
        raise NotFound("session file", subject)
    # Of a session that is named among others all are meant: the one that is read first is the usual one.
    taking = _Taking(settings, place, reading if every else place.reading(reading), name)
    # Before there is a store: a file that cannot be read makes none.
    first = taking.read()
    with store_of(settings, create=True) as store:
        if every:
            _take_all(taking, store, first, as_json=as_json)
            return
        told = taking.take(store, first, name or taking.name_for(first.transcript))
    if as_json:
        answer(told)
        return
    out = screen()
    _print(out, told)
    out.paragraph(f"Look at it: sash show {clean(told.thread)}")
    if which := which_of(taking.parts):
        others = others_of(taking.parts)
        out.paragraph(f"This is {which}; --part takes another ({others}), --all each as a thread of its own.")
    print_damage(out, told.damage, told.damaged)


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation of a file, read to its end."""

    telling: Telling
    transcript: Transcript
    said: list[Told]
    part: str
    """As it was asked for."""


class _Taking:
    """A file whose conversations become threads."""

    def __init__(self, settings: Settings, place: Located, reading: Reading, name: str | None) -> None:
        self.settings, self.place, self.reading, self.name = settings, place, reading, name
        self.parts: tuple[Part, ...] = ()
        """The conversations in the file, where there are several, once one was read."""
        self._source = Source(place.given())
        self._taken: set[str] = set()
        """Threads that a conversation of the file is in by now."""

    def read(self, part: str = "") -> _Read:
        """The conversation of that name, or the one that was asked for."""
        reading = msgspec.structs.replace(self.reading, part=part) if part else self.reading
        telling = tell_file(self.place.name, self._source, self.settings, reading)
        transcript = telling.transcript
        assert transcript is not None
        said = list(_told(telling))
        self.parts = transcript.parts if len(transcript.parts) > 1 else ()
        # Told by the content once: to find it out takes as long as to read the file.
        self.reading = msgspec.structs.replace(self.reading, format=transcript.format)
        return _Read(telling=telling, transcript=transcript, said=said, part=reading.part)

    def take(self, store: Store, read: _Read, name: str) -> Imported:
        """What was read, in the thread of that name."""
        transcript = read.transcript
        if name in self._taken:
            # Were it to begin like the other, it would pass for that one, grown.
            raise ThreadExists(name, remedy=f"--part {read.part!r} with --thread gives this one another name")
        thread = _thread(store, name, read.telling, self.settings)
        try:
            taken = thread.take(Spoken(told.message, told.entry.at) for told in read.said)
        except ThreadExists as error:
            raise ThreadExists(error.name, error.differs, OTHER_NAME) from None
        self._taken.add(name)
        if not taken.known and (title := transcript.title or first_words(thread)):
            store.put_title(thread.tenant, thread.id, title)
        context = thread.context()
        return Imported(
            thread=name,
            added=sum(told.was_said for told in read.said[taken.known :]),
            known=sum(told.was_said for told in read.said[: taken.known]),
            turns=thread.window.fold.placing.turn or 0,
            boundary=context.boundary,
            tokens=context.used,
            part=next((each.name for each in self.parts if each.current), read.part),
            parts=len(self.parts) or 1,
            damage=tuple(transcript.damage),
            damaged=transcript.damaged,
        )

    def name_for(self, transcript: Transcript) -> str:
        """
        What its thread is called when nobody says.

        What is read unasked has the session's name; a part has its own behind that, or it would be taken
        for the same conversation, grown in another way. A session of a database is called by its id alone.
        """
        path, part = self.place.path, transcript.aside
        if not self.name and part == transcript.id:
            part = ""
        named = self.name or transcript.id or (path.stem if path is not None else "imported")
        return f"{named}-{part}" if part else named


def _take_all(taking: _Taking, store: Store, first: _Read, *, as_json: bool) -> None:
    """Each conversation; one that is refused keeps none of the others out."""
    out = screen()
    imported: list[Imported] = []
    refused: list[Refused] = []

    rest = (taking.read(part.name) for part in taking.parts if not part.current)
    for read in chain((first,), rest):
        try:
            imported.append(taking.take(store, read, taking.name_for(read.transcript)))
        except ThreadExists as error:
            refused.append(Refused(thread=error.name, part=read.part, why=str(error)))
        else:
            if not as_json:
                _print(out, imported[-1])
    if as_json:
        answer(ImportedAll(imported=tuple(imported), refused=tuple(refused)))
    else:
        lists = "sash threads" if len(imported) <= LISTED else f"sash threads -n {len(imported)}"
        them = "it" if len(imported) == 1 else "them"
        out.paragraph(f"{amount(len(imported), 'thread')} in all; {lists} lists {them}.")
        # What is wrong with the file itself is met with each of its conversations.
        damage = tuple(dict.fromkeys(hurt for told in imported for hurt in told.damage))
        print_damage(out, damage, max(len(damage), *(told.damaged for told in imported), 0))
        for each in refused:
            out.paragraph(f"not taken: {each.why}", "yellow")
    if refused:
        raise click.exceptions.Exit(1)


def _print(out: Screen, told: Imported) -> None:
    there = f", {told.known:,} were there already" if told.known else ""
    count = f"{amount(told.added, 'message')} added to the thread {clean(told.thread)!r}{there}"
    out.paragraph(f"{count}; {amount(told.turns, 'turn')} in all.")


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


def _told(telling: Telling) -> Iterator[Told]:
    with Progress(f"reading {telling.name}") as progress:
        for told in placed(telling.entries):
            progress.at(told.position + 1)
            if told.message.role != "meta":
                yield told
