"""A session, folded: gone through once from front to back, and never kept whole."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import IO

import msgspec

from sash.cli.progress import Progress
from sash.cli.written import heading_for
from sash.core.budget import LARGEST
from sash.core.explanation import Explanation
from sash.core.message import Message
from sash.core.request import assemble
from sash.core.tokens import Counter
from sash.core.turn import SYSTEM, Placing
from sash.errors import UnknownTranscript
from sash.settings import Settings
from sash.transcripts import Damage, Entry, Heading, Part, Transcript, Usage, open_transcript
from sash.transcripts.request_body import answer_of, goes_on
from sash.transcripts.sniff import format_of
from sash.transcripts.source import Source
from sash.window import Context, Prepared, Setup, Window

AHEAD = 100
"""So many entries are looked at for the name of a model before the first is counted."""

Keep = Callable[["Told"], bool]


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

    @property
    def was_said(self) -> bool:
        """Whether it is one of the messages that people count: neither system prompt nor note."""
        return self.turn != SYSTEM and self.message.role != "meta"


class Telling(msgspec.Struct, kw_only=True):
    """Something said, about to be gone through: the setup for it, and its entries from the first on."""

    name: str
    setup: Setup
    entries: Iterator[Entry]
    transcript: Transcript | None = None
    """The file it stands in; None of a stored thread."""


class Folded(msgspec.Struct, kw_only=True):
    """A session and the window on it."""

    name: str
    window: Window
    transcript: Transcript | None = None
    times: dict[int, float] = msgspec.field(default_factory=dict)
    """When each turn was started, where that is known."""
    moments: dict[int, float] = msgspec.field(default_factory=dict)
    """When each message was said, by its position."""
    kept: list[Told] = msgspec.field(default_factory=list)
    """What was asked to be kept while reading."""
    reported: Usage | None = None
    """The newest usage that the provider reported."""
    messages: int = 0
    """All that was said: neither the system prompt nor what the tool notes between."""
    messages_in: Counts[int] = msgspec.field(default_factory=Counts)
    """How many of them each turn has."""
    compactions: int = 0
    """That the tool made itself."""

    @property
    def kind(self) -> str:
        """The format of the file."""
        return self.transcript.format if self.transcript is not None else "thread"

    @property
    def title(self) -> str:
        """As the tool calls the session."""
        return self.transcript.title if self.transcript is not None else ""

    @property
    def model(self) -> str:
        """The model it is counted for."""
        return self.window.setup.model

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Places that could not be read."""
        return tuple(self.transcript.damage) if self.transcript is not None else ()

    @property
    def damaged(self) -> int:
        """How many there are."""
        return self.transcript.damaged if self.transcript is not None else 0

    @property
    def parts(self) -> tuple[Part, ...]:
        """The conversations in a file that holds several."""
        return self.transcript.parts if self.transcript is not None else ()

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
        explained = self.window.explain([told.message for told in self.kept] if whole else ())
        # In a window a note takes a place as a message does, and nobody calls it one.
        turns = [msgspec.structs.replace(turn, messages=self.messages_in[turn.number]) for turn in explained.turns]
        return msgspec.structs.replace(explained, turns=tuple(turns))

    @property
    def wire(self) -> str:
        """Whose JSON its messages are."""
        return self.transcript.wire if self.transcript is not None else "openai-chat"

    @property
    def asked(self) -> Mapping[str, bytes]:
        """Of a request's body: its fields."""
        return self.transcript.asked if self.transcript is not None else {}

    @property
    def setup(self) -> Setup:
        """The model, the policy and what stands beside the conversation."""
        return self.window.setup

    def heading(self) -> Heading:
        """What a session file made of it says about itself."""
        return heading_for(self.name, self.setup, self.transcript)

    def prepared(self, wire: str) -> Prepared:
        """The request that it would make now."""
        return self.window.prepared(wire)

    def upcoming(self) -> Prepared | None:
        """The request that `context` tells of; None where nothing can be sent yet."""
        return self.window.upcoming()

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


def tell_file(name: str, given: str | IO[bytes] | Source, settings: Settings, reading: Reading) -> Telling:
    """
    A session file, about to be gone through.

    The model is the one that was set, or the one that speaks most at the beginning: it decides
    what a token is, so it has to be known before the first message is counted.
    """
    source = given if isinstance(given, Source) else Source(given)
    transcript = open_transcript(source, format=reading.format, part=reading.part)
    entries = transcript.messages(as_sent=reading.as_sent)
    # At least one is read: with it comes what the file says about itself.
    ahead = list(islice(entries, 1 if settings.text("model") else AHEAD))
    if not ahead and reading.format and source.size:
        found = format_of(source)
        if found != reading.format and (found or transcript.damaged):
            raise UnknownTranscript(transcript.name, format=reading.format, found=found)
    spoke = Counts(entry.model for entry in ahead if entry.model).most_common(1)
    model = settings.text("model") or (spoke[0][0] if spoke else transcript.model)
    system = (transcript.system,) if transcript.system is not None else ()
    setup = Setup(
        model=model,
        policy=settings.policy(),
        system=system,
        tools=transcript.tools,
        answer=answer_of(transcript.asked),
        continued=goes_on(transcript.asked),
    )
    return Telling(name=name, setup=setup, entries=chain(ahead, entries), transcript=transcript)


def fold(telling: Telling, keep: Keep | None = None, *, whole: bool = False) -> Folded:
    """
    Goes through to the end; of the messages only what the window holds, and what is to be kept, stays.

    Of a `whole` session nothing leaves the window and nothing is shortened, however full it is.
    """
    setup = _for_all_of_it(telling.setup) if whole else telling.setup
    folded = Folded(name=telling.name, window=Window(setup), transcript=telling.transcript)
    with Progress(f"reading {telling.name}") as progress:
        for told in placed(telling.entries):
            entry = told.entry
            folded.window.add(entry.message, entry.at, held=whole)
            if entry.at is not None:
                folded.moments[told.position] = entry.at
                folded.times.setdefault(told.turn, entry.at)
            if entry.usage is not None:
                folded.reported = entry.usage
            folded.messages += told.was_said
            folded.messages_in[told.turn] += told.was_said
            folded.compactions += entry.kind == "compaction"
            if keep is not None and keep(told):
                folded.kept.append(told)
            progress.at(told.position)
    return folded


def _for_all_of_it(setup: Setup) -> Setup:
    """A setup under which nothing is shortened as it comes in, and a flat prompt has room for every turn."""
    policy = msgspec.structs.replace(setup.policy, record_over_tokens=0, recent_turns=0, max_chars=LARGEST)
    return msgspec.structs.replace(setup, policy=policy)


def placed(entries: Iterable[Entry]) -> Iterator[Told]:
    """Each entry with its position in the log and the turn it belongs to."""
    placing = Placing()
    for position, entry in enumerate(entries):
        yield Told(position, placing.add(entry.message).turn, entry)
