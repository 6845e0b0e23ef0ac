"""`sash undo`: take back the newest slide of a thread, or the newest command that can be taken back."""

from __future__ import annotations

from typing import Any

import click

from sash.cli.changing import changed_thread, changing, tell
from sash.cli.sliding import SUSPENDED


@click.command()
@changing
def undo(thread: str, as_json: bool, **given: Any) -> None:
    """
    Take back the newest slide, compact, rewind, pin, unpin or forget of THREAD.

    Once a slide or a compact was undone, history may grow until the window is full, or until you compact.
    """
    with changed_thread(thread, given) as it:
        frame = it.undo()
        words = f"From here on history {SUSPENDED}." if it.explain().suspended else ""
        tell(it, frame, as_json=as_json, words=words)
