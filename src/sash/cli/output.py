"""Where a command's result goes: stdout, or a file that is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def output_option(command: Command) -> Command:
    """The option `-o`."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option("-o", "--output", type=kind, metavar="FILE", help="Write here, not to stdout.")(command)


def put(pieces: Iterable[bytes], path: Path | None) -> None:
    """Writes the pieces; a file takes its name when all of it is written, so that nobody reads half of one."""
    if path is None:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
        if path.exists():
            Path(name).chmod(path.stat().st_mode & 0o777)
        else:
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
