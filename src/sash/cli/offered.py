"""Sessions of the tools on this machine: found without being told where, and offered."""

from __future__ import annotations

import sys
import time

import click

from sash.cli.age import age
from sash.cli.characters import clean
from sash.cli.number import Number
from sash.cli.screen import Screen, screen
from sash.cli.table import Cell, Column, print_table
from sash.cli.title import shown_title
from sash.transcripts.glimpse import glimpse
from sash.transcripts.places import ALSO, TOOLS, Session, find_sessions

OFFERED = 12


def is_session(name: str) -> bool:
    """Whether it is said like a tool's session: `claude:latest`, `pi:3`."""
    tool, sign, _ = name.partition(":")
    return bool(sign) and tool in (*TOOLS, *ALSO)


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
        Column(title="session"),
        Column(title="age", right=True, rank=2),
        Column(title="size", right=True, rank=3),
        Column(title="about", gives_way=True, least=12, rank=1),
    )
    rows: list[list[Cell | str]] = [
        [
            Cell(str(number), "dim"),
            Cell(clean(_short(session)), "bold"),
            age(session.at, now),
            _bytes(session.bytes),
            Cell(_about(out, session)),
        ]
        for number, session in enumerate(found, 1)
    ]
    print_table(out, columns, rows)
    if not (out.terminal and sys.stdin.isatty()):
        out.say()
        out.paragraph(f"Show one of them: sash show {found[0].tool}:latest")
        click.get_current_context().exit(0)
    answer: int = click.prompt("Which one", default=1, type=Number(1, len(found)), err=True)
    out.say()
    return found[answer - 1]


def _short(session: Session) -> str:
    """Its name with as much of the id as people type."""
    tool, _, own = session.name.partition(":")
    return f"{tool}:{own[:8]}"


def _about(out: Screen, session: Session) -> str:
    """Where it was, and what it is called or was first asked for."""
    if session.title:
        return clean(session.title)
    seen = glimpse(session.path)
    # Some tools name the folder after the project, others after the day.
    folder = session.path.parent.name.strip("-") if session.tool in ("claude", "pi") else ""
    where = seen.cwd.rstrip("/").rpartition("/")[2] or folder
    words = clean(seen.title) or (shown_title(out, seen.asked) if seen.asked else "")
    return ": ".join(filter(None, (clean(where), words))) or "(nothing was said)"


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
