"""Where a command's result goes: stdout, or a file that is there whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def output_option(command: Command) -> Command:
    """The option `-o`."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option("-o", "--output", type=kind, metavar="FILE", help="Write here, not to stdout.")(command)


@contextmanager
def written_to(path: Path | None) -> Iterator[IO[bytes]]:
    """Where to write; a file takes its name when all of it is written, so that nobody reads half of one."""
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    except OSError as error:
        # Told of the file that was asked for: nobody knows the other.
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else _usual_mode())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _usual_mode() -> int:
    """What a new file would have got: temporary ones are their owner's alone."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
