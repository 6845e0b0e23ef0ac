"""`sash statusline`: Claude Code's JSON on stdin, one line out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import msgspec

from sash.cli.characters import clean
from sash.cli.screen import Screen, Style, screen
from sash.core.pressure import CELLS, Level, pressure_of
from sash.core.tokens import TokenCount

TAIL = 1 << 18
"""Bytes at the end of a transcript in which the newest report of usage is looked for."""
STYLES: dict[Level, Style] = {"none": "green", "shown": "green", "notice": "yellow", "warning": "red"}


class Usage(msgspec.Struct, frozen=True):
    """What the provider reported for a request."""

    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    @property
    def context(self) -> int:
        """All that the model read."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens


class _Model(msgspec.Struct, frozen=True):
    id: str = ""
    display_name: str = ""


class _Cost(msgspec.Struct, frozen=True):
    total_cost_usd: float | None = None


class _ContextWindow(msgspec.Struct, frozen=True):
    context_window_size: int | None = None
    current_usage: Usage | None = None
    used_percentage: float | None = None


class Status(msgspec.Struct, frozen=True):
    """What Claude Code tells a status line, as far as we look at it."""

    model: _Model = _Model()
    cost: _Cost = _Cost()
    context_window: _ContextWindow = _ContextWindow()
    transcript_path: str = ""


@click.command()
@click.option("--color/--no-color", default=None, help="Colour by how full the window is.")
def statusline(color: bool | None) -> None:
    """
    Print one line about a Claude Code session.

    Takes the JSON that Claude Code gives its status line on standard input. In
    ~/.claude/settings.json:

    \b
        {"statusLine": {"type": "command", "command": "sash statusline --color"}}
    """
    if sys.stdin.isatty():
        raise click.UsageError("Claude Code's JSON is expected on standard input")
    said = sys.stdin.buffer.read()
    try:
        status = msgspec.json.decode(said, type=Status)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise click.ClickException(f"what came on standard input is not Claude Code's status: {error}") from None
    out = screen(color=bool(color) and not os.environ.get("NO_COLOR"))
    out.say(line_of(status, out))


def line_of(status: Status, out: Screen) -> str:
    """`Opus 5 · ████░░ 48 % · 96k / 200k · cache 93 % · $0.31`, as far as it is known."""
    window = status.context_window
    usage = window.current_usage or _newest_usage(status.transcript_path)
    size = window.context_window_size or _window_of(status.model.id)
    parts = [clean(status.model.display_name or status.model.id)]
    if usage is not None and size:
        pressure = pressure_of(TokenCount(usage.context), size)
        cells = CELLS // 2
        bar = out.styled(out.bar(pressure.share, cells), STYLES[pressure.level])
        parts += [f"{bar} {pressure.percent} %", pressure.sizes]
        if usage.context:
            parts.append(f"cache {100 * usage.cache_read_input_tokens // usage.context} %")
    elif window.used_percentage is not None:
        parts.append(f"{out.bar(window.used_percentage / 100, CELLS // 2)} {window.used_percentage:.0f} %")
    if status.cost.total_cost_usd is not None:
        parts.append(f"${status.cost.total_cost_usd:.2f}")
    dot = out.drawn(" · ")
    return dot.join(filter(None, parts)) or "sash"


class _Said(msgspec.Struct, frozen=True):
    usage: Usage | None = None


class _Record(msgspec.Struct, frozen=True):
    message: _Said | None = None
    type: str = ""
    isSidechain: bool = False  # noqa: N815 - as the file has it


def _newest_usage(path: str) -> Usage | None:
    """The last report in a transcript: older ones say nothing about the window as it is."""
    if not path:
        return None
    try:
        with Path(path).expanduser().open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        try:
            record = msgspec.json.decode(line, type=_Record)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        usage = record.message.usage if record.message is not None else None
        if record.type == "assistant" and not record.isSidechain and usage is not None and usage.context:
            return usage
    return None


def _window_of(model: str) -> int:
    from sash.counters import counter_under
    from sash.settings import load

    return counter_under(load().policy(), model, counter="chars4").model.window
