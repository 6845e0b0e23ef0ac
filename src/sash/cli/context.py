"""`sash context`: where the tokens of the next request go, source by source, and how to change that."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.damage import print_damage
from sash.cli.made_of import LargestResult, by_kind, largest_results
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.parts import print_which
from sash.cli.screen import Screen, Style, screen
from sash.cli.sliding import LISTED, what_is_not_sent, when_it_slides
from sash.cli.subject import Subject, opened, reading_options, subject_argument, take_reading
from sash.cli.table import Cell, Column, print_table
from sash.core.budget import SourceName
from sash.core.tokens import TokenCount, short
from sash.window import Context

_LOOKS: dict[SourceName, tuple[str, Style]] = {
    "system": ("S", "blue"),
    "tools": ("T", "magenta"),
    "skills": ("K", "magenta"),
    "knowledge": ("W", "magenta"),
    "cross-thread": ("X", "magenta"),
    "facts": ("F", "cyan"),
    "summary": ("D", "cyan"),
    "history": ("H", "green"),
    "recalled": ("R", "cyan"),
    "input": ("I", "yellow"),
    "reserve": ("a", "dim"),
}
"""The letter and the colour of each source in the bar."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider reported for the newest answer in the file."""

    context: int
    """Everything that the model read: with system prompt and tools, which many files do not hold."""
    cached: int
    """Of it, what was in the cache."""


class ShownContext(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash context --json` prints."""

    name: str
    kind: str
    context: Context
    by_kind: dict[str, TokenCount]
    """
    All that is sent, by what it is: system, tools, user, assistant, thinking, calls, results, images, digest, repairs,
    told as text, around messages; or `prompt`, where it is one.
    """
    largest: tuple[LargestResult, ...]
    """The largest results that are sent."""
    reported: Reported | None


@click.command()
@subject_argument()
@reading_options
@from_settings(*WINDOW, *STORED)
@reports(ShownContext)
def context(subject: str, as_json: bool, **given: Any) -> None:
    """
    Show where the tokens of SUBJECT's next request go.

    A `~` marks an estimate. Each source stands with its share of the window and what would
    change it; below, what all that is sent is made of, and the largest results in it.
    """
    settings = settings_of(given, *WINDOW, *STORED)
    with opened(subject, settings, take_reading(given)) as it:
        told = shown_context(it)
        if as_json:
            answer(told)
        else:
            _print(it, told)


def shown_context(it: Subject) -> ShownContext:
    """All of it, as a value."""
    usage, now = it.reported, it.context()
    return ShownContext(
        name=it.name,
        kind=it.kind,
        context=now,
        by_kind=by_kind(it, now.used),
        largest=largest_results(it),
        reported=Reported(context=usage.context, cached=usage.cache_read) if usage is not None else None,
    )


def _print(it: Subject, told: ShownContext) -> None:
    out, now = screen(), told.context
    out.say(out.cut(clean(f"{it.name}" + (f": {it.title}" if it.title else "")), out.width), "bold")
    default = " (a default: nobody knows this model)" if now.model else " (a default)"
    window = f"{short(now.window)}{'' if now.window_known else default}"
    out.paragraph(clean(f"{now.model or 'no model named'} · window {window} · counted by {now.counter}"), "dim")
    print_which(out, it.parts)
    out.say(_bar(out, now))
    out.say()
    _print_sources(out, it, now)
    free = max(0, now.window - now.used.value - now.ledger.row("reserve").given)
    out.say()
    out.paragraph(f"{short(free)} free of {short(now.window)}; history {when_it_slides(now, it.setup.policy)}")
    if unsent := what_is_not_sent(now, it.setup.policy):
        out.paragraph(unsent)
    _print_parts(out, told)
    if told.reported is not None:
        cached = 100 * told.reported.cached // max(1, told.reported.context)
        out.say()
        out.paragraph(
            f"The provider reported {short(told.reported.context)} for the newest answer, {cached} % from its cache: "
            "everything that was sent then, system prompt and tools among it."
        )
    print_damage(out, it.damage, it.damaged)


def _bar(out: Screen, now: Context) -> str:
    """The window as a line, each source with its letter, or its colour."""
    cells: list[tuple[str, Style]] = []
    done = 0
    for row in now.ledger.rows:
        tokens = row.given if row.source == "reserve" else row.used.value
        if row.source == "reserve":
            # The answer's room is at the end of the window.
            free = max(0, out.width - len(cells) - round(tokens * out.width / now.window))
            cells += [(out.drawn("░"), "dim")] * free
            done = now.window - tokens
        done += tokens
        letter, style = _LOOKS[row.source]
        until = min(out.width, max(len(cells) + (1 if tokens else 0), round(done * out.width / now.window)))
        cells += [("█" if out.color else letter, style)] * (until - len(cells))
    return "".join(out.styled(text, style) for text, style in cells[: out.width])


def _print_sources(out: Screen, it: Subject, now: Context) -> None:
    columns = (
        Column(rank=3),
        Column(title="source", gives_way=True, cut_last=True),
        Column(title="tokens", right=True),
        Column(title="share", right=True, rank=1),
        Column(title="to change it", rank=2),
    )
    rows = []
    # The ledger counts what every request costs with the system prompt, which need not be there.
    priming = TokenCount(min(it.counter.priming, now.ledger.row("system").used.value))
    for row in now.ledger.rows:
        tokens = TokenCount(row.given) if row.source == "reserve" else row.used
        if row.source == "system":
            tokens -= priming
        if not tokens.value:
            continue
        letter, style = _LOOKS[row.source]
        share = f"{100 * tokens.value / now.window:.1f} %"
        name = "answer's reserve" if row.source == "reserve" else row.source
        sign = Cell("█" if out.color else letter, style)
        rows.append([sign, Cell(name), Cell(tokens.full), Cell(share), Cell(now.changes[row.source], "dim")])
    if around := now.around + priming.value:
        tokens, share = TokenCount(around, now.used.exact), f"{100 * around / now.window:.1f} %"
        sent = it.upcoming()
        repaired = sent is not None and sent.report.repairs
        added, remedy = ("repairs, framing", LISTED) if repaired else ("framing", "")
        rows.append([Cell(""), Cell(added), Cell(tokens.full), Cell(share), Cell(remedy, "dim")])
    rows.append(
        [Cell(""), Cell("all that is sent", "bold"), Cell(now.used.full, "bold"),
         Cell(f"{100 * now.used.value / now.window:.1f} %", "bold"), Cell("")]
    )  # fmt: skip
    print_table(out, columns, rows)


def _print_parts(out: Screen, told: ShownContext) -> None:
    whole = sum(count.value for count in told.by_kind.values())
    if not whole:
        return
    out.say()
    numbers = (Column(title="tokens", right=True), Column(title="share", right=True, rank=1))
    kinds = (Column(title="all that is sent", gives_way=True, cut_last=True), *numbers, Column(rank=2))
    shares = [(name, count, count.value / whole) for name, count in told.by_kind.items() if count.value]
    print_table(
        out,
        kinds,
        [[name, count.full, f"{100 * share:.0f} %", Cell(out.bar(share), "dim")] for name, count, share in shares],
    )
    if not told.largest:
        return
    out.say()
    results = (
        Column(title="largest results", gives_way=True, least=8),
        Column(title="tokens", right=True),
        Column(title="handle", rank=1),
    )
    print_table(
        out,
        results,
        [
            [clean(f"{result.tool} {result.about}"), result.tokens.full, Cell(result.handle, "dim")]
            for result in told.largest
        ],
    )
