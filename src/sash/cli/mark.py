"""`sash mark`, `sash rewind` and `sash fork`: places in a thread to come back to, or to go on from."""

from __future__ import annotations

from typing import Any

import click

from sash.cli.amount import amount
from sash.cli.changing import changed_thread, changing, tell
from sash.cli.number import EVENT
from sash.thread import Thread


@click.command()
@changing
@click.argument("label", default="")
def mark(thread: str, label: str, as_json: bool, **given: Any) -> None:
    """Mark the end of THREAD, so that `sash rewind` finds back."""
    with changed_thread(thread, given) as it:
        event = it.mark(label)
        name = f" as {label!r}" if label else ""
        tell(it, None, as_json=as_json, words=f"Marked{name}, at event {event}.", event=event)


@click.command()
@changing
@click.argument("label", required=False)
def rewind(thread: str, label: str | None, as_json: bool, **given: Any) -> None:
    """
    Go back in THREAD to a mark: the newest, or the newest with LABEL.

    What was said since leaves the window; the log keeps it, and `sash undo` brings it back.
    """
    with changed_thread(thread, given) as it:
        before = _said(it)
        frame = it.rewind(label)
        gone = before - _said(it)
        if gone:
            turns = amount(len({turn for turn, _ in gone}), "turn")
            words = f"{amount(len(gone), 'message')} of {turns} left; `sash undo` brings back what left."
        else:
            words = "Nothing was said since that mark: nothing left."
        tell(it, frame if gone or frame.freed or as_json else None, as_json=as_json, words=words)


def _said(thread: Thread) -> set[tuple[int, int]]:
    """The messages that no rewind has taken out: turn and number of each."""
    return {(event.turn, event.seq) for event in thread.standing() if event.kind == "message"}


@click.command()
@changing
@click.argument("name", required=False)
@click.option("--at", type=EVENT, metavar="EVENT", help="Right after this event; left out: as it is now.")
def fork(thread: str, name: str | None, at: int | None, as_json: bool, **given: Any) -> None:
    """
    Start a new thread that goes on from THREAD.

    What both share is stored once. Without NAME it is called after the place it goes on from.
    """
    with changed_thread(thread, given) as it:
        new = it.fork(name, at=at)
        tell(new, None, as_json=as_json, words=f"{new.name!r} goes on from {it.name!r}.", name=new.name)
