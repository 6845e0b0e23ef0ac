"""`sash explain`: why each turn and each result is in the window, out of it or shortened, and how to get it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.damage import print_damage
from sash.cli.number import TURN
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.parts import print_which
from sash.cli.screen import Screen, Style, screen
from sash.cli.show import NARROW, STYLES, size_of
from sash.cli.sliding import what_is_not_sent, when_it_slides
from sash.cli.spoken import NOTHING_SAID, says_anything
from sash.cli.subject import Wanted, opened, reading_options, subject_argument, take_reading
from sash.cli.table import Cell, Column, print_table
from sash.cli.title import shown_title
from sash.core.explanation import ExplainedFrame, ExplainedResult, ExplainedTurn, Explanation
from sash.core.turn import no_turn

FREED = (
    "freed: what the window showed of what left; turns are listed below as they came in, "
    "which is more where the window had shortened them"
)
"""Where the sizes of turns that left do not add up to what was freed."""
RECALLED = 8
"""Recalled messages that are shown."""

_RESULTS: dict[str, Style] = {"whole": "green", "shortened": "yellow", "digested": "yellow", "evicted": "dim"}


@click.command()
@subject_argument()
@click.option("--turn", "number", type=TURN, metavar="N", help="Only this turn, with each of its results.")
@click.option("--results", is_flag=True, help="Also each tool result.")
@reading_options
@from_settings(*WINDOW, *STORED)
@reports(Explanation)
def explain(subject: str, number: int | None, results: bool, as_json: bool, **given: Any) -> None:
    """
    Explain why each turn of SUBJECT is in the window, or out of it.

    First every slide, then every turn, each with what would bring it back.
    """
    settings = settings_of(given, *WINDOW, *STORED)
    wanted = Wanted(everything=results or as_json or number is not None)
    with opened(subject, settings, take_reading(given), wanted) as it:
        told = it.explain()
        if as_json:
            answer(told)
            return
        out = screen()
        if number is not None:
            _print_turn(out, told, number)
            return
        policy = it.setup.policy
        out.paragraph(f"history {told.tokens} · {when_it_slides(told, policy)} · frame {told.frame}", "bold")
        print_which(out, it.parts)
        unsent = what_is_not_sent(it.context(), policy)
        _print_frames(out, told, unsent)
        _print_summaries(out, told)
        _print_recalled(out, told)
        if says_anything(told.turns):
            out.say()
            _print_turns(out, told)
        if results and told.results:
            out.say()
            _print_results(out, told.results)
        print_damage(out, it.damage, it.damaged)


def _print_frames(out: Screen, told: Explanation, unsent: str) -> None:
    frames = [frame for frame in told.frames if frame.number]
    if not frames:
        out.paragraph(_never_slid(told, unsent) if says_anything(told.turns) else NOTHING_SAID)
        return
    _print_slides(out, frames)
    if unsent:
        out.paragraph(unsent)


def _never_slid(told: Explanation, unsent: str) -> str:
    """What of all that was said the model sees."""
    if unsent:
        return f"It never slid, and yet {unsent}"
    if any(turn.tokens.value < turn.whole.value for turn in told.turns):
        return "It never slid: every turn is in the window; what was very large was shortened as it came in."
    return "It never slid: everything that was said is in the window."


def _print_slides(out: Screen, frames: Sequence[ExplainedFrame]) -> None:
    out.say()
    columns = (
        Column(title="frame", right=True),
        Column(title="at", right=True, rank=3),
        Column(title="history", rank=2),
        Column(title="freed", right=True, rank=1),
        Column(title="left", right=True, rank=1),
        Column(title="because", gives_way=True, least=12),
    )
    rows = [
        [
            Cell(str(frame.number)),
            Cell(f"{frame.at:,}", "dim"),
            Cell(out.drawn(f"{frame.tokens_before} → {frame.tokens}"), "" if frame.fits else "yellow"),
            Cell(str(frame.freed) if frame.freed.value > 0 else "-"),
            Cell(_left(frame)),
            Cell(frame.reason, "dim"),
        ]
        for frame in frames
    ]
    print_table(out, columns, rows)
    if any(frame.left.value > frame.freed.value for frame in frames if frame.evicted):
        out.paragraph(FREED, "dim")


def _print_summaries(out: Screen, told: Explanation) -> None:
    if told.trouble:
        out.paragraph(clean(told.trouble), "yellow")
    for summary in told.summaries:
        by = "the user" if summary.by == "user" else clean(summary.model) or "a model"
        stands = "in force" if summary.in_force else "waits for the next slide"
        out.paragraph(
            f"summary {summary.revision}, {stands}: turns {summary.first} to {summary.end - 1} by {by}, "
            f"generation {summary.generation}, {summary.lines} lines, {summary.removed} taken out, {summary.tokens}"
        )
        if summary.lost:
            out.paragraph(f"the one before it had lost: {clean(', '.join(summary.lost))}", "dim", indent=_indent(out))


def _print_recalled(out: Screen, told: Explanation) -> None:
    """What stands beside the current input because it bears on it, the best first."""
    for hit in sorted(told.recalled, key=lambda hit: -hit.score)[:RECALLED]:
        words = f"for {clean(', '.join(hit.words))}" if hit.words else "for what stands beside it"
        out.paragraph(f"recalled of turn {hit.turn}, score {hit.score:g}: {words}", "dim")
    if len(told.recalled) > RECALLED:
        out.paragraph(f"and {len(told.recalled) - RECALLED} more; `--json` has all of them", "dim")


def _left(frame: ExplainedFrame) -> str:
    parts = [amount(len(frame.evicted), "turn")] if frame.evicted else []
    parts += [amount(frame.digested_steps, "step")] if frame.digested_steps else []
    parts += [f"{frame.shortened} cut"] if frame.shortened else []
    if not parts and frame.unsigned and frame.freed.value > 0:
        return "thinking"
    return ", ".join(parts) or "-"


def _print_turns(out: Screen, told: Explanation) -> None:
    """Every turn; neighbours that stand where they stand for the same reason share its words."""
    for place, turn in enumerate(told.turns):
        after = told.turns[place + 1] if place + 1 < len(told.turns) else None
        if place and turn.number == told.boundary:
            out.rule("context")
        _print_title(out, turn)
        alike = after is not None and after.number != told.boundary and _why(after) == _why(turn)
        if not alike:
            _print_why(out, turn)


def _why(turn: ExplainedTurn) -> tuple[object, ...]:
    return turn.state, turn.reason, turn.back


def _print_title(out: Screen, turn: ExplainedTurn) -> None:
    size = size_of(turn)
    line = out.cut(f"{turn.number:>4}  {shown_title(out, turn.title)}", max(8, out.width - len(size) - 2))
    out.say(f"{line}  {size}", STYLES[turn.state] if turn.state == "evicted" else "")


def _print_why(out: Screen, turn: ExplainedTurn) -> None:
    back = f"; to get it back: {', '.join(turn.back)}" if turn.back else ""
    out.paragraph(f"{turn.state}: {clean(turn.reason)}{back}", STYLES[turn.state], indent=_indent(out))


def _indent(out: Screen) -> str:
    return " " * (6 if out.width > NARROW else 1)


def _print_turn(out: Screen, told: Explanation, number: int) -> None:
    turn = next((turn for turn in told.turns if turn.number == number), None)
    if turn is None:
        raise no_turn(number, (turn.number for turn in told.turns))
    _print_title(out, turn)
    _print_why(out, turn)
    if turn.priority is not None:
        reasons = ", ".join(turn.priority.reasons)
        out.paragraph(f"priority {turn.priority.value}: {reasons}", "dim", indent=_indent(out))
    own = tuple(result for result in told.results if result.turn == number)
    if own:
        out.say()
        _print_results(out, own)


def _print_results(out: Screen, results: tuple[ExplainedResult, ...]) -> None:
    columns = (
        Column(title="handle"),
        Column(title="tool", rank=2),
        Column(title="shown", right=True, rank=1),
        Column(title="whole", right=True),
        Column(title="why", gives_way=True, least=10, rank=3),
    )
    rows = [
        [
            Cell(result.handle),
            Cell(out.cut(clean(result.tool), 20), "dim"),
            Cell(str(result.shown), _RESULTS[result.state]),
            Cell(str(result.whole)),
            Cell(f"{result.state}: {clean(result.reason)}", "dim"),
        ]
        for result in results
    ]
    print_table(out, columns, rows)
