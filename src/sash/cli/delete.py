"""`sash delete`: a thread leaves the store for good."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.changing import changed_thread
from sash.cli.characters import clean
from sash.cli.options import STORED, from_settings, reports
from sash.cli.screen import screen


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash delete --json` prints."""

    thread: str
    events: int
    """How many its log had."""


@click.command()
@click.argument("thread")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@from_settings(*STORED)
@reports(Deleted)
def delete(thread: str, yes: bool, as_json: bool, **given: Any) -> None:
    """
    Delete THREAD with all that belongs to it, also what a search would find.

    Nothing brings it back. What forks of it begin with stays with them. Asks first; where nobody can be
    asked it takes --yes.
    """
    with changed_thread(thread, given) as it:
        deleted = Deleted(thread=it.name, events=it.seq)
        if not yes:
            if not sys.stdin.isatty():
                raise click.UsageError(f"say --yes to delete thread {deleted.thread!r}: nothing brings it back")
            click.confirm(f"Delete {clean(deleted.thread)!r} with its {deleted.events:,} events?", abort=True, err=True)
        it.delete()
    if as_json:
        answer(deleted)
    else:
        screen().paragraph(f"{clean(deleted.thread)} is deleted.")
