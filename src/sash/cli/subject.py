"""What a command is asked about: a session file, a session of some tool, or a stored thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from sash.cli.folded import Keep, Reading, fold_transcript
from sash.core.explain import Explanation
from sash.core.message import Message
from sash.core.tokens import Counter
from sash.errors import NotFound
from sash.settings import Settings
from sash.transcripts import FORMATS, Damage, Usage
from sash.window import Context

Command = TypeVar("Command", bound=Callable[..., Any])


class Subject(Protocol):
    """A session or a thread, and the window on it."""

    @property
    def name(self) -> str:
        """What it was asked for by."""

    @property
    def kind(self) -> str:
        """The format of a file; `thread` of a stored one."""

    @property
    def title(self) -> str:
        """What the tool, or the user, calls it."""

    @property
    def model(self) -> str:
        """The model it is counted for."""

    @property
    def counter(self) -> Counter:
        """What counts."""

    @property
    def times(self) -> Mapping[int, float]:
        """When each turn was started."""

    @property
    def damage(self) -> Sequence[Damage]:
        """Places of a file that could not be read."""

    @property
    def damaged(self) -> int:
        """How many there are."""

    @property
    def compactions(self) -> int:
        """That the tool made itself."""

    @property
    def reported(self) -> Usage | None:
        """The newest usage that the provider reported."""

    def context(self) -> Context:
        """Where the tokens of the next request go."""

    def explain(self) -> Explanation:
        """Why everything is where it is."""

    def in_window(self) -> Iterator[tuple[int, Message]]:
        """All that the model sees, each message with its position; -1: sash wrote it."""

    def said(self, turn: int) -> Iterator[tuple[int, Message]]:
        """The messages of a turn, each with its position."""


def subject_argument(*, required: bool = True) -> Callable[[Command], Command]:
    """The argument SUBJECT."""
    return click.argument("subject", required=required)


def reading_options(command: Command) -> Command:
    """How a session file is read."""
    options = (
        click.option(
            "--format",
            "format_",
            type=click.Choice(sorted(FORMATS)),
            help="The file's format; else its content tells.",
        ),
        click.option("--part", metavar="NAME", help="One of several conversations in the file: a branch, a session."),
        click.option("--as-sent", is_flag=True, help="What the tool's own model saw: with the tool's compactions."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def take_reading(given: dict[str, Any]) -> Reading:
    """How the file is to be read, taken out of a command's options."""
    return Reading(
        format=given.pop("format_", None) or "", part=given.pop("part", None) or "", as_sent=given.pop("as_sent", False)
    )


@contextmanager
def opened(
    name: str, settings: Settings, reading: Reading, *, turn: int | None = None, everything: bool = False
) -> Iterator[Subject]:
    """
    The subject of that name, open as long as it is looked at.

    Of a file that is read once, only the window stays; with a `turn`, that turn's messages
    too, and with `everything`, all of them.
    """
    keep: Keep | None = None
    if everything:
        keep = _all
    elif turn is not None:
        keep = lambda told: told.turn == turn  # noqa: E731 - a name for it would say less
    if name == "-":
        yield fold_transcript("standard input", sys.stdin.buffer, settings, reading, keep)
        return
    yield fold_transcript(name, str(file_of(name)), settings, reading, keep)


def file_of(name: str) -> Path:
    """The file that a name stands for."""
    path = Path(name).expanduser()
    if not path.exists():
        raise NotFound("file", name)
    return path


def _all(_: object) -> bool:
    return True
