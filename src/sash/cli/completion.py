"""`sash completion`: what a shell needs to complete our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

VARIABLE = "_SASH_COMPLETE"
"""Set by the shell's script when it asks for completions."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """
    Print the completion script of a SHELL.

    Put this into the shell's start file:

    \b
        eval "$(sash completion bash)"              # ~/.bashrc
        eval "$(sash completion zsh)"               # ~/.zshrc
        sash completion fish | source               # ~/.config/fish/config.fish
    """
    root = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None, "click knows all three"
    click.echo(kind(root.command, {}, "sash", VARIABLE).source())
