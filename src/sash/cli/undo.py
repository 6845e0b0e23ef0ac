"""`sash undo`: take back the newest thing that changed the head of a thread's window."""

from __future__ import annotations

from typing import Any

import click

from sash.cli.changing import changed_thread, changing, tell


@click.command()
@changing
def undo(thread: str, as_json: bool, **given: Any) -> None:
    """Take back the newest slide, compact, rewind, pin or forget of THREAD."""
    with changed_thread(thread, given) as it:
        tell(it, it.undo(), as_json=as_json)
