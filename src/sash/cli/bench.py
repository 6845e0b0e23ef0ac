"""`sash bench`: what of a session is still in the window when it is needed, under one strategy or another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.number import Number
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.progress import Progress
from sash.cli.screen import screen
from sash.cli.subject import reading_options, subject_argument, take_reading, telling_of
from sash.cli.table import Cell, Column, print_table
from sash.core.cost import ANTHROPIC
from sash.core.probe import Present, Probe
from sash.core.survival import STRATEGIES, Session, Survival, digested, replay, sending_by, session_of
from sash.core.tokens import Counter, short
from sash.counters import counter_for

if TYPE_CHECKING:
    from sash.summarize import Summarizer

CAPS = (8_000, 30_000, 60_000)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What one strategy kept within one cap."""

    strategy: str
    cap: int
    """Tokens that everything sent may take, where the window is held against it; `largest` may be above it."""
    named: float
    """Of the names that are used again after more than fifteen messages, the share that stands in the request."""
    in_setting: float
    """The share that stands there among words that stood around it."""
    commands: float | None
    """Of the commands that are run again as they were, the share that stands in the request; null: none is."""
    wishes: float | None
    """Of what the user wanted from there on, when an answer follows it: the share that stands there word for word."""
    tokens: float
    """Of a request, on average."""
    largest: int
    cost: float
    """Of all input, in tokens at list price, cached ones at Anthropic's price for them."""
    summaries: int = 0
    """That a model wrote and that were believed."""
    rejected: int = 0
    spent: int = 0
    """Tokens that a model read and wrote for them."""


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What of a session is still there when it is needed."""

    name: str
    messages: int
    tokens: int
    probes: int
    """Names that are used again after more than fifteen messages."""
    commands: int
    """Commands that are run again after more than fifteen messages."""
    wishes: int
    """Answers that follow what the user wanted more than fifteen messages before."""
    kept: tuple[Kept, ...]


@click.command()
@subject_argument()
@click.option("--cap", "caps", type=Number(1_000), multiple=True, help="Tokens in all; may be repeated.")
@click.option(
    "--summarizer", default="", metavar="PROVIDER:MODEL", help="Also have this model write summaries, at its price."
)
@reading_options
@from_settings("model", "counter", *STORED)
@reports(Bench)
def bench(subject: str, caps: tuple[int, ...], summarizer: str, as_json: bool, **given: Any) -> None:
    """
    Measure what of SUBJECT is still in the window when it is needed.

    Replays the session under each strategy, everything that is sent within the cap, and looks at each path,
    identifier and number that an answer uses and that was last said more than fifteen messages before; at commands
    that are run again, and at what the user wanted from there on.

    A window is held against the cap when the user has spoken or a last result has come. What a tool adds behind that
    (the words of a hook), and what may not leave, is sent above the cap; the largest request shows by how much.
    """
    writing = _summarizer(summarizer)
    settings = settings_of(given, "model", "counter", *STORED)
    with telling_of(subject, settings, take_reading(given)) as telling:
        messages = [entry.message for entry in telling.entries]
        counter = counter_for(telling.setup.model, counter=settings.text("counter")).counter
    session = session_of(messages, counter)
    told = Bench(
        name=subject,
        messages=len(messages),
        tokens=session.tokens,
        probes=_probes(session.probes),
        commands=_probes(session.commands),
        wishes=_probes(session.wishes),
        kept=_kept(session, caps or tuple(cap for cap in CAPS if cap < session.tokens) or CAPS[:1], counter, writing),
    )
    if as_json:
        answer(told)
    else:
        _print(told)


def _summarizer(named: str) -> Summarizer | None:
    if not named:
        return None
    from sash.summarize import summarizer_of

    return summarizer_of(named)


def _probes(found: Mapping[int, Sequence[Probe]]) -> int:
    return sum(map(len, found.values()))


def _kept(session: Session, caps: tuple[int, ...], counter: Counter, writing: Summarizer | None) -> tuple[Kept, ...]:
    found: list[Kept] = []
    with Progress("replaying") as progress:
        for cap in caps:
            for strategy in STRATEGIES:
                found.append(_row(strategy.name, cap, replay(session, sending_by(strategy, cap, counter), counter)))
                progress.at(len(found))
            if writing is not None:
                found.append(_summarized(session, cap, counter, writing))
    return tuple(found)


def _summarized(session: Session, cap: int, counter: Counter, writing: Summarizer) -> Kept:
    from sash.summarize.rehearsal import Rehearsal

    rehearsal = Rehearsal(digested(cap, facts=cap // 40), counter, writing)
    row = _row(f"summary by {writing.provider.model}", cap, replay(session, rehearsal, counter))
    return msgspec.structs.replace(
        row, summaries=rehearsal.published, rejected=len(rehearsal.errors), spent=rehearsal.spent.tokens
    )


def _row(name: str, cap: int, one: Survival) -> Kept:
    asked = max(1, one.present.asked)
    return Kept(
        strategy=name,
        cap=cap,
        named=round(one.present.named / asked, 4),
        in_setting=round(one.present.in_setting / asked, 4),
        commands=_share(one.commands),
        wishes=_share(one.wishes),
        tokens=round(one.account.average, 1),
        largest=one.largest,
        cost=round(one.account.cost(ANTHROPIC), 1),
    )


def _share(present: Present) -> float | None:
    return round(present.named / present.asked, 4) if present.asked else None


def _print(told: Bench) -> None:
    out = screen()
    out.say(out.cut(clean(told.name), out.width), "bold")
    out.paragraph(
        f"{told.messages:,} messages, {short(told.tokens)} tokens · after more than fifteen messages {told.probes:,} "
        f"names are used again, {told.commands:,} commands run again, {told.wishes:,} wishes followed",
        "dim",
    )
    columns = (
        Column(title="strategy", gives_way=True, least=22),
        Column(title="cap", right=True),
        Column(title="named", right=True),
        Column(title="in setting", right=True),
        Column(title="commands", right=True, rank=4),
        Column(title="wishes", right=True, rank=5),
        Column(title="average", right=True, rank=2),
        Column(title="largest", right=True, rank=3),
        Column(title="cost", right=True, rank=1),
    )
    rows = [
        [
            Cell(one.strategy),
            Cell(short(one.cap)),
            Cell(f"{100 * one.named:.0f} %", "bold"),
            Cell(f"{100 * one.in_setting:.0f} %", "bold"),
            Cell(_percent(one.commands)),
            Cell(_percent(one.wishes)),
            Cell(short(round(one.tokens))),
            Cell(short(one.largest)),
            Cell(short(round(one.cost))),
        ]
        for one in told.kept
    ]
    out.say()
    print_table(out, columns, rows)
    out.say()
    out.paragraph("named: it stands in the request; in setting: among words that stood around it before", "dim")
    if any(one.largest > one.cap for one in told.kept):
        out.paragraph(
            "largest above the cap: what a tool adds behind a result (the words of a hook) is sent before the window "
            "is held against the cap again, and some of a window may not leave",
            "dim",
        )
    for one in told.kept:
        if one.summaries or one.rejected:
            out.paragraph(
                f"{clean(one.strategy)}, {short(one.cap)}: {one.summaries} summaries believed, {one.rejected} not, "
                f"{short(one.spent)} tokens read and written for them",
                "dim",
            )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
