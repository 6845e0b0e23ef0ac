"""`sash replay`: a session under several policies side by side: what each would have sent, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.folded import Telling, placed
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.progress import Progress
from sash.cli.screen import Screen, screen
from sash.cli.sparkline import marks, sparkline
from sash.cli.spoken import NOTHING_SAID
from sash.cli.subject import reading_options, subject_argument, take_reading, telling_of
from sash.cli.table import Cell, Column, print_table
from sash.core.budget import SourceName
from sash.core.cost import ANTHROPIC, NO_CACHE, OPENAI, OPENAI_HALF
from sash.core.policy import Policy
from sash.core.tokens import short
from sash.counters import counter_for
from sash.errors import InvalidSetting
from sash.settings import Settings, Written, load, setting_named
from sash.settings.table import PRESETS
from sash.window.replay import Replay, Replayed, compared

OWN = ("model", "history_tokens", "window", "counter")
"""What is the same for every policy of the comparison."""
PRICES = {"anthropic": ANTHROPIC, "openai": OPENAI, "half": OPENAI_HALF, "none": NO_CACHE}
DEFAULT = ("sliding", "best", "priority")
BESIDE: dict[SourceName, str] = {
    "summary": "words for what left",
    "facts": "facts",
    "recalled": "turns that are recalled",
}
"""What a request holds of a session beside its history, by the rows of the ledger."""
IN_FORCE = "in force"
"""The name of the subject's own policy where it is none of the usual ones."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash replay --json` prints."""

    name: str
    model: str
    messages: int
    policies: tuple[Replayed, ...]
    """In the order they were asked for; costs are relative to the first."""
    in_force: str | None
    """The one of them that SUBJECT has; null: none of them."""
    notes: tuple[str, ...] = ()
    """Why one of them sends more than its cap."""


@click.command()
@subject_argument()
@click.option(
    "-p",
    "--policy",
    "asked",
    multiple=True,
    metavar="NAME[,FIELD=VALUE...]",
    help="A policy to compare; say it several times. Left out: sliding, best, priority, and the one in force.",
)
@click.option(
    "--prices",
    type=click.Choice(sorted(PRICES)),
    default="anthropic",
    show_default=True,
    help="What the provider asks for tokens that it finds in its cache.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw what is sent over time, slides marked: a PNG or SVG.",
)
@reading_options
@from_settings(*OWN, *STORED)
@reports(Comparison)
def replay(subject: str, **given: Any) -> None:
    """
    Replay SUBJECT under several policies, side by side.

    A policy is a preset, with fields of its own after commas: `-p best,keep_share=0.5`. Cost is
    of input only, with what the provider finds in its cache, relative to the first policy. The
    policy in force, of the settings or of a stored thread, is marked with `*`.
    """
    plot, asked, prices, as_json = (given.pop(name) for name in ("plot", "asked", "prices", "as_json"))
    reading = take_reading(given)
    settings = settings_of(given, *OWN, *STORED)
    policies = {name: policy_said(name, settings) for name in asked or DEFAULT}
    with telling_of(subject, settings, reading) as telling:
        own = telling.setup.policy
        if not asked and own not in policies.values():
            policies[IN_FORCE] = own
        replays, messages = _replayed(telling, settings, policies, prices)
    told = Comparison(
        name=subject,
        model=replays[0].window.setup.model,
        messages=messages,
        policies=compared([one.outcome() for one in replays]),
        in_force=next((name for name, policy in policies.items() if policy == own), None),
        notes=tuple(note for one in replays if (note := _over_its_cap(one))),
    )
    if plot is not None:
        from sash.cli.plot import draw

        draw(plot, told.name, told.policies, high=replays[0].window.fold.limits.high)
    if as_json:
        answer(told)
    else:
        _print(told)
        if plot is not None:
            click.echo(f"drawn: {plot}", err=True)


