"""`sash count`: how many tokens a text or a conversation takes, and where they go."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import click
import msgspec

from sash.cli.amount import amount
from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.folded import Reading, Telling, tell_file
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.screen import Screen, screen
from sash.cli.subject import located, subject_argument, telling_of
from sash.cli.table import Column, print_table
from sash.core.tokens import TokenCount, short
from sash.counters import Choice, counter_for
from sash.counting import Tally, ask, model_named, tally
from sash.errors import UnknownCounter
from sash.settings import Settings
from sash.transcripts.sniff import format_of
from sash.transcripts.source import Source
from sash.wire import WIRES, Conversation, read


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    subject: str | None
    text: str | None
    model: str
    counter: str
    wire: str | None
    plain: bool
    as_json: bool


class _Given(msgspec.Struct, frozen=True):
    """What is to be counted, and for which model."""

    said: str | Conversation
    model: str


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
    turns: int | msgspec.UnsetType = msgspec.UNSET


class _Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command has to say."""

    total: TokenCount
    counter: str
    version: str
    why: str
    choice: Choice
    tally: Tally | None = None

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
        )


@click.command()
@subject_argument(required=False)
@click.option("-t", "--text", help="Count these words instead of a file.")
@click.option("-m", "--model", default="", help="The model that would read it: gpt-5, anthropic/claude-opus-5, ...")
@click.option(
    "--counter", default="", help="Count by this: exact, hf:PATH, estimate, chars4, gitclaw, bytes4, remote:..."
)
@click.option("--wire", type=click.Choice(sorted(WIRES)), help="How the messages are written; guessed when left out.")
@click.option("--plain", is_flag=True, help="Count the words as they stand, also when they are JSON.")
@from_settings(*STORED)
@reports(Counted)
def count(**asked: Any) -> None:
    """
    Count the tokens of SUBJECT, of standard input, or of --text.

    SUBJECT is a file, a session of a tool (claude:latest, pi:2) or the name of a stored thread.
    A session file, a JSON list of messages, a whole request body or a file with one message per
    line is counted as it would be sent if nothing were left out, by role and by type of block.
    Any other file is text. A `~` marks an estimate.
    """
    settings = settings_of(asked, *STORED)
    options = msgspec.convert(asked, _Options)
    options = msgspec.structs.replace(options, model=options.model or settings.text("model"))
    given = _given(options, settings)
    options = msgspec.structs.replace(options, model=given.model)
    try:
        counted = _counted(given.said, options)
    except UnknownCounter as error:
        raise click.BadParameter(str(error), param_hint="'--counter'") from None
    if options.as_json:
        answer(counted.shown())
    else:
        _print(counted)


def _counted(given: str | Conversation, options: _Options) -> _Counted:
    remote = options.counter.startswith("remote:")
    choice = counter_for(options.model, counter="estimate" if remote else options.counter)
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
    answer = ask(given, model=options.model, counter=options.counter)
    why = answer.note or "the endpoint counted the whole; its parts are estimated"
    name = options.counter.partition("=")[0]
    return msgspec.structs.replace(counted, total=answer.count, counter=name, why=why)


def _given(options: _Options, settings: Settings) -> _Given:
    if options.text is not None:
        if options.subject is not None:
            raise click.UsageError("give a SUBJECT or --text, not both")
        content = options.text.encode("utf-8", "surrogatepass")
        return (
            _as_messages(content, options.wire, options)
            if options.wire and not options.plain
            else _words(content, options)
        )
    if options.subject is None and sys.stdin.isatty():
        raise click.UsageError("give a SUBJECT, --text, or something on standard input")
    place = located(options.subject or "-", settings)
    if place is None:
        return _session(options.subject or "", options, settings)
    content = sys.stdin.buffer.read() if place.path is None else place.path.read_bytes()
    if options.plain:
        return _words(content, options)
    form = options.wire or format_of(Source(BytesIO(content)))
    if form in WIRES:
        return _as_messages(content, form, options)
    return (
        _told(tell_file(place.name, BytesIO(content), settings, place.reading(Reading())), options)
        if form
        else _words(content, options)
    )


def _session(name: str, options: _Options, settings: Settings) -> _Given:
    with telling_of(name, settings, Reading()) as telling:
        return _told(telling, options)


def _told(telling: Telling, options: _Options) -> _Given:
    """All that was said in a session, whatever its window would leave out."""
    if options.counter.startswith("remote:"):
        raise click.UsageError("an endpoint counts a request, not a session: `sash fit SUBJECT -o FILE` writes one")
    setup = telling.setup
    messages = (*setup.system, *(entry.message for entry in telling.entries))
    wire = telling.transcript.wire if telling.transcript is not None else "openai-chat"
    return _Given(Conversation(wire=wire, messages=messages, tools=setup.tools), options.model or setup.model)


def _as_messages(content: bytes, wire: str, options: _Options) -> _Given:
    said = read(_listed(content), wire)
    return _Given(said, options.model or model_named(said))


def _words(content: bytes, options: _Options) -> _Given:
    return _Given(content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), options.model)


def _listed(content: bytes) -> bytes:
    """A file with one JSON object per line as a list of them; anything else as it is."""
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line.lstrip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines):
        return content
    return b"[" + b",".join(lines) + b"]"


def _print(counted: _Counted) -> None:
    out = screen()
    if counted.tally is not None:
        _print_parts(out, "role", counted.tally.by_role, counted.total)
        _print_parts(out, "type", counted.tally.by_type, counted.total)
        out.paragraph(f"{amount(counted.tally.turns, 'turn')}, {amount(counted.tally.messages, 'message')}")
    model = counted.choice.model
    out.say(f"{counted.total.full} {'token' if counted.total.value == 1 else 'tokens'}", "bold")
    if model.name:
        share = 100 * counted.total.value / model.window
        shown = f"{share:.1f} %" if share >= 0.1 else "less than 0.1 %"
        known = ", a default: this model is not known" if model.default_window else ""
        out.paragraph(f"{shown} of a window of {short(model.window)}{known}")
    out.paragraph(clean(f"counted by {counted.counter}: {counted.why}"))


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
