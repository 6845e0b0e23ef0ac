"""A session file, folded: read once from front to back, and never kept whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO

import msgspec

from sash.cli.progress import Progress
from sash.core.explain import Explanation
from sash.core.message import Message
from sash.core.request import assemble
from sash.core.tokens import Counter
from sash.core.turn import Placing
from sash.settings import Settings
from sash.transcripts import Damage, Entry, Transcript, Usage, open_transcript
from sash.window import Context, Setup, Window

PATIENCE = 200
"""So many entries are looked at for the name of a model before one is taken for unknown."""

Keep = Callable[["Told"], bool]
Watch = Callable[["Told"], None]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is to be read."""

    format: str = ""
    """Left empty, it is told by what stands in the file."""
    part: str = ""
    """One of several conversations in it."""
    as_sent: bool = False
    """What the tool's own model saw, its compactions applied."""


class Told(msgspec.Struct, frozen=True):
    """A message of the log, and where it belongs."""

    position: int
    turn: int
    entry: Entry

    @property
    def message(self) -> Message:
        """What was said."""
        return self.entry.message


class Folded(msgspec.Struct, kw_only=True):
    """A session and the window on it."""

    name: str
    transcript: Transcript
    window: Window
    times: dict[int, float]
    """When each turn was started, where the file says so."""
    kept: list[Told]
    """What was asked to be kept while reading."""
    reported: Usage | None = None
    """The newest usage that the provider reported."""
    messages: int = 0
    compactions: int = 0
    """That the tool made itself."""

    @property
    def kind(self) -> str:
        """The format of the file."""
        return self.transcript.format

    @property
    def title(self) -> str:
        """As the tool calls the session."""
        return self.transcript.title

    @property
    def model(self) -> str:
        """The model it is counted for."""
        return self.window.setup.model

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Places that could not be read."""
        return tuple(self.transcript.damage)

    @property
    def damaged(self) -> int:
        """How many there are."""
        return self.transcript.damaged

    def context(self) -> Context:
        """Where the tokens of the next request go."""
        return self.window.context()

    @property
    def counter(self) -> Counter:
        """What counts."""
        return self.window.counter

    def explain(self) -> Explanation:
        """Why everything is where it is; of results that left only where all was kept."""
        whole = len(self.kept) == len(self.window.fold)
        return self.window.explain([told.message for told in self.kept] if whole else ())

    def in_window(self) -> Iterator[tuple[int, Message]]:
        """All that the model sees, each message with its position; -1: sash wrote it."""
        assembled = assemble(self.window.fold)
        yield from zip(assembled.origins, assembled.messages, strict=True)

    def said(self, turn: int) -> Iterator[tuple[int, Message]]:
        """The messages of a turn: of one that left, if they were kept."""
        live = self.window.fold.turns.get(turn)
        if live is not None:
            yield from ((message.position, message.came or message.message) for message in live.messages())
        else:
            yield from ((told.position, told.message) for told in self.kept if told.turn == turn)


def entries_of(given: str | IO[bytes], reading: Reading) -> tuple[Transcript, Iterator[Entry]]:
    """A transcript and its entries."""
    transcript = open_transcript(given, format=reading.format, part=reading.part)
    return transcript, transcript.messages(as_sent=reading.as_sent)


def setup_for(transcript: Transcript, entries: Iterator[Entry], settings: Settings) -> tuple[Setup, Iterator[Entry]]:
    """
    The setup for a session, and its entries from the first on.

    The model is the one that was set, or the first that the session names: it decides what
    a token is, so it has to be known before the first message is counted.
    """
    model, ahead = settings.text("model"), list[Entry]()
    for entry in entries if not model else ():
        ahead.append(entry)
        model = entry.model or transcript.model
        if model or len(ahead) >= PATIENCE:
            break
    system = (transcript.system,) if transcript.system is not None else ()
    setup = Setup(model=model, policy=settings.policy(), system=system, tools=transcript.tools)
    return setup, chain(ahead, entries)


def fold_transcript(
    name: str, given: str | IO[bytes], settings: Settings, reading: Reading, keep: Keep | None = None
) -> Folded:
    """Reads a session to its end; of its messages only what the window holds, and what is to be kept, stays."""
    transcript, entries = entries_of(given, reading)
    setup, entries = setup_for(transcript, entries, settings)
    folded = Folded(name=name, transcript=transcript, window=Window(setup), times={}, kept=[])
    with Progress(f"reading {name}") as progress:
        for told in placed(entries):
            entry = told.entry
            folded.window.add(entry.message, entry.at)
            if entry.at is not None and told.turn not in folded.times:
                folded.times[told.turn] = entry.at
            if entry.usage is not None:
                folded.reported = entry.usage
            folded.messages += entry.kind in ("message", "injected")
            folded.compactions += entry.kind == "compaction"
            if keep is not None and keep(told):
                folded.kept.append(told)
            progress.at(told.position)
    return folded


def placed(entries: Iterable[Entry]) -> Iterator[Told]:
    """Each entry with its position in the log and the turn it belongs to."""
    placing = Placing()
    for position, entry in enumerate(entries):
        yield Told(position, placing.add(entry.message).turn, entry)
