"""`sash show`: the turns of a session or a thread, their size and age, and what the model sees of them."""

from __future__ import annotations

import time
from typing import Any

import click
import msgspec

from sash.cli.age import age, moment
from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.damage import print_damage
from sash.cli.number import TURN, Number
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.parts import print_which
from sash.cli.places import near
from sash.cli.pressure import print_pressure
from sash.cli.screen import Screen, Style, screen
from sash.cli.sliding import SUSPENDED, turns_kept
from sash.cli.spoken import NOTHING_SAID, OpenedTurn, messages_of, print_messages, says_anything
from sash.cli.subject import Subject, Wanted, opened, reading_options, subject_argument, take_reading
from sash.cli.table import Cell, Column, line_of, widths_of
from sash.cli.title import shown_title
from sash.core.explanation import ExplainedTurn, Explanation, State
from sash.core.policy import Policy
from sash.core.tokens import TokenCount, short
from sash.core.turn import no_turn
from sash.transcripts import Damage

STYLES: dict[State, Style] = {"live": "green", "carried": "cyan", "evicted": "dim", "rewound": "dim"}
NARROW = 40
"""Columns up to which only the most needful is shown."""
BAR = 14
"""Columns of the largest turn's bar."""


class ShownTurn(ExplainedTurn, frozen=True, kw_only=True):
    """A turn, as `sash show` tells it."""

    at: str | None = None
    """When it was started; null where nobody knows."""


