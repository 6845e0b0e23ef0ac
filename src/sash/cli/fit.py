"""`sash fit`: the request that a session would make now, or a session file that its tool can go on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.output import output_option, written_to
from sash.cli.subject import Subject, opened, reading_options, subject_argument, take_reading
from sash.core.tokens import TokenCount
from sash.window import Prepared
from sash.wire import WIRES, Repair


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
    """What had to be changed before the provider would take it."""
    fits: bool
    """False when history stands above its high mark all the same: what may not leave is larger."""
    output: str | None
    """The file that was written."""


@click.command()
@subject_argument()
@click.option("--wire", type=click.Choice(sorted(WIRES)), help="Whose JSON the request is; else the session's own.")
@output_option
@reading_options
@from_settings(*WINDOW, *STORED)
@reports(FittedSession)
def fit(subject: str, wire: str | None, output: Path | None, as_json: bool, **given: Any) -> None:
    """
    Print the request that SUBJECT would make now.

    It is within its budget, and its provider takes it. What was done is said on stderr; with
    --json it is printed instead of the request. Nothing is written when what may not be left
    out is already larger than the window.
    """
    reading = take_reading(given)
    settings = settings_of(given, *WINDOW, *STORED)
    with opened(subject, settings, reading) as it:
        prepared = it.prepared(wire or it.wire)
        if output is not None or not as_json:
            with written_to(output) as into:
                into.write(prepared.body + b"\n")
        told = _told(it, prepared, output)
    if as_json:
        answer(told)
    else:
        click.echo(_sentence(told), err=True)


def _told(it: Subject, prepared: Prepared, output: Path | None) -> FittedSession:
    report = prepared.report
    return FittedSession(
        name=it.name,
        tokens=prepared.tokens,
        before=report.before,
        after=report.after,
        ratio=round(report.ratio, 4),
        turns_in=report.turns_in,
        turns_out=report.turns_out,
        shortened=report.shortened,
        repairs=report.repairs,
        fits=report.fits,
        output=None if output is None else str(output),
    )


def _sentence(told: FittedSession) -> str:
    turns = len(told.turns_in) + len(told.turns_out)
    left = f"{len(told.turns_out)} of {turns} turns left out" if told.turns_out else f"all {turns} turns"
    cut = f", {len(told.shortened)} results shortened" if told.shortened else ""
    mended = f", {len(told.repairs)} repairs" if told.repairs else ""
    return f"{told.before} said, {told.tokens} sent: {left}{cut}{mended}"
