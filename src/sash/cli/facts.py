"""`sash facts`, `remember` and `forget`: what is kept apart from the history, where no slide takes it away."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.changing import changed_thread, changing, policy_option, tell
from sash.cli.characters import clean
from sash.cli.options import STORED, from_settings, reports
from sash.cli.screen import screen
from sash.cli.table import Cell, Column, print_table
from sash.thread import Fact


class ShownFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash facts --json` prints."""

    thread: str
    facts: tuple[Fact, ...]


@click.command()
@click.argument("thread")
@from_settings(*STORED)
@reports(ShownFacts)
def facts(thread: str, as_json: bool, **given: Any) -> None:
    """List the facts that THREAD keeps apart from its history."""
    with changed_thread(thread, given) as it:
        found = it.facts()
        if as_json:
            answer(ShownFacts(thread=it.name, facts=found))
            return
    out = screen()
    if not found:
        out.paragraph(f"No facts yet; `sash remember {clean(thread)} 'TEXT'` keeps one.")
        return
    columns = (Column(title="turn", right=True), Column(title="fact", gives_way=True, least=10))
    print_table(out, columns, [[Cell(_turn(fact), "dim"), clean(fact.text)] for fact in found])


def _turn(fact: Fact) -> str:
    return str(fact.turn) if fact.turn >= 0 else "none yet"


@click.command()
@click.argument("thread")
@click.argument("text")
@from_settings(*STORED)
@policy_option
@reports(Fact)
def remember(thread: str, text: str, as_json: bool, **given: Any) -> None:
    """
    Keep TEXT as a fact of THREAD, which no slide takes away.

    Facts take at most facts_tokens together; `--set facts_tokens=2k` raises that for this thread.
    """
    with changed_thread(thread, given) as it:
        fact = it.remember(text)
    if as_json:
        answer(fact)
    else:
        screen().paragraph("It is remembered.")


@click.command()
@changing
@click.argument("text")
def forget(thread: str, text: str, as_json: bool, **given: Any) -> None:
    """
    Take back a fact of THREAD: it is not told as one any more.

    TEXT is what it says, or the beginning of that where no other fact begins so. What was said stays
    in the log and in what is told of its turn. `sash undo` brings the fact back.
    """
    with changed_thread(thread, given) as it:
        before = it.facts()
        frame = it.forget(text)
        gone = set(before) - set(it.facts())
        told = {" ".join(fact.text.split()) for fact in gone}
        tell(it, frame, as_json=as_json, words="".join(f"Forgotten: {clean(words)}" for words in told))
