"""`sash fit`: the request that a session would make now, or a session file that its tool can go on from."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import click
import msgspec

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.damage import tell_damage
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.output import output_option, written_to
from sash.cli.parts import which_was_read
from sash.cli.subject import Subject, opened, reading_options, subject_argument, take_reading
from sash.core.tokens import TokenCount, total
from sash.transcripts import FORMATS, WRITERS, Damage, Entry, write_transcript
from sash.transcripts.request_body import with_asked
from sash.window import Prepared
from sash.wire import WIRES, Repair, json_text

WORDLESS = (
    "a flat prompt holds what the user and the assistant wrote: tools' calls and results, thinking and pictures "
    "have no place in it"
)


class FittedSession(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash fit --json` prints."""

    name: str
    tokens: TokenCount
    """The request as a whole, with system prompt, tools and digest."""
    before: TokenCount
    """What the history takes whole."""
    after: TokenCount
    """What is sent of it."""
    ratio: float
    """How much of it was left out, 0 to 1."""
    turns_in: tuple[int, ...]
    turns_out: tuple[int, ...]
    shortened: tuple[str, ...]
    """Handles of what the model sees only in part."""
    repairs: tuple[Repair, ...]
    """What had to be changed before the provider would take it, or the format could hold it."""
    fits: bool
    """False when history stands above its high mark: what may not leave is larger, or may not leave yet."""
    damage: tuple[Damage, ...]
    """Places of a session file that could not be read, and were not said."""
    damaged: int
    """How many there are: only the first ones are listed."""
    output: str | None
    """The file that was written."""


@click.command()
@subject_argument()
@click.option(
    "--wire", type=click.Choice(sorted(WIRES)), help="Whose JSON the request is; else the policy's or session's own."
)
@click.option("--as", "format_as", type=click.Choice(sorted(WRITERS)), help="Write a session file of this format.")
@output_option
@reading_options
@from_settings(*WINDOW, *STORED)
@reports(FittedSession)
def fit(subject: str, wire: str | None, format_as: str | None, output: Path | None, **given: Any) -> None:
    """
    Print the request that SUBJECT would make now.

    It is within its budget, and its provider takes it: messages, system prompt and tools. Of a
    file that is a request's body its other fields stay as they came; to the request of a session
    or thread the caller adds the model and max_tokens. With --as it is a session file that the
    tool itself can go on from. What was done is said on stderr; with --json it is printed
    instead of the request. Nothing is written when what may not be left out is already larger
    than the window.
    """
    if wire is not None and format_as is not None:
        raise click.UsageError("give --wire or --as, not both: a format has its own wire")
    as_json = given.pop("as_json")
    reading = take_reading(given)
    settings = settings_of(given, *WINDOW, *STORED)
    with opened(subject, settings, reading) as it:
        if all(message.role == "system" for _, message in it.in_window()):
            raise click.ClickException(f"nothing was said in {it.name!r}: there is no request to make")
        usual = "flat" if it.setup.policy.flat else it.wire
        prepared = it.prepared(FORMATS[format_as].wire if format_as else wire or usual)
        lost: tuple[Repair, ...] = ()
        if output is not None or not as_json:
            with written_to(output) as into:
                if format_as is not None:
                    lost = _write_session(it, prepared, format_as, into)
                else:
                    into.write(_body(it, prepared) + b"\n")
        told, which = _told(it, prepared, lost, output), which_was_read(it.parts)
    if as_json:
        answer(told)
    else:
        wordless = WORDLESS if prepared.wire == "flat" and prepared.report.unsent else ""
        click.echo("\n".join(filter(None, (_sentence(told), wordless, which))), err=True)
        tell_damage(told.damage, told.damaged)


def _body(it: Subject, prepared: Prepared) -> bytes:
    """The request; of a body that came in this wire, with its other fields as they came."""
    if prepared.wire != it.wire or not it.asked:
        return prepared.body
    return json_text.object_of(with_asked(prepared.fields, it.asked))


def _write_session(it: Subject, prepared: Prepared, format_as: str, into: IO[bytes]) -> tuple[Repair, ...]:
    """The request as a session, each message with its time."""
    heading = it.heading()
    # The system prompt stands in the heading.
    sent = prepared.sent[len(it.setup.system) :]
    entries = [Entry(message=message, at=it.moments.get(position), model=it.model) for message, position in sent]
    return write_transcript(entries, format_as, into, heading=heading).lost


def _told(it: Subject, prepared: Prepared, lost: tuple[Repair, ...], output: Path | None) -> FittedSession:
    report = prepared.report
    # A thread that was opened again knows only of turns that left since; its store knows all.
    known = {*report.turns_in, *report.turns_out}
    earlier = [turn for turn in it.explain().turns if turn.state == "evicted" and turn.number not in known]
    before = total((report.before, *(turn.whole for turn in earlier)))
    return FittedSession(
        name=it.name,
        tokens=prepared.tokens,
        before=before,
        after=report.after,
        ratio=round(1 - report.after.value / before.value, 4) if before.value else 0.0,
        turns_in=report.turns_in,
        turns_out=tuple(sorted((*(turn.number for turn in earlier), *report.turns_out))),
        shortened=report.shortened,
        repairs=(*report.repairs, *lost),
        fits=report.fits,
        damage=tuple(it.damage),
        damaged=it.damaged,
        output=None if output is None else str(output),
    )


def _sentence(told: FittedSession) -> str:
    gone = [turn for turn in told.turns_out if turn]
    turns = len(gone) + sum(turn > 0 for turn in told.turns_in)
    left = {0: "no turn", 1: "its one turn"}.get(turns, f"all {turns} turns")
    if gone:
        left = f"{len(gone)} of {turns} turns left out"
    elif told.turns_out:
        left += " but what was said before"
    cut = f", {amount(len(told.shortened), 'result')} shortened" if told.shortened else ""
    mended = f", {amount(len(told.repairs), 'repair')}" if told.repairs else ""
    return f"{told.before} said, {told.after} of it sent: {left}{cut}{mended}; the request takes {told.tokens}"
