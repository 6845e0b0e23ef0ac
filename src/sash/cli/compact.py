"""`sash compact`: slide the window of a thread now, or show what that would do."""

from __future__ import annotations

from typing import Any

import click

from sash.cli.changing import changed_thread, changing, policy_option, tell


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what it would do.")
@policy_option
@changing
def compact(thread: str, dry_run: bool, as_json: bool, **given: Any) -> None:
    """
    Slide the window of THREAD now.

    What leaves it stays in the log: `sash undo` takes it back.
    """
    if dry_run and given["also"]:
        raise click.UsageError(
            "--set changes the thread: `sash show THREAD --set ...` asks what another policy would do"
        )
    with changed_thread(thread, given) as it:
        frame = it.compact(dry_run=dry_run)
        words = "It would do this; nothing was changed." if dry_run and frame is not None else ""
        tell(it, frame, as_json=as_json, words=words)