class ShownTurns(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash show --json` prints."""

    name: str
    kind: str
    """The format of the session file; `thread` of a stored one."""
    title: str
    model: str
    turns: tuple[ShownTurn, ...]
    boundary: int
    """Number of the first live turn."""
    tokens: TokenCount
    """What history takes in the window."""
    high: int
    """Above it history slides."""
    window: int
    """Tokens that the model takes."""
    window_known: bool
    """False when nobody knows the model and a default stands in."""
    damage: tuple[Damage, ...]
    """Places of the file that could not be read."""
    damaged: int
    """How many there are; only the first thousand are listed."""


@click.command()
@subject_argument(required=False)
@click.option("--turn", "number", type=TURN, metavar="N", help="Open one turn: all that was said in it.")
@click.option("-v", "--messages", is_flag=True, help="Under each turn in the window, what was said and done in it.")
@click.option("-n", "--last", type=Number(1), metavar="N", help="Only the newest N turns.")
@reading_options
@from_settings(*WINDOW, *STORED)
@reports(ShownTurns)
def show(subject: str | None, **given: Any) -> None:
    """
    Show the turns of a session or thread, and what the model sees.

    SUBJECT is a session file, a session of a tool (claude:latest, pi:2), the name of a stored
    thread, or `-` for standard input. Above the line stands what the model does not see any
    more, below it what it sees. Without SUBJECT, the newest sessions of the tools found on this
    machine are offered.
    """
    settings = settings_of(given, *WINDOW, *STORED)
    number, as_json = given["number"], given["as_json"]
    begins = None if as_json or number is not None else _print_name
    with opened(subject, settings, take_reading(given), Wanted(turn=number, begins=begins)) as it:
        if number is not None:
            _open(it, number, as_json=as_json)
        elif as_json:
            answer(_shown(it))
        else:
            _print(it, messages=given["messages"], last=given["last"])


def _print_name(name: str, title: str) -> None:
    """The first line, at once: a long session takes a moment."""
    out = screen()
    out.say(out.cut(f"{clean(near(name))}{f': {clean(title)}' if title else ''}", out.width), "bold")
    out.stream.flush()


def _shown(it: Subject) -> ShownTurns:
    explained, context = it.explain(), it.context()
    return ShownTurns(
        name=it.name,
        kind=it.kind,
        title=it.title,
        model=it.model,
        turns=tuple(_with_time(turn, it.times.get(turn.number)) for turn in explained.turns),
        boundary=explained.boundary,
        tokens=explained.tokens,
        high=explained.high,
        window=context.window,
        window_known=context.window_known,
        damage=tuple(it.damage),
        damaged=it.damaged,
    )


def _with_time(turn: ExplainedTurn, at: float | None) -> ShownTurn:
    return ShownTurn(**{name: getattr(turn, name) for name in turn.__struct_fields__}, at=moment(at))


def _open(it: Subject, number: int, *, as_json: bool) -> None:
    turns = {turn.number: turn for turn in it.explain().turns}
    turn = turns.get(number)
    if turn is None:
        raise no_turn(number, turns)
    found = tuple(messages_of(it.said(number), it.counter))
    if as_json:
        answer(OpenedTurn(turn=turn, messages=found))
        return
    out = screen()
    out.say(out.cut(f"turn {number}: {shown_title(out, turn.title)}", out.width), "bold")
    when = age(it.times.get(number), time.time())
    ago = f" · {when} ago" if when not in ("", "now") else ""
    out.paragraph(f"{turn.state} · {size_of(turn)} tokens{ago}", "dim")
    out.paragraph(f"{turn.reason}{'; to get it back: ' + ', '.join(turn.back) if turn.back else ''}", "dim")
    out.say()
    print_messages(out, found, whole=True)


def _print(it: Subject, *, messages: bool, last: int | None) -> None:
    out = screen()
    explained, context = it.explain(), it.context()
    _heading(out, it, explained)
    print_pressure(out, context.pressure)
    unsent = f"; {TokenCount(context.unsent, context.used.exact)} of it is not sent" if context.unsent else ""
    out.paragraph(f"history {explained.tokens} {_mark(explained, it.setup.policy)}{unsent}", "dim")
    if not context.window_known:
        why = "nobody knows this model; --window states it" if it.model else "no model is named; -m names one"
        out.paragraph(f"a window of {short(context.window)} is a default: {why}", "dim")
    out.say()
    if says_anything(explained.turns):
        turns = explained.turns[-last:] if last else explained.turns
        if len(turns) < len(explained.turns):
            before = len(explained.turns) - len(turns)
            out.say(out.drawn(f"… {amount(before, 'turn')} before"), "dim")
        _print_turns(out, it, turns, explained.boundary, messages=messages)
    else:
        out.paragraph(NOTHING_SAID)
    print_damage(out, it.damage, it.damaged)


def _mark(told: Explanation, policy: Policy) -> str:
    """Up to where history goes."""
    keeps = turns_kept(policy)
    if keeps and not policy.history_tokens:
        return f"({keeps})"
    slides = SUSPENDED if told.suspended else "slides above"
    return f"of {short(told.high)} ({', '.join(filter(None, (slides, keeps)))})"


def _heading(out: Screen, it: Subject, explained: Explanation) -> None:
    standing = [turn for turn in explained.turns if turn.state != "rewound"]
    # Turn 0 was started by nobody: it is listed, and not counted.
    turns = sum(turn.number > 0 for turn in standing)
    parts = [it.kind, clean(it.model), f"{amount(turns, 'turn')}, {amount(it.messages, 'message')}"]
    if rewound := len(explained.turns) - len(standing):
        parts.append(f"{amount(rewound, 'turn')} rewound")
    if it.compactions:
        parts.append(f"compacted {amount(it.compactions, 'time')} by the tool")
    out.paragraph(" · ".join(filter(None, parts)), "dim")
    print_which(out, it.parts)


def _print_turns(out: Screen, it: Subject, turns: tuple[ExplainedTurn, ...], boundary: int, *, messages: bool) -> None:
    columns = (
        Column(right=True),
        Column(gives_way=True, least=8),
        Column(rank=2),
        Column(right=True, rank=3),
        Column(right=True),
        Column(rank=4),
    )
    now, largest = time.time(), max((turn.whole.value for turn in turns), default=1) or 1
    rows = [_row(out, turn, it.times.get(turn.number), now, largest) for turn in turns]
    widths = widths_of(out, columns, rows)
    for turn, row in zip(turns, rows, strict=True):
        if turn.number == boundary and boundary > turns[0].number:
            out.rule("context")
        if widths:
            out.say(line_of(out, columns, row, widths))
        else:
            out.say(out.cut(f"{turn.number} {row[1].text}", out.width), row[1].style)
        if messages and turn.state != "evicted":
            print_messages(out, tuple(messages_of(it.said(turn.number), it.counter)), indent=4)


def size_of(turn: ExplainedTurn) -> str:
    """What it takes; of a turn that is shown in part, `~1.4k/1.7k`."""
    return str(turn.tokens) if turn.tokens == turn.whole else f"{turn.tokens}/{short(turn.whole.value)}"


def _row(out: Screen, turn: ExplainedTurn, at: float | None, now: float, largest: int) -> list[Cell]:
    style = STYLES[turn.state]
    shown = turn.tokens.value if turn.state != "evicted" else 0
    full = round(BAR * shown / largest)
    rest = max(0, round(BAR * turn.whole.value / largest) - full)
    words: Style = "dim" if turn.state == "evicted" else ""
    return [
        Cell(str(turn.number), "dim"),
        Cell(shown_title(out, turn.title), words),
        Cell(turn.state, style),
        Cell(age(at, now), "dim"),
        Cell(size_of(turn) if out.width > NARROW else str(turn.tokens), words),
        Cell(out.drawn("█" * full + "░" * rest), style),
    ]
