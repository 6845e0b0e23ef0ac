"""What is wrong with a file, told at the end: never silent, never fatal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sash.cli.amount import amount
from sash.cli.characters import clean
from sash.cli.screen import Screen
from sash.transcripts import Damage

LISTED = 5


def print_damage(out: Screen, damage: Sequence[Damage], damaged: int) -> None:
    """The first places that do not read as they stand, and how many there are."""
    if not damaged:
        return
    out.say()
    out.paragraph(f"{_places(damaged)}; what can be read of the file was:", "yellow")
    for hurt in damage[:LISTED]:
        where = f"line {hurt.line}: " if hurt.line else ""
        out.say(out.cut(f"  {where}{clean(hurt.why)}", out.width), "dim")
    if damaged > LISTED:
        out.say(f"  and {damaged - LISTED:,} more", "dim")


def tell_damage(damage: Sequence[Damage], damaged: int) -> None:
    """The same beside what a command writes: one line on stderr."""
    if damaged:
        places = "; ".join(f"line {hurt.line}: {hurt.why}" if hurt.line else hurt.why for hurt in damage[:LISTED])
        more = f"; and {damaged - LISTED:,} more" if damaged > LISTED else ""
        click.echo(f"{_places(damaged)}; what cannot be read is left out: {clean(places)}{more}", err=True)


def _places(damaged: int) -> str:
    return f"{amount(damaged, 'place')} {'is' if damaged == 1 else 'are'} damaged"
