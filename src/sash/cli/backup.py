"""`sash backup`: a copy of the whole store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.screen import screen
from sash.cli.stored import store_of


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash backup --json` prints."""

    file: str
    bytes: int


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@from_settings(*STORED)
@reports(Copied)
def backup(file: Path, as_json: bool, **given: Any) -> None:
    """
    Copy the whole store into FILE, while others go on writing.

    The copy is of one moment, complete, and a store of its own: `--store sqlite:///FILE`. A file that
    is there already is not written over. PostgreSQL has its own tools for this: use pg_dump.
    """
    settings = settings_of(given, *STORED)
    if file.exists():
        raise click.BadParameter(f"{str(file)!r} is there already; choose another name", param_hint="FILE")
    with store_of(settings) as store:
        store.backup(file)
    copied = Copied(file=str(file), bytes=file.stat().st_size)
    if as_json:
        answer(copied)
        return
    screen().paragraph(f"{copied.bytes:,} bytes in {copied.file}")
