"""`sash count`: how many tokens a text or a conversation takes, and where they go."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.damage import print_damage
from sash.cli.folded import Reading, Telling, tell_file
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.progress import Progress
from sash.cli.screen import Screen, screen
from sash.cli.spoken import NOTHING_SAID
from sash.cli.subject import THREAD, Located, located, reading_options, subject_argument, take_reading
from sash.cli.table import Column, print_table
from sash.core.tokens import TokenCount, short
from sash.counters import Choice, counter_under
from sash.counting import Tally, Tallying, ask, model_named, tally
from sash.errors import InvalidMessage, UnknownCounter, UnreadableTranscript
from sash.settings import Settings
from sash.transcripts import FORMATS, Damage
from sash.transcripts.document import LARGEST
from sash.transcripts.sniff import SQLITE, ends_in_the_middle, format_of
from sash.transcripts.source import Source
from sash.wire import WIRES, Conversation, read

COUNTED = ("model", "counter")
SESSIONS = frozenset(FORMATS) - frozenset(WIRES)
"""Formats of tools; what is written as a provider takes it is counted as the request that it is."""
LARGE = 1 << 26
"""Bytes from which messages are gone through one by one, not read at once."""


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    subject: str | None
    text: str | None
    wire: str | None
    plain: bool
    as_json: bool


class CountedBy(msgspec.Struct, frozen=True, kw_only=True):
    """What counted."""

    id: str
    version: str
    why: str


class CountedModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model that it was counted for."""

    name: str
    window: int
    default_window: bool
    """Nobody knows the model: the window is a default."""
    max_output: int | None


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash count --json` prints."""

    total: TokenCount
    counter: CountedBy
    model: CountedModel
    by_role: dict[str, TokenCount] | msgspec.UnsetType = msgspec.UNSET
    """Of messages; bare words have none of the following."""
    by_type: dict[str, TokenCount] | msgspec.UnsetType = msgspec.UNSET
    messages: int | msgspec.UnsetType = msgspec.UNSET
    """As `sash show` counts them: without the system prompt."""
    turns: int | msgspec.UnsetType = msgspec.UNSET
    """That the user started; what was said before is turn 0 and not counted."""
    kind: str | msgspec.UnsetType = msgspec.UNSET
    """The format of a session file; `thread` of a stored one."""
    damaged: int | msgspec.UnsetType = msgspec.UNSET
    """Places of a session file that could not be read."""
    note: str | msgspec.UnsetType = msgspec.UNSET
    """What was wrong with what was taken for text."""


class _Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command has to say."""

    total: TokenCount
    counter: str
    version: str
    why: str
    choice: Choice
    tally: Tally | None = None
    kind: str = ""
    damage: tuple[Damage, ...] = ()
    damaged: int = 0
    note: str = ""

    def shown(self) -> Counted:
        """As `--json` prints it."""
        model, divided = self.choice.model, self.tally
        return Counted(
            total=self.total,
            counter=CountedBy(id=self.counter, version=self.version, why=self.why),
            model=CountedModel(
                name=model.name,
                window=model.window,
                default_window=model.default_window,
                max_output=model.limits.max_output,
            ),
            by_role=dict(divided.by_role) if divided else msgspec.UNSET,
            by_type=dict(divided.by_type) if divided else msgspec.UNSET,
            messages=divided.messages if divided else msgspec.UNSET,
            turns=divided.turns if divided else msgspec.UNSET,
            kind=self.kind or msgspec.UNSET,
            damaged=self.damaged if self.kind else msgspec.UNSET,
            note=self.note or msgspec.UNSET,
        )


@click.command()
@subject_argument(required=False)
@click.option("-t", "--text", help="Count these words instead of a file.")
@click.option("--wire", type=click.Choice(sorted(WIRES)), help="How the messages are written; guessed when left out.")
@click.option("--plain", is_flag=True, help="Count the words as they stand, also when they are JSON.")
@reading_options
@from_settings(*COUNTED, *STORED)
@reports(Counted)
def count(**asked: Any) -> None:
    """
    Count the tokens of SUBJECT, of standard input, or of --text.

    A session file, a session of a tool (claude:latest), a stored thread, a JSON list of messages,
    a whole request body or a file with one message per line is counted as it would be sent, all
    of it, by role and by type of block. Anything else is text. A `~` marks an estimate.
    """
    settings = settings_of(asked, *COUNTED, *STORED)
    reading = take_reading(asked)
    options = msgspec.convert(asked, _Options)
    try:
        if options.text is not None:
            counted = _of_words(options, settings)
        elif (place := _located(options, settings)) is None:
            counted = _of_thread(options.subject or "", settings)
        else:
            counted = _of_file(place, options, settings, reading)
    except UnknownCounter as error:
        raise click.BadParameter(str(error), param_hint="'--counter'") from None
    if options.as_json:
        answer(counted.shown())
    else:
        _print(counted)


def _of_words(options: _Options, settings: Settings) -> _Counted:
    if options.subject is not None:
        raise click.UsageError("give a SUBJECT or --text, not both")
    content = (options.text or "").encode("utf-8", "surrogatepass")
    given = read(_listed(content), options.wire) if options.wire and not options.plain else _words(content)
    return _counted(given, settings)


def _located(options: _Options, settings: Settings) -> Located | None:
    if options.subject is None and sys.stdin.isatty():
        raise click.UsageError("give a SUBJECT, --text, or something on standard input")
    name = options.subject or "-"
    # Any file will do, also a pipe: what is no session is text.
    return Located(name=name, path=Path(name)) if Path(name).exists() else located(name, settings)


def _of_file(place: Located, options: _Options, settings: Settings, reading: Reading) -> _Counted:
    source = Source(place.given())
    reading = place.reading(reading)
    found = "" if options.plain or options.wire else reading.format or _format(source)
    reading = msgspec.structs.replace(reading, format=found)
    if found in SESSIONS or (found and (reading.part or source.size > LARGE)):
        return _told(tell_file(place.name, source, settings, reading), settings)
    content = source.whole(LARGEST)
    wire = options.wire or found
    if options.plain:
        return _counted(_words(content), settings)
    if not wire:
        _refuse_pictures(place.name, content)
        return msgspec.structs.replace(_counted(_words(content), settings), note=_note(content))
    try:
        given = read(_listed(content), wire)
        if not found or "response" not in given.fields:
            return _counted(given, settings)
    except InvalidMessage:
        if options.wire and (format_ := _format(source)) in SESSIONS:
            told = f"{place.name} is a session file ({format_}), and --wire is for JSON messages: leave it out"
            raise click.UsageError(told) from None
        if not found:
            raise
    # Messages, but further in: a list of runs, a request that was logged with its answer.
    return _told(tell_file(place.name, source, settings, reading), settings)


def _format(source: Source) -> str:
    """The format of what may be a session; words are not looked at any further."""
    beginning = source.head().removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0")
    return format_of(source) if beginning.startswith((b"{", b"[", SQLITE)) else ""


_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF87a": "a GIF picture",
    b"GIF89a": "a GIF picture",
    b"%PDF-": "a PDF document",
}
"""What people mistake for a session, by its first bytes."""


def _refuse_pictures(name: str, content: bytes) -> None:
    for start, kind in _PICTURES.items():
        if content.startswith(start):
            raise UnreadableTranscript(name, f"it is {kind} and no text; `--plain` counts its bytes as they stand")


def _note(content: bytes) -> str:
    """What to say of text that was to be something else."""
    if ends_in_the_middle(content):
        return "counted as text: it is JSON that ends in the middle"
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return f"counted as text, which it is not: not UTF-8 at byte {error.start:,}"
    return ""


def _of_thread(name: str, settings: Settings) -> _Counted:
    from sash.cli.stored import stored_thread, tell_thread

    with stored_thread(name.removeprefix(THREAD), settings) as thread:
        return _told(tell_thread(thread, settings), settings)


def _told(telling: Telling, settings: Settings) -> _Counted:
    """A session or thread, gone through once and never kept."""
    if settings.text("counter").startswith("remote:"):
        raise click.UsageError("an endpoint counts one request: make it with `sash fit -o FILE`, then count that")
    choice = counter_under(telling.setup.policy, telling.setup.model, counter=settings.text("counter"))
    tallying = Tallying(choice.counter)
    for message in telling.setup.system:
        tallying.add(message)
    with Progress(f"counting {telling.name}") as progress:
        for entry in progress.over(telling.entries):
            tallying.add(entry.message)
    divided = tallying.tally([tool.source for tool in telling.setup.tools])
    transcript = telling.transcript
    return _Counted(
        total=divided.total,
        counter=choice.counter.id,
        version=choice.counter.version,
        why=choice.why,
        choice=choice,
        tally=divided,
        kind=transcript.format if transcript is not None else "thread",
        damage=tuple(transcript.damage) if transcript is not None else (),
        damaged=transcript.damaged if transcript is not None else 0,
    )


def _counted(given: str | Conversation, settings: Settings) -> _Counted:
    asked, model = settings.text("counter"), settings.text("model") or model_named(given)
    remote = asked.startswith("remote:")
    choice = counter_under(settings.policy(), model, counter="estimate" if remote else asked)
    counter = choice.counter
    if isinstance(given, str):
        divided, counted_total = None, counter.text(given)
    else:
        divided = tally(given, counter)
        counted_total = divided.total
    counted = _Counted(
        total=counted_total,
        counter=counter.id,
        version=counter.version,
        why=choice.why,
        choice=choice,
        tally=divided,
    )
    if not remote:
        return counted
    answer = ask(given, model=model, counter=asked)
    why = answer.note or "the endpoint counted the whole; its parts are estimated"
    return msgspec.structs.replace(counted, total=answer.count, counter=asked.partition("=")[0], why=why)


def _words(content: bytes) -> str:
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _listed(content: bytes) -> bytes:
    """A file with one JSON object per line as a list of them; anything else as it is."""
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line.lstrip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines):
        return content
    return b"[" + b",".join(lines) + b"]"


def _print(counted: _Counted) -> None:
    out = screen()
    if counted.tally is not None and not counted.tally.by_role:
        out.paragraph(NOTHING_SAID)
    elif counted.tally is not None:
        _print_parts(out, "role", counted.tally.by_role, counted.total)
        out.say()
        _print_parts(out, "type", counted.tally.by_type, counted.total)
        out.say()
        beside = " and a system prompt" if counted.tally.system else ""
        out.paragraph(f"{amount(counted.tally.turns, 'turn')}, {amount(counted.tally.messages, 'message')}{beside}")
    model = counted.choice.model
    out.say(f"{counted.total.full} {'token' if counted.total.value == 1 else 'tokens'}", "bold")
    if model.name:
        share = 100 * counted.total.value / model.window
        shown = f"{share:.1f} %" if share >= 0.1 else "less than 0.1 %"
        known = ", a default: this model is not known" if model.default_window else ""
        out.paragraph(f"{shown} of a window of {short(model.window)}{known}")
    out.paragraph(clean(f"counted by {counted.counter}: {counted.why}"))
    if counted.note:
        out.paragraph(counted.note, "yellow")
    print_damage(out, counted.damage, counted.damaged)


def _print_parts(out: Screen, heading: str, counts: Mapping[str, TokenCount], total: TokenCount) -> None:
    columns = (
        Column(title=f"{heading:14}", gives_way=True),
        Column(title=f"{'tokens':>14}" if out.width > 40 else "tokens", right=True),
        Column(title="  share" if out.width > 40 else "share", right=True, rank=1),
    )
    rows = [
        [name, count.full, f"{100 * count.value / max(1, total.value):.0f} %"]
        for name, count in sorted(counts.items(), key=lambda item: -item[1].value)
    ]
    print_table(out, columns, rows)
