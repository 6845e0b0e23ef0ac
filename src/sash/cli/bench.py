"""`sash bench`: what of a session is still in the window when it is needed, under one strategy or another."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.progress import Progress
from sash.cli.screen import screen
from sash.cli.subject import reading_options, subject_argument, take_reading, telling_of
from sash.cli.table import Cell, Column, print_table
from sash.core.cost import ANTHROPIC
from sash.core.survival import STRATEGIES, Session, replay, session_of
from sash.core.tokens import Counter, short
from sash.counters import counter_for

CAPS = (8_000, 30_000, 60_000)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What one strategy kept within one cap."""

    strategy: str
    cap: int
    """Tokens that everything sent may take."""
    named: float
    """Of the names that are used again after more than fifteen messages, the share that stands in the request."""
    in_setting: float
    """The share that stands there among words that stood around it."""
    tokens: float
    """Of a request, on average."""
    largest: int
    cost: float
    """Of all input, in tokens at list price, cached ones at Anthropic's price for them."""


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What of a session is still there when it is needed."""

    name: str
    messages: int
    tokens: int
    probes: int
    """Names that are used again after more than fifteen messages."""
    kept: tuple[Kept, ...]


@click.command()
@subject_argument()
@click.option("--cap", "caps", type=click.IntRange(min=1_000), multiple=True, help="Tokens in all; may be repeated.")
@reading_options
@from_settings("model", "counter", *STORED)
@reports(Bench)
def bench(subject: str, caps: tuple[int, ...], as_json: bool, **given: Any) -> None:
    """
    Measure what of SUBJECT is still in the window when it is needed.

    Replays the session under each strategy, everything that is sent within the cap, and looks at each path,
    identifier and number that an answer uses and that was last said more than fifteen messages before.
    """
    settings = settings_of(given, "model", "counter", *STORED)
    with telling_of(subject, settings, take_reading(given)) as telling:
        messages = [entry.message for entry in telling.entries]
        counter = counter_for(telling.setup.model, counter=settings.text("counter")).counter
    session = session_of(messages, counter)
    told = Bench(
        name=subject,
        messages=len(messages),
        tokens=session.tokens,
        probes=sum(map(len, session.probes.values())),
        kept=_kept(session, caps or tuple(cap for cap in CAPS if cap < session.tokens) or CAPS[:1], counter),
    )
    if as_json:
        answer(told)
    else:
        _print(told)


def _kept(session: Session, caps: tuple[int, ...], counter: Counter) -> tuple[Kept, ...]:
    found = []
    with Progress("replaying") as progress:
        for cap in caps:
            for strategy in STRATEGIES:
                one = replay(session, strategy, cap, counter)
                asked = max(1, one.present.asked)
                found.append(
                    Kept(
                        strategy=strategy.name,
                        cap=cap,
                        named=round(one.present.named / asked, 4),
                        in_setting=round(one.present.in_setting / asked, 4),
                        tokens=round(one.account.average, 1),
                        largest=one.largest,
                        cost=round(one.account.cost(ANTHROPIC), 1),
                    )
                )
                progress.at(len(found))
    return tuple(found)


def _print(told: Bench) -> None:
    out = screen()
    out.say(out.cut(clean(told.name), out.width), "bold")
    out.paragraph(
        f"{told.messages:,} messages, {short(told.tokens)} tokens · {told.probes:,} names are used again after more "
        "than fifteen messages",
        "dim",
    )
    columns = (
        Column(title="strategy", gives_way=True, least=8),
        Column(title="cap", right=True),
        Column(title="named", right=True),
        Column(title="in setting", right=True),
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
