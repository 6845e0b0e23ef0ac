"""`sash pressure`: how full the window is, for people, for an issue comment, for programs."""

from __future__ import annotations

from typing import Any

import click

from sash.cli.answer import answer
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.screen import Screen, screen
from sash.cli.statusline import STYLES
from sash.cli.subject import Wanted, opened, reading_options, subject_argument, take_reading
from sash.core.pressure import Pressure, pressure_of

MARKS = ("show_above", "notice_above", "warn_above")


@click.command()
@subject_argument()
@click.option("--markdown", is_flag=True, help="A footer for an issue comment; empty while little is used.")
@click.option("--whole", is_flag=True, help="Of the whole session, as if nothing had left the window.")
@reading_options
@from_settings(*WINDOW, *MARKS, *STORED)
@reports(Pressure)
def pressure(subject: str, markdown: bool, whole: bool, as_json: bool, **given: Any) -> None:
    """
    Tell how full the window on SUBJECT is.

    From 30 % on it is shown, above 60 % there is a notice, above 80 % a warning: set
    show_above, notice_above and warn_above to change that. The notice speaks of summaries
    where a summarizer is set.
    """
    settings = settings_of(given, *WINDOW, *MARKS, *STORED)
    with opened(subject, settings, take_reading(given), Wanted(whole=whole)) as it:
        context = it.context()
        told = pressure_of(context.used, context.window, settings.marks())
    if as_json:
        answer(told)
        return
    summarized = bool(settings.text("summarizer"))
    if markdown:
        footer = told.markdown(summarized=summarized).strip("\n")
        # Bytes: the footer has its pictures whatever the terminal speaks.
        click.echo(footer.encode(), nl=bool(footer))
        return
    out = screen()
    print_pressure(out, told)
    for words in told.terminal(ascii_only=out.ascii_only, summarized=summarized).split("\n")[1:]:
        out.paragraph(words)


def print_pressure(out: Screen, told: Pressure) -> None:
    """The bar and the sizes; on a narrow screen without the bar."""
    line = told.line(ascii_only=out.ascii_only)
    if len(line) > out.width:
        line = out.drawn(f"{told.percent} % · {told.sizes}")
    out.paragraph(line, STYLES[told.level])
