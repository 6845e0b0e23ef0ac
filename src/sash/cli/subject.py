"""What a command is asked about: a session file, a session of some tool, or a stored thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import click
import msgspec
from click.shell_completion import CompletionItem

from sash.cli.folded import Keep, Reading, Telling, fold, tell_file
from sash.cli.offered import chosen, is_session, session_names
from sash.core.explanation import Explanation
from sash.core.message import Message
from sash.core.tokens import Counter
from sash.errors import NotFound, UnreadableTranscript
from sash.settings import Settings
from sash.transcripts import FORMATS, Damage, Heading, Part, Usage
from sash.transcripts.places import Session, session_named
from sash.transcripts.source import FOLDER
from sash.window import Context, Prepared, Setup

Command = TypeVar("Command", bound=Callable[..., Any])

THREAD = "thread:"
"""Before a name it says that a stored thread is meant, whatever files there are."""
SESSIONS = "`sash show` without a name lists the sessions of tools on this machine"
"""Where to look for what was not found."""
ENDINGS = (".json", ".jsonl", ".zst", ".traj", ".db")
"""What ends so is meant as a file."""


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
    def messages(self) -> int:
        """All that was said and still stands."""

    @property
    def parts(self) -> Sequence[Part]:
        """The conversations in a file that holds several."""

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

    def upcoming(self) -> Prepared | None:
        """The request that `context` tells of; None where nothing can be sent yet."""

    def in_window(self) -> Iterator[tuple[int, Message]]:
        """All that the model sees, each message with its position; -1: sash wrote it."""

    @property
    def wire(self) -> str:
        """Whose JSON its messages are."""

    @property
    def asked(self) -> Mapping[str, bytes]:
        """Of a file that is one request's body: all its fields, those that hold the conversation empty."""

    @property
    def setup(self) -> Setup:
        """The model, the policy and what stands beside the conversation."""

    @property
    def moments(self) -> Mapping[int, float]:
        """When each message was said, by its position."""

    def heading(self) -> Heading:
        """What a session file made of it says about itself."""

    def prepared(self, wire: str) -> Prepared:
        """The request that it would make now."""

    def said(self, turn: int) -> Iterator[tuple[int, Message]]:
        """The messages of a turn, each with its position."""


class Located(msgspec.Struct, frozen=True, kw_only=True):
    """A session file that was found."""

    name: str
    """As it is told."""
    path: Path | None
    """None: standard input."""
    part: str = ""
    """The session in it, of a file with several."""

    def given(self) -> str | IO[bytes]:
        """What to read."""
        return sys.stdin.buffer if self.path is None else str(self.path)

    def reading(self, asked: Reading) -> Reading:
        """How to read it."""
        return asked if asked.part or not self.part else msgspec.structs.replace(asked, part=self.part)


class SubjectType(click.ParamType[str]):
    """The name of a subject, which a shell can complete."""

    name = "subject"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Sessions of tools, and files."""
        names = [CompletionItem(name) for name in session_names() if name.startswith(incomplete)]
        return names or [CompletionItem(incomplete, type="file")]


def subject_argument(*, required: bool = True) -> Callable[[Command], Command]:
    """The argument SUBJECT."""
    return click.argument("subject", type=SubjectType(), required=required)


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


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a subject beside its window."""

    turn: int | None = None
    """The messages of this turn are kept."""
    everything: bool = False
    """All messages are kept."""
    whole: bool = False
    """The window is as if nothing had left it."""
    begins: Callable[[str, str], None] | None = None
    """Is told the name and the title of a session that can be read, before all of it is."""

    def keep(self) -> Keep | None:
        """What stays of a file that is read once."""
        if self.everything:
            return _all
        return None if self.turn is None else lambda told: told.turn == self.turn


WINDOW_ONLY = Wanted()


@contextmanager
def opened(name: str | None, settings: Settings, reading: Reading, wanted: Wanted = WINDOW_ONLY) -> Iterator[Subject]:
    """
    The subject of that name, open as long as it is looked at.

    Of a file that is read once, only the window stays, and what is wanted. A stored thread is
    shown as it is stored, unless a flag asks what another policy would do.
    """
    place = _of_session(chosen()) if name is None else located(name, settings)
    if place is not None:
        telling = tell_file(place.name, place.given(), settings, place.reading(reading))
        if wanted.begins is not None:
            wanted.begins(telling.name, telling.transcript.title if telling.transcript is not None else "")
        yield fold(telling, wanted.keep(), whole=wanted.whole)
        return
    from sash.cli.stored import Stored, stored_thread, tell_thread, told_apart

    assert name is not None
    with stored_thread(name.removeprefix(THREAD), settings) as thread:
        if wanted.begins is not None:
            wanted.begins(thread.name, Stored(thread).title)
        if not (wanted.whole or settings.asked()):
            yield Stored(thread)
            return
        folded = fold(tell_thread(thread, settings), wanted.keep(), whole=wanted.whole)
        if not settings.asked():
            told_apart(thread, folded.window)
        yield folded


@contextmanager
def telling_of(name: str, settings: Settings, reading: Reading) -> Iterator[Telling]:
    """What was said in a subject, to go through it."""
    place = located(name, settings)
    if place is not None:
        yield tell_file(place.name, place.given(), settings, place.reading(reading))
        return
    from sash.cli.stored import stored_thread, tell_thread

    with stored_thread(name.removeprefix(THREAD), settings) as thread:
        yield tell_thread(thread, settings)


def located(name: str, settings: Settings) -> Located | None:
    """The file that a name stands for; None when it is a stored thread's. `NotFound` when it is neither."""
    if name == "-":
        return Located(name="standard input", path=None)
    if name.startswith(THREAD):
        return None
    path = Path(name).expanduser()
    folder = path.is_dir()
    if path.exists() and not folder:
        # Also a pipe: `sash show <(...)`.
        return Located(name=name, path=path)
    if is_session(name):
        return _of_session(session_named(name))
    if "/" in name or path.suffix in ENDINGS:
        raise UnreadableTranscript(name, FOLDER) if folder else NotFound("file", name)
    from sash.cli.stored import has_thread

    if not has_thread(name, settings):
        if folder:
            raise UnreadableTranscript(name, FOLDER)
        raise NotFound("session file and no stored thread", name, f"`sash threads` lists threads, {SESSIONS}")
    return None


def _of_session(session: Session) -> Located:
    return Located(name=session.name, path=session.path, part=session.part)


def _all(_: object) -> bool:
    return True
