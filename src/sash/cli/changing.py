"""What the commands that change a thread have in common: they open it, act, and say what became of the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.options import STORED, from_settings, reports, set_option, settings_of
from sash.cli.screen import screen
from sash.cli.stored import stored_thread
from sash.core.because import because
from sash.core.frame import Frame
from sash.core.policy import Policy
from sash.core.tokens import TokenCount
from sash.errors import SashError
from sash.thread import Thread
from sash.thread.past import undone_by

Command = TypeVar("Command", bound=Callable[..., Any])


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did to a thread."""

    thread: str
    frame: Frame | None
    """The frame that it led to; null where nothing at the head of the window changed."""
    boundary: int
    """Number of the first live turn, from now on."""
    tokens: TokenCount
    """What history takes now."""
    event: int | None = None
    """Number of the event, of a mark."""
    name: str | None = None
    """Of a fork, the new thread."""


def changing(command: Command) -> Command:
    """The argument THREAD, where it is stored, and `--json`."""
    for decorate in (reports(Changed), from_settings(*STORED), click.argument("thread")):
        command = decorate(command)
    return command


policy_option = set_option("First change this in the thread's own policy, for good.")
"""For commands that a thread's policy may refuse, or that go by it."""


@contextmanager
def changed_thread(name: str, given: dict[str, Any]) -> Iterator[Thread]:
    """The thread, open for a change."""
    settings = settings_of(given, *STORED)
    for other, written in settings.given.items():
        if written.where.startswith("--") and other not in STORED and other not in Policy.__struct_fields__:
            raise click.BadParameter(f"{other} is nothing that a thread's policy has", param_hint="'--set'")
    with stored_thread(name.removeprefix("thread:"), settings) as thread:
        before = thread.setup.policy
        if settings.asked():
            thread.configure(policy=settings.asked_of(before))
        try:
            yield thread
        except (SashError, click.ClickException):
            # What was refused changes nothing, also not what was to be changed first.
            if thread.setup.policy != before:
                thread.configure(policy=before)
            raise


def tell(thread: Thread, frame: Frame | None, *, as_json: bool, words: str = "", **more: Any) -> None:
    """What became of the window."""
    explained = thread.context()
    row = explained.ledger.row("history")
    if as_json:
        answer(Changed(thread=thread.name, frame=frame, boundary=explained.boundary, tokens=row.used, **more))
        return
    out = screen()
    if words:
        out.paragraph(words)
    if frame is not None:
        before, after = (TokenCount(size, row.used.exact) for size in (frame.tokens_before, frame.tokens))
        sizes = f"history {before} → {after}"
        live = f"live from turn {frame.boundary}" if frame.boundary else "all turns live"
        why = because(frame, undone=undone_by(thread.tail.log).get(frame.number, ""))
        out.paragraph(f"frame {frame.number}: {why}; {sizes}, {live}")
    elif not words:
        out.paragraph("The window is as it was.")
