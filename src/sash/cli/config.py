"""`sash config`: every setting, its value, and where that comes from."""

from __future__ import annotations

import os
from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.options import STORED, WINDOW, from_settings, reports, settings_of
from sash.cli.places import near
from sash.cli.screen import Screen, screen
from sash.cli.table import Cell, Column, print_table
from sash.counters import counter_under
from sash.errors import InvalidSetting, UnknownCounter, UnknownFamily
from sash.settings import SETTINGS, Settings, Value, misspelled, setting_named
from sash.settings.kinds import shown, wanted

LONGEST = 34
"""Columns of a value at the most: some are tables."""


class ShownSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting, as `sash config --json` tells it."""

    name: str
    value: object
    """Passwords are left out; null: nothing is set."""
    where: str
    """The flag, the variable, the file and line, `policy NAME`, or `default`."""
    variable: str
    help: str


class ShownSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash config --json` prints."""

    settings: tuple[ShownSetting, ...]
    files: tuple[str, ...]
    """What was read, the one that counts more first."""


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Also what nobody has set.")
@from_settings(*WINDOW, *STORED)
@reports(ShownSettings)
def config(name: str | None, everything: bool, as_json: bool, **given: Any) -> None:
    """
    Show each setting's value and where it comes from.

    A flag counts more than an environment variable (SASH_ and the name in capitals), that more
    than the project's sash.toml, that more than your own config.toml, and that more than the
    default. With NAME, only that setting: what it is for, and what it takes.
    """
    # Looked at as a whole: what cannot be meant is to fail here and not later.
    for problem in misspelled(os.environ):
        raise problem
    settings = settings_of(given, *WINDOW, *STORED)
    settings.marks()
    _count(settings)
    values = settings.values()
    if name is not None:
        wanted_name = setting_named(name).name
        values = tuple(value for value in values if value.name == wanted_name)
    if as_json:
        answer(ShownSettings(settings=tuple(map(_shown, values)), files=tuple(map(str, settings.files))))
    elif name is not None:
        _explain(values[0])
    else:
        _list(settings, [value for value in values if everything or value.where != "default"], everything)


def _count(settings: Settings) -> None:
    """Look who would count: a counter that is not there is an error, a model that nobody knows may be a mistake."""
    model = settings.text("model")
    try:
        choice = counter_under(settings.policy(), model)
    except (UnknownCounter, UnknownFamily) as error:
        problem = f"is {error.name!r}; it takes one of {', '.join(error.known)}"
        raise InvalidSetting("counter", where=settings.where("counter"), problem=problem) from None
    if model and not choice.model.read_as:
        window = f"{choice.model.window:,} tokens{', a default' if choice.model.default_window else ''}"
        told = f"no model {model!r} is known; it is estimated, with a window of {window}"
        click.echo(f"sash: {clean(settings.where('model'))}: {clean(told)}", err=True)


def _shown(value: Value) -> ShownSetting:
    setting = setting_named(value.name)
    plain = shown(setting, value.value) if setting.secret else value.value
    return ShownSetting(
        name=value.name,
        value=plain if plain != "" else None,
        where=value.where,
        variable=setting.variable,
        help=setting.help,
    )


def _explain(value: Value) -> None:
    out = screen()
    setting = setting_named(value.name)
    out.say(f"{value.name} = {clean(value.text) or '(not set)'}", "bold")
    out.paragraph(setting.help)
    out.paragraph(f"It takes {wanted(setting)}. Set it with {setting.variable}, or in a file as {setting.name}.")
    out.paragraph(f"Now from: {clean(value.where)}")


def _list(settings: Settings, values: list[Value], everything: bool) -> None:
    out = screen()
    columns = (
        Column(title="setting"),
        Column(title="value"),
        Column(title="from", gives_way=True, least=10),
    )
    rows = [[Cell(value.name), _value(out, value), Cell(clean(near(value.where)), "dim")] for value in values]
    if rows:
        print_table(out, columns, rows)
        out.say()
    for path in settings.files:
        out.say(out.cut(f"read {clean(near(str(path)))}", out.width))
    if not settings.files:
        out.paragraph("No sash.toml here and no config.toml of yours was found.")
    if not everything:
        out.paragraph(f"{len(SETTINGS) - len(values)} others are at their defaults: `sash config --all`.", "dim")


def _value(out: Screen, value: Value) -> Cell:
    if value.text:
        return Cell(out.cut(clean(value.text), LONGEST), "bold")
    return Cell(setting_named(value.name).meaning or "-", "dim")
