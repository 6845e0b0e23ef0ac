"""The table of commands. A command's file is imported when it is asked for, not before."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import click

from sash.meant import meant
from sash.version import __version__

COMMANDS = {
    "show": "sash.cli.show:show",
    "context": "sash.cli.context:context",
    "explain": "sash.cli.explain:explain",
    "pressure": "sash.cli.pressure:pressure",
    "bench": "sash.cli.bench:bench",
    "count": "sash.cli.count:count",
    "fit": "sash.cli.fit:fit",
    "replay": "sash.cli.replay:replay",
    "import": "sash.cli.importing:import_session",
    "export": "sash.cli.convert:export",
    "convert": "sash.cli.convert:convert",
    "threads": "sash.cli.threads:threads",
    "search": "sash.cli.search:search",
    "expand": "sash.cli.expand:expand",
    "compact": "sash.cli.compact:compact",
    "undo": "sash.cli.undo:undo",
    "delete": "sash.cli.delete:delete",
    "pin": "sash.cli.pin:pin",
    "unpin": "sash.cli.pin:unpin",
    "facts": "sash.cli.facts:facts",
    "remember": "sash.cli.facts:remember",
    "forget": "sash.cli.facts:forget",
    "mark": "sash.cli.mark:mark",
    "rewind": "sash.cli.mark:rewind",
    "fork": "sash.cli.mark:fork",
    "config": "sash.cli.config:config",
    "statusline": "sash.cli.statusline:statusline",
    "completion": "sash.cli.completion:completion",
    "doctor": "sash.cli.doctor:doctor",
    "backup": "sash.cli.backup:backup",
    "key": "sash.cli.key:key",
    "serve": "sash.cli.serve:serve",
    "worker": "sash.cli.worker:worker",
    "wrap": "sash.cli.wrap:wrap",
}
"""Name of a command: the `module:function` that it is."""


SECTIONS = {
    "Look into a session or a thread": "show context explain pressure count replay search expand",
    "Make something of it": "fit convert import export",
    "Change a stored thread": "threads compact undo pin unpin remember forget facts mark rewind fork",
    "Run": "serve wrap worker key",
    "Set up and look after": "config statusline completion doctor backup bench",
}
"""How `sash --help` groups the commands; one that stands nowhere is listed with the last."""


OF_A_WINDOW = ("--policy", "--history-tokens", "--window")
"""Options of commands that look at a window."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports only the one that runs."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, by what they are for."""
        rest = dict.fromkeys(self.list_commands(ctx))
        sections = {title: [name for name in names.split() if name in rest] for title, names in SECTIONS.items()}
        placed = {name for names in sections.values() for name in names}
        sections[next(reversed(sections))] += [name for name in rest if name not in placed]
        limit = formatter.width - 6 - max(map(len, rest))
        for title, names in sections.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, command.get_short_help_str(limit)) for name, command in commands if command is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was asked for; one that there is not is told with what may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = meant(args[0], COMMANDS)
            remedy = f" Did you mean {near!r}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{remedy}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every command, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name, imported now."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, function = place.partition(":")
        command = getattr(import_module(module), function)
        assert isinstance(command, click.Command), f"{place!r} is no click command"
        return command


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Read this file instead of the project's sash.toml.",
)
@click.option("--no-color", is_flag=True, help="No colour, also on a terminal; NO_COLOR does the same.")
@click.version_option(__version__, message="sash %(version)s")
def sash(config: Path | None, no_color: bool) -> None:  # noqa: ARG001 - commands ask the context for it
    """Keep an LLM conversation inside its budget: nothing lost, nothing refused, nothing cached paid for twice."""
    if no_color:
        os.environ["NO_COLOR"] = "1"


def misplaced(error: click.UsageError) -> click.UsageError | None:
    """What to say of an option that another place takes: before the command, or another command; None of any other."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return None
    if error.ctx.info_name == "count" and error.option_name in OF_A_WINDOW:
        told = f"count takes all that was said, so there is no {error.option_name}"
        return click.UsageError(f"{told}: `sash context` and `sash fit` count what is sent of it.", error.ctx)
    for option in sash.params:
        if isinstance(option, click.Option) and error.option_name in option.opts:
            value = "" if option.is_flag else " ..."
            where = f"`sash {error.option_name}{value} {error.ctx.info_name}`"
            return click.UsageError(f"{error.option_name} goes before the command: {where}.", error.ctx)
    return None
