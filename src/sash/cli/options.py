"""Options that several commands share, made from the table of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from sash.settings import Setting, Settings, Written, load, setting_named

Command = TypeVar("Command", bound=Callable[..., Any])


def reports(kind: type[msgspec.Struct]) -> Callable[[Command], Command]:
    """The option `--json`, which prints one object of this kind; its page tells what is in it."""

    def decorated(command: Command) -> Command:
        option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
        command.reports = kind  # type: ignore[attr-defined]  # a function takes any attribute
        return option(command)

    return decorated


WINDOW = ("model", "policy", "history_tokens", "window", "counter")
"""What people change when they ask what a window would do."""
STORED = ("store", "tenant")


def from_settings(*names: str) -> Callable[[Command], Command]:
    """
    An option for each of these settings; and `--set` for all that have none of their own.

    A command that only wants to know where threads are kept has nothing else that could be set.
    """

    def decorated(command: Command) -> Command:
        if set(names) - set(STORED):
            command = set_option("Set anything that `sash config` lists.")(command)
        for name in reversed(names):
            command = _option(setting_named(name))(command)
        return command

    return decorated


def set_option(help_text: str) -> Callable[[Command], Command]:
    """The option `--set`."""
    return click.option("--set", "also", multiple=True, metavar="NAME=VALUE", help=help_text)


def _option(setting: Setting) -> Callable[[Command], Command]:
    short = {"model": ("-m",)}.get(setting.name, ())
    kind = click.Choice(setting.choices) if setting.choices else str
    metavar = None if setting.choices else {"number": "N", "port": "N", "share": "SHARE"}.get(setting.kind, "TEXT")
    if setting.kind == "switch":
        flag = setting.flag
        return click.option(f"{flag}/--no-{flag[2:]}", setting.name, default=None, help=setting.help)
    return click.option(*short, setting.flag, setting.name, type=kind, metavar=metavar, help=setting.help, default=None)


def settings_of(options: dict[str, Any], *names: str) -> Settings:
    """
    The settings in force for a command that was given these options.

    Takes its own out of `options`: what is left is the command's.
    """
    flags: dict[str, object] = {name: options.pop(name, None) for name in names}
    for pair in options.pop("also", ()):
        name, sign, value = pair.partition("=")
        if not sign:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="'--set'")
        flags[setting_named(name.strip(), where="--set").name] = Written(value.strip(), "--set")
    context = click.get_current_context(silent=True)
    config = (context.find_root().params.get("config") if context is not None else None) or None
    settings = load(flags, config=config)
    for warning in settings.warnings:
        click.echo(f"sash: {warning}", err=True)
    return settings
