"""`sash count`: how many tokens a text or a conversation takes, and where they go."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.characters import clean
from sash.cli.options import reports
from sash.cli.screen import Screen, screen
from sash.cli.table import Column, print_table
from sash.core.tokens import TokenCount, short
from sash.counters import Choice, counter_for
from sash.counting import Tally, ask, model_named, tally
from sash.errors import UnknownCounter
from sash.wire import WIRES, Conversation, read


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    file: Path | None
    text: str | None
    model: str
    counter: str
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
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option("-t", "--text", help="Count these words instead of a file.")
@click.option("-m", "--model", default="", help="The model that would read it: gpt-5, anthropic/claude-opus-5, ...")
@click.option(
    "--counter", default="", help="Count by this: exact, hf:PATH, estimate, chars4, gitclaw, bytes4, remote:..."
)
@click.option("--wire", type=click.Choice(sorted(WIRES)), help="How the messages are written; guessed when left out.")
@click.option("--plain", is_flag=True, help="Count the words as they stand, also when they are JSON.")
@reports(Counted)
def count(**asked: Any) -> None:
    """
    Count the tokens of FILE, of standard input, or of --text.

    A JSON list of messages, a whole request body or a file with one message per line is
    counted as it would be sent, by role and by type of block. Anything else is text. A `~`
    marks an estimate.
    """
    options = msgspec.convert(asked, _Options)
    given = _given(options)
    options = msgspec.structs.replace(options, model=options.model or model_named(given))
    try:
        counted = _counted(given, options)
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


def _given(options: _Options) -> str | Conversation:
    if options.text is not None and options.file is not None:
        raise click.UsageError("give a FILE or --text, not both")
    if options.text is not None:
        content = options.text.encode("utf-8", "surrogatepass")
        guess = False
    else:
        content, guess = _content(options.file), True
    if options.plain or not (guess or options.wire):
        return _words(content)
    lined = _listed(content)
    wire = options.wire or guessed_wire(lined)
    return read(lined, wire) if wire else _words(content)


def _content(file: Path | None) -> bytes:
    if file is None and sys.stdin.isatty():
        raise click.UsageError("give a FILE, --text, or something on standard input")
    if file is None or str(file) == "-":
        return sys.stdin.buffer.read()
    return file.read_bytes()


def _words(content: bytes) -> str:
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _listed(content: bytes) -> bytes:
    """A file with one JSON object per line as a list of them; anything else as it is."""
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line.lstrip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines):
        return content
    return b"[" + b",".join(lines) + b"]"


class _Glimpse(msgspec.Struct, gc=False):
    """As much of a message as tells whose it is."""

    role: str = ""
    type: str = ""
    content: Any = None


class _Body(msgspec.Struct, gc=False):
    messages: list[_Glimpse] | None = None
    input: Any = None
    system: Any = None


_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}
_RESPONSES_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "item_reference"}


def guessed_wire(content: bytes) -> str:
    """The wire that a file of messages is most likely written in; empty for what is no messages at all."""
    try:
        body = msgspec.json.decode(content, type=_Body | list[_Glimpse])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    if isinstance(body, _Body):
        if body.messages is None:
            return "openai-responses" if body.input is not None else ""
        if body.system is not None:
            return "anthropic"
    said = body if isinstance(body, list) else body.messages or []
    if any(message.type in _RESPONSES_ITEMS for message in said):
        return "openai-responses"
    if not any(message.role for message in said):
        return ""
    blocks = (block for message in said if isinstance(message.content, list) for block in message.content)
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)}
    return "anthropic" if kinds & _ANTHROPIC_BLOCKS else "openai-chat"


def _print(counted: _Counted) -> None:
    out = screen()
    if counted.tally is not None:
        _print_parts(out, "role", counted.tally.by_role, counted.total)
        _print_parts(out, "type", counted.tally.by_type, counted.total)
        turns, messages = counted.tally.turns, counted.tally.messages
        out.paragraph(f"{turns:,} {_plural('turn', turns)}, {messages:,} {_plural('message', messages)}")
    model = counted.choice.model
    out.say(f"{counted.total.full} {_plural('token', counted.total.value)}", "bold")
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


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"
