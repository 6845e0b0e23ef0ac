"""`sash expand`: the whole of what the model sees only in part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from sash.cli.characters import clean_lines
from sash.cli.options import STORED, from_settings, settings_of
from sash.cli.screen import screen
from sash.cli.stored import stored_thread
from sash.cli.subject import THREAD, located, reading_options, subject_argument, take_reading
from sash.core.frame import place_of
from sash.errors import UnknownHandle
from sash.transcripts import Entry, open_transcript
from sash.window import excerpt, text_of


@click.command()
@subject_argument()
@click.argument("handle")
@click.option("--lines", metavar="FIRST-LAST", help="Only these lines, counted from 1.")
@click.option("--grep", metavar="PATTERN", help="Only lines that a regular expression finds.")
@click.option("--raw", is_flag=True, help="Exactly as it is, also what a terminal would obey.")
@reading_options
@from_settings(*STORED)
def expand(subject: str, handle: str, lines: str | None, grep: str | None, raw: bool, **given: Any) -> None:
    """
    Print the whole of what HANDLE names in SUBJECT.

    Handles stand in shortened results, and in what `sash explain --results` and `sash show --turn` print.
    The exit code is 1 where --grep finds nothing.
    """
    reading = take_reading(given)
    settings = settings_of(given, *STORED)
    wanted, pattern = _lines(lines), _pattern(grep)
    place = located(subject, settings)
    if place is None:
        with stored_thread(subject.removeprefix(THREAD), settings) as thread:
            text = thread.expand(handle, lines=wanted)
    else:
        asked = place.reading(reading)
        transcript = open_transcript(place.given(), format=asked.format, part=asked.part)
        text = excerpt(_whole(handle, transcript.messages(as_sent=asked.as_sent)), lines=wanted)
    if pattern is not None:
        found = [line for line in text.split("\n") if pattern.search(line)]
        if not found:
            click.echo("nothing was found", err=True)
            click.get_current_context().exit(1)
        text = "\n".join(found)
    if raw or not screen().terminal:
        click.echo(text.encode("utf-8", "surrogatepass"), nl=not text.endswith("\n"))
        return
    out = screen()
    for line in clean_lines(text.removesuffix("\n")):
        out.say(line)


def _whole(handle: str, entries: Iterator[Entry]) -> str:
    position, place = place_of(handle)
    try:
        entry = next(islice(entries, position, None))
        return text_of(entry.message.blocks[place])
    except (IndexError, StopIteration):
        raise UnknownHandle(handle) from None


def _lines(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, sign, last = text.partition("-")
    if not first.isdecimal() or not (last.isdecimal() if sign else True):
        raise click.BadParameter(f"{text!r} is not FIRST-LAST, as in 1-80", param_hint="'--lines'")
    numbers = int(first), int(last) if sign else int(first)
    if not 1 <= numbers[0] <= numbers[1]:
        raise click.BadParameter(f"{text} takes no line; it takes FIRST-LAST, counted from 1", param_hint="'--lines'")
    return numbers


def _pattern(text: str | None) -> re.Pattern[str] | None:
    """What to look for. Nothing of it is quoted as Python would: what is to be typed is shown as it is typed."""
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        plain = f"it takes a regular expression; for the text itself write: {re.escape(text)}"
        raise click.BadParameter(f"{text} has {error}; {plain}", param_hint="'--grep'") from None
