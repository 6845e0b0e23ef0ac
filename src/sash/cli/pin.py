"""`sash pin` and `sash unpin`: keep a turn in the window, whatever leaves it."""

from __future__ import annotations

from typing import Any

import click

from sash.cli.changing import changed_thread, changing, policy_option, tell
from sash.cli.number import TURN


@click.command()
@changing
@policy_option
@click.argument("turn", type=TURN)
def pin(thread: str, turn: int, as_json: bool, **given: Any) -> None:
    """
    Keep TURN of THREAD in the window.

    One that had left comes back. Pinned turns take at most pin_tokens together;
    `--set pin_tokens=5k` raises that for this thread.
    """
    with changed_thread(thread, given) as it:
        tell(it, it.pin(turn), as_json=as_json, words=f"Turn {turn} is pinned.")


@click.command()
@changing
@click.argument("turn", type=TURN)
def unpin(thread: str, turn: int, as_json: bool, **given: Any) -> None:
    """Let TURN of THREAD leave the window again."""
    with changed_thread(thread, given) as it:
        tell(it, it.unpin(turn), as_json=as_json, words=f"Turn {turn} is not pinned any more.")
