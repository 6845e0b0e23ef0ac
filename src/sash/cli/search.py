"""`sash search`: find messages in stored threads, or in a session file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.folded import Reading, placed
from sash.cli.number import Number
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.places import near
from sash.cli.screen import Screen, screen
from sash.cli.spoken import said_in
from sash.cli.stored import store_of, stored_thread
from sash.cli.subject import THREAD, located, reading_options, take_reading
from sash.core.message import Message
from sash.core.turn import wrote
from sash.settings import Settings
from sash.store.words import holds, passage, phrases
from sash.thread import thread_of
from sash.thread.edits import Edits
from sash.thread.log import message_of
from sash.thread.past import edits_in
from sash.transcripts import open_transcript

AROUND = 60
"""Characters that are shown before and after what was found."""


class FoundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that holds the text."""

    name: str
    """The thread's, or the file's."""
    turn: int
    position: int
    """Of the message in the log, from 0."""
    role: str
    text: str
    """What stands around it."""
    rewound: bool = False
    """A rewind has taken it out of its thread."""


class FoundMessages(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash search --json` prints."""

    found: tuple[FoundMessage, ...]


@click.command()
@click.argument("text")
@click.argument("subject", required=False)
@click.option("-n", "--limit", type=Number(1), default=20, show_default=True, help="At most so many messages.")
@reading_options
@from_settings(*STORED)
@reports(FoundMessages)
def search(text: str, subject: str | None, limit: int, as_json: bool, **given: Any) -> None:
    """
    Find messages in the stored threads, or in SUBJECT alone.

    SUBJECT is a thread, a session file, or claude:latest. A message is found when all words of
    TEXT stand in it; nothing in TEXT has a special meaning, and case does not matter. The
    newest come first; the number in brackets is the message's place in the log, as in
    `sash expand` and in handles. The exit code is 1 where nothing was found.
    """
    reading = take_reading(given)
    settings = settings_of(given, *STORED)
    if not phrases(text, "all"):
        raise click.BadParameter(f"{text!r} has no word to look for", param_hint="TEXT")
    found = tuple(_found(text, subject, settings, reading, limit))
    if as_json:
        answer(FoundMessages(found=found))
    else:
        out = screen()
        for message in found:
            _print(out, message)
        if not found:
            click.echo("nothing was found", err=True)
    if not found:
        click.get_current_context().exit(1)


def _found(text: str, subject: str | None, settings: Settings, reading: Reading, limit: int) -> Iterator[FoundMessage]:
    place = located(subject, settings) if subject is not None else None
    if place is None:
        yield from _stored(text, subject, settings, limit)
        return
    asked = place.reading(reading)
    entries = open_transcript(place.given(), format=asked.format, part=asked.part).messages(as_sent=asked.as_sent)
    # The same words as in a store, so that the same is found.
    wanted = phrases(text, "all")
    newest: list[FoundMessage] = []
    tools: dict[str, str] = {}
    for told in placed(entries):
        words = "\n".join(
            f"{said.tool} {said.text}" if said.kind == "call" else said.text
            for said in said_in(told.position, told.message, tools)
        )
        if holds(words, wanted, "all"):
            role = speaker(told.message)
            newest.append(
                FoundMessage(
                    name=place.name, turn=told.turn, position=told.position, role=role, text=_passage(words, text)
                )
            )
    yield from reversed(newest[-limit:])


def _stored(text: str, subject: str | None, settings: Settings, limit: int) -> Iterator[FoundMessage]:
    tenant = settings.text("tenant")
    edits: dict[int, Edits] = {}
    if subject is None:
        with store_of(settings) as store:
            found = tuple(store.search(tenant, text, limit=limit))
            for number in {one.thread for one in found}:
                edits[number] = edits_in(thread_of(store, store.thread(tenant, number)).tail.log)
    else:
        # A fork holds what its parent said before it; what is rewound in the one need not be in the other.
        with stored_thread(subject.removeprefix(THREAD), settings) as thread:
            found = thread.search(text, limit=limit)
            edits = dict.fromkeys((one.thread for one in found), edits_in(thread.tail.log))
    with store_of(settings) as store:
        for one in found:
            [event] = store.events(tenant, one.thread, since=one.seq - 1, until=one.seq)
            yield FoundMessage(
                name=one.name,
                turn=one.turn,
                position=one.seq - 1,
                role=speaker(message_of(event)),
                text=_passage(one.text, text),
                rewound=edits[one.thread].out(one.seq),
            )


def speaker(message: Message) -> str:
    """Who says it: a tool's result is a tool's, also where its provider sends it as the user's."""
    return "tool" if message.role == "user" and message.closed() and not wrote(message) else message.role


def _passage(words: str, text: str) -> str:
    return passage(words, text, before=AROUND, most=2 * AROUND + max(len(text), AROUND))


def _print(out: Screen, message: FoundMessage) -> None:
    rewound = "  rewound" if message.rewound else ""
    heading = f"{clean(near(message.name))}  turn {message.turn}{rewound}  {message.role}  [{message.position}]"
    out.say(out.cut(heading, out.width), "bold")
    out.paragraph(clean(message.text), indent="  ")
