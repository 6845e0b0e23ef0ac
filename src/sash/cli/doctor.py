"""`sash doctor`: what is well with the store and the installation, and what is not."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from sash.cli.answer import answer
from sash.cli.options import STORED, from_settings, reports, settings_of
from sash.cli.screen import Style, screen
from sash.cli.stored import store_of
from sash.cli.table import Cell, Column, print_table
from sash.counters import counter_under, gathered
from sash.errors import SashError, StoreError
from sash.settings import Settings
from sash.store import Health
from sash.store.url import file_of
from sash.version import __version__

State = Literal["ok", "absent", "problem"]

EXTRAS = {
    "exact": ("splintr-rs", "exact counts for OpenAI's models and many open ones; without it they are estimated"),
    "hf": ("tokenizers", "counts by a tokenizer.json of yours"),
    "postgres": ("psycopg", "threads on PostgreSQL"),
    "providers": ("httpx2", "models of Anthropic and OpenAI"),
    "server": ("starlette", "`sash serve` and `sash wrap`"),
    "local": ("xllamacpp", "a small model on this machine"),
    "plot": ("matplotlib", "pictures of a replay"),
    "zstd": ("zstandard", "compressed sessions"),
    "otel": ("opentelemetry-api", "traces of the server's turns"),
}
"""What each extra brings: a package to look for, and what it is good for."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    what: str
    state: State
    found: str
    """What was found; of a problem, what to do about it."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What `sash doctor --json` prints."""

    ok: bool
    """Whether there is no problem; an extra that is not installed is none."""
    checks: tuple[Checked, ...]


@click.command()
@from_settings("model", *STORED)
@reports(Diagnosis)
def doctor(as_json: bool, **given: Any) -> None:
    """
    Check the store and the installation.

    Looks at every page and every event of the store, so it may take its time. Ends with 1 where
    something is wrong.
    """
    settings = settings_of(given, "model", *STORED)
    checks = (*_installation(settings), *_store(settings), *_extras())
    diagnosis = Diagnosis(ok=all(check.state != "problem" for check in checks), checks=checks)
    if as_json:
        answer(diagnosis)
    else:
        _print(diagnosis)
    if not diagnosis.ok:
        raise click.exceptions.Exit(1)


def _installation(settings: Settings) -> tuple[Checked, ...]:
    checks = [Checked(what="sash", state="ok", found=f"{__version__}, Python {platform.python_version()}")]
    model = settings.text("model")
    try:
        choice = counter_under(settings.policy(), model, counter="")
    except SashError as error:
        checks.append(Checked(what="counter", state="problem", found=str(error)))
    else:
        named = f"for {model!r}" if model else "where no model is named"
        checks.append(Checked(what="counter", state="ok", found=f"{choice.counter.id} {named}: {choice.why}"))
        known = f"{choice.model.window:,} tokens{', a default' if choice.model.default_window else ''}"
        checks.append(Checked(what="window", state="ok", found=f"{known} {named}; models as of {gathered()}"))
    return tuple(checks)


def _store(settings: Settings) -> tuple[Checked, ...]:
    try:
        file = file_of(settings.store())
        if file is not None and not file.exists():
            return (_absent(file),)
        with store_of(settings) as store:
            health = store.health()
    except StoreError as error:
        return (Checked(what="store", state="problem", found=str(error)),)
    return tuple(_told(health))


def _absent(file: Path) -> Checked:
    """A store that is not there yet, and whether it could be made."""
    folder = next(above for above in file.absolute().parents if above.exists())
    problem = ""
    if not folder.is_dir():
        problem = f"{folder} is no folder"
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = f"{folder} may not be written"
    if problem:
        found = f"{file} cannot be made: {problem}; name another place with `--store`"
        return Checked(what="store", state="problem", found=found)
    return Checked(what="store", state="absent", found=f"there is none yet; the first thread makes {file}")


def _told(health: Health) -> list[Checked]:
    checks = [
        Checked(what="store", state="ok", found=f"{health.place} ({health.engine})"),
        Checked(what="schema", state="ok", found=str(health.schema)),
    ]
    if health.kind == "sqlite":
        checks.append(Checked(what="write-ahead log", state="ok", found=f"{health.wal_bytes:,} bytes"))
    if health.problems:
        checks += [Checked(what="store", state="problem", found=problem) for problem in health.problems]
    else:
        checks.append(Checked(what="integrity", state="ok", found="every page and every event is what was written"))
    return checks


def _extras() -> tuple[Checked, ...]:
    checks = []
    for extra, (package, use) in EXTRAS.items():
        try:
            checks.append(Checked(what=f"extra {extra}", state="ok", found=f"{package} {version(package)}"))
        except PackageNotFoundError:
            missing = f"pip install 'sash[{extra}]': {use}"
            checks.append(Checked(what=f"extra {extra}", state="absent", found=missing))
    return tuple(checks)


_STYLES: dict[State, Style] = {"ok": "", "absent": "dim", "problem": "bold"}


def _print(diagnosis: Diagnosis) -> None:
    out = screen()
    rows = [
        (Cell(check.what), Cell(check.state, _STYLES[check.state]), Cell(check.found, _STYLES[check.state]))
        for check in diagnosis.checks
    ]
    columns = (Column(), Column(), Column(gives_way=True, least=24))
    print_table(out, columns, [row for row in rows if row[1].text != "problem"], heading=False)
    for what, state, found in rows:
        if state.text == "problem":
            # Never cut: it says what to do.
            out.paragraph(f"{what.text}: {found.text}")
