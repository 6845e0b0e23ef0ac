"""Sessions of the tools on this machine: found without being told where, and offered."""

from __future__ import annotations

import sys
import time

import click

from sash.cli.age import age
from sash.cli.characters import clean
from sash.cli.places import near
from sash.cli.screen import screen
from sash.cli.table import Cell, Column, print_table
from sash.transcripts.places import TOOLS, Session, find_sessions

OFFERED = 12


def is_session(name: str) -> bool:
    """Whether it is said like a tool's session: `claude:latest`, `pi:3`."""
    tool, sign, _ = name.partition(":")
    return bool(sign) and tool in TOOLS


def session_names() -> list[str]:
    """What can be completed to: the tools that have sessions here, and their newest."""
    found = find_sessions(most=OFFERED)
    return [*sorted({f"{session.tool}:latest" for session in found}), *(session.name for session in found)]


def chosen() -> Session:
    """The session that somebody chose of those that are offered; ends where there is nobody to ask."""
    found = find_sessions(most=OFFERED)
    if not found:
        raise click.UsageError(f"name a session file; no session of {', '.join(TOOLS)} was found where these keep them")
    out, now = screen(), time.time()
    columns = (
        Column(right=True),
        Column(title="session", gives_way=True, cut_last=True, least=10),
        Column(title="age", right=True),
        Column(title="size", right=True, rank=2),
        Column(title="of", rank=1),
    )
    rows: list[list[Cell | str]] = [
        [
            Cell(str(number), "dim"),
            Cell(clean(_short(session)), "bold"),
            age(session.at, now),
            _bytes(session.bytes),
            Cell(out.cut(clean(session.title or _folder(session)), 34), "dim"),
        ]
        for number, session in enumerate(found, 1)
    ]
    print_table(out, columns, rows)
    if not (out.terminal and sys.stdin.isatty()):
        out.say()
        out.paragraph(f"Show one of them: sash show {found[0].tool}:latest")
        click.get_current_context().exit(0)
    answer: int = click.prompt("Which one", default=1, type=click.IntRange(1, len(found)), err=True)
    out.say()
    return found[answer - 1]


def _short(session: Session) -> str:
    """Its name with as much of the id as people type."""
    tool, _, own = session.name.partition(":")
    return f"{tool}:{own[:8]}"


def _folder(session: Session) -> str:
    """What it was about, as far as its place tells: tools name the folder after the project."""
    folder = session.path.parent.name.strip("-")
    return near(str(session.path.parent)) if folder in ("sessions", "chats") else folder


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
