"""`sash convert` and `sash export`: a session or a thread as a file of another tool, or as a provider's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click
import msgspec

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.damage import tell_damage
from sash.cli.folded import Telling
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.output import output_option, written_to
from sash.cli.progress import Progress
from sash.cli.stored import stored_thread, tell_thread
from sash.cli.subject import THREAD, reading_options, subject_argument, take_reading, telling_of
from sash.cli.written import heading_for
from sash.transcripts import WRITERS, Damage, Entry, write_transcript
from sash.transcripts.body_writer import USAGE
from sash.transcripts.carrying import MERGED
from sash.wire import WIRES, Repair


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """What was written."""

    name: str
    format: str
    bytes: int
    lost: tuple[Repair, ...]
    """What the format has no place for: what, of which message, why. Of `merged` messages that is only their end."""
    damage: tuple[Damage, ...]
    """Places that could not be read, and are not in it."""
    damaged: int
    """How many there are: only the first ones are listed."""
    output: str | None


as_option = click.option(
    "--as", "format_as", type=click.Choice(sorted(WRITERS)), required=True, help="The format to write."
)


@click.command()
@subject_argument()
@as_option
@output_option
@reading_options
@from_settings(*STORED)
@reports(Converted)
def convert(subject: str, format_as: str, output: Path | None, as_json: bool, **given: Any) -> None:
    """
    Write all that was said in SUBJECT in another format.

    What the format has no place for is named on stderr. `sash fit --as` writes what fits a window.
    """
    reading = take_reading(given)
    settings = settings_of(given, *STORED)
    with telling_of(subject, settings, reading) as telling:
        _write(telling, format_as, output, as_json=as_json)


@click.command()
@click.argument("thread")
@as_option
@output_option
@from_settings(*STORED)
@reports(Converted)
def export(thread: str, format_as: str, output: Path | None, as_json: bool, **given: Any) -> None:
    """
    Write a stored THREAD as a session file or a provider's JSON.

    All that was said in it; `sash import` reads it back.
    """
    settings = settings_of(given, *STORED)
    with stored_thread(thread.removeprefix(THREAD), settings) as it:
        _write(tell_thread(it, settings), format_as, output, as_json=as_json)


def _write(telling: Telling, format_as: str, output: Path | None, *, as_json: bool) -> None:
    if as_json and output is None:
        raise click.UsageError("--json prints what was done, so the session itself needs a file: -o FILE")
    heading = heading_for(telling.name, telling.setup, telling.transcript)
    entries = _said(telling)
    with written_to(output) as into, Progress(f"writing {telling.name}") as progress:
        wrote = write_transcript(progress.over(entries), format_as, into, heading=heading)
    read = telling.transcript
    lost = wrote.lost
    if read is None and format_as not in WIRES:
        why = f"a thread keeps no usage of single answers, so {format_as} is told that each took 0 tokens"
        lost = (*lost, Repair(what=USAGE, message=-1, why=why))
    told = Converted(
        name=telling.name,
        format=format_as,
        bytes=wrote.bytes,
        lost=lost,
        damage=tuple(read.damage) if read is not None else (),
        damaged=read.damaged if read is not None else 0,
        output=None if output is None else str(output),
    )
    if as_json:
        answer(told)
        return
    tell_damage(told.damage, told.damaged)
    missing = [each for each in lost if each.what != MERGED]
    for each in missing[:LISTED]:
        where = f"message {each.message}: " if each.message >= 0 else ""
        click.echo(f"{where}{each.why}", err=True)
    if len(missing) > LISTED:
        click.echo(f"and {len(missing) - LISTED:,} more that {format_as} has no place for", err=True)
    if merged := len(lost) - len(missing):
        are = "is" if merged == 1 else "are"
        click.echo(
            f"{amount(merged, 'message')} {are} written as part of the one before, as {format_as} has it", err=True
        )


def _said(telling: Telling) -> Iterator[Entry]:
    """The entries of a session in which something was said: of another, no file that could be read would be made."""
    ahead: list[Entry] = []
    for entry in telling.entries:
        ahead.append(entry)
        if entry.message.role != "meta":
            return chain(ahead, telling.entries)
    raise click.ClickException(f"nothing was said in {telling.name!r}: there is nothing to write")


LISTED = 5
"""So much of what is lost is named."""