def policy_said(name: str, settings: Settings) -> Policy:
    """A policy out of words: `best,keep_share=0.5`."""
    preset, *fields = name.split(",")
    if preset not in PRESETS:
        where, problem = "--policy", f"is {preset!r}; it takes one of {', '.join(PRESETS)}"
        raise InvalidSetting("policy", where=where, problem=problem)
    flags: dict[str, object] = {"policy": preset}
    for field in fields:
        key, sign, value = field.partition("=")
        if not sign:
            raise InvalidSetting(key, where="--policy", problem="has no value; say FIELD=VALUE")
        flags[setting_named(key.strip(), where="--policy").name] = Written(value.strip(), "--policy")
    # What was set for the command holds for every policy that says nothing else.
    given = {key: written for key, written in settings.given.items() if key != "policy"}
    return Settings(given=given | load(flags, environment={}, folder=Path("/")).given).policy()


def _replayed(
    telling: Telling, settings: Settings, policies: dict[str, Policy], prices: str
) -> tuple[list[Replay], int]:
    count = 0
    with Progress(f"replaying {telling.name}") as progress:
        # One counter for all: a policy may count its own way, but costs are compared in the same tokens.
        counter = counter_for(telling.setup.model, counter=settings.text("counter")).counter
        replays = [
            Replay(name, msgspec.structs.replace(telling.setup, policy=policy), PRICES[prices], counter)
            for name, policy in policies.items()
        ]
        for told in placed(telling.entries):
            for one in replays:
                one.add(told.message, told.entry.at)
            count += told.was_said
            progress.at(told.position)
    return replays, count


def _over_its_cap(one: Replay) -> str:
    """Why a policy sends more than its cap."""
    window, peak = one.window, one.outcome().peak - one.fixed
    cap, why = window.fold.limits.high, []
    if window.counter.id != one.counter.id:
        why.append(f"it counts by {window.counter.id}, and this table by {one.counter.id}")
    if window.setup.policy.check == "turn":
        why.append("it looks only when a turn closes")
    if peak > cap:
        ledger = window.context().ledger
        beside = [told for row, told in BESIDE.items() if ledger.row(row).used.value]
        why += [f"the cap is for history, and {' and '.join(beside)} come beside it"] if beside else []
    return f"{one.name} stands above its cap of {short(cap)}: {'; '.join(why)}" if why and peak > cap else ""


def _print(told: Comparison) -> None:
    out = screen()
    out.say(out.cut(clean(told.name), out.width), "bold")
    said = f"{amount(told.messages, 'message')}, {amount(told.policies[0].requests, 'request')}"
    out.paragraph(f"{clean(told.model) or 'no model named'} · {said}", "dim")
    out.say()
    if not told.messages:
        out.paragraph(NOTHING_SAID)
        return
    columns = (
        Column(),
        Column(title="policy", gives_way=True, least=8),
        Column(title="cost", right=True),
        Column(title="cached", right=True),
        Column(title="average", right=True, rank=1),
        Column(title="peak", right=True, rank=3),
        Column(title="slides", right=True, rank=2),
        Column(title="turns out", right=True, rank=4),
        Column(title="cut", right=True, rank=5),
    )
    print_table(out, columns, [_row(one, in_force=one.policy == told.in_force) for one in told.policies])
    out.say()
    out.paragraph("cost: of input, cached tokens at their price; 1.00 is the first policy", "dim")
    out.paragraph("*: the policy in force" if told.in_force else "none of these policies is the one in force", "dim")
    for note in told.notes:
        out.paragraph(clean(note), "dim")
    for one in told.policies:
        _print_curve(out, one, max((other.peak for other in told.policies), default=0))


def _row(one: Replayed, *, in_force: bool) -> list[Cell]:
    relative = "-" if one.relative is None else f"{one.relative:.2f}"
    return [
        Cell("*" if in_force else ""),
        Cell(clean(one.policy)),
        Cell(relative, "bold"),
        Cell(f"{100 * one.cached:.0f} %"),
        Cell(short(round(one.average))),
        Cell(short(one.peak)),
        Cell(str(one.slides)),
        Cell(str(len(one.evicted))),
        Cell(str(one.shortened)),
    ]


def _print_curve(out: Screen, one: Replayed, top: int) -> None:
    """What was sent, request by request, with the slides below."""
    out.say()
    out.say(out.cut(f"{clean(one.policy)}, up to {short(one.peak)}", out.width))
    out.say(sparkline(out, one.live, out.width, top=top), "green")
    below = marks(out, [slid.request - 1 for slid in one.slid], max(1, len(one.live)), out.width)
    if below:
        out.say(below, "dim")
