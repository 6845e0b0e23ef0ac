"""Where the tools keep their sessions on this machine, and how to name one without knowing its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from heapq import nlargest
from pathlib import Path

import msgspec

from sash.errors import UnreadableTranscript

SHOWN = 20


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was found on this machine."""

    tool: str
    """`claude`, `codex`, `pi`, ...: what stands before the colon in `claude:latest`."""
    path: Path
    at: float
    """When it was last written to, in seconds since 1970."""
    bytes: int
    part: str = ""
    """Which session of a database it is."""
    title: str = ""

    @property
    def name(self) -> str:
        """What it can be called on the command line: `claude:0a1b2c3d`."""
        return f"{self.tool}:{self.part or _id_of(self.path)}"


def _claude(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    configured = [Path(place) for place in environ.get("CLAUDE_CONFIG_DIR", "").split(",") if place.strip()]
    for folder in configured or [home / ".claude", _config(environ, home) / "claude"]:
        yield from folder.glob("projects/*/*.jsonl")


def _codex(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    folder = Path(environ.get("CODEX_HOME") or home / ".codex")
    for place in ("sessions", "archived_sessions"):
        yield from (folder / place).rglob("rollout-*.jsonl")
        yield from (folder / place).rglob("rollout-*.jsonl.zst")


def _pi(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    given = environ.get("PI_CODING_AGENT_DIR") or environ.get("PI_AGENT_DIR")
    yield from Path(given or home / ".pi" / "agent").glob("sessions/*/*.jsonl")


def _gemini(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    folder = Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini"
    yield from folder.glob("tmp/*/chats/session-*.json")
    yield from folder.glob("tmp/*/chats/session-*.jsonl")


def _droid(_: Mapping[str, str], home: Path) -> Iterator[Path]:
    yield from (home / ".factory" / "sessions").rglob("*.jsonl")


def _opencode(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    if given := environ.get("OPENCODE_DB"):
        yield Path(given)
        return
    yield from (_shared(environ, home) / "opencode").glob("opencode*.db")


def _config(environ: Mapping[str, str], home: Path) -> Path:
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def _shared(environ: Mapping[str, str], home: Path) -> Path:
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")


TOOLS: Mapping[str, Callable[[Mapping[str, str], Path], Iterator[Path]]] = {
    "claude": _claude,
    "codex": _codex,
    "pi": _pi,
    "gemini": _gemini,
    "opencode": _opencode,
    "droid": _droid,
}
ALSO = {"claude-code": "claude", "gemini-cli": "gemini"}
"""Other names of the same tools."""


def find_sessions(
    tool: str = "", *, most: int = SHOWN, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> list[Session]:
    """The newest sessions of one tool, or of all that are found here, newest first."""
    environ = os.environ if environ is None else environ
    home = Path.home() if home is None else home
    tool = ALSO.get(tool, tool)
    found = (
        session
        for name, paths in TOOLS.items()
        if tool in ("", name)
        for path in _each(paths, environ, home)
        for session in _sessions(name, path)
    )
    return nlargest(most, found, key=lambda session: (session.at, str(session.path), session.part))


def session_named(name: str, *, environ: Mapping[str, str] | None = None, home: Path | None = None) -> Session:
    """
    The session that is meant by `claude:latest`, `claude:2` or `claude:0a1b2c3d`.

    A number counts from the newest, which is 1; anything else is how its id begins.
    """
    tool, _, which = name.partition(":")
    tool = ALSO.get(tool, tool)
    if tool not in TOOLS:
        raise UnreadableTranscript(name, f"no tool is called {tool!r}; there are {', '.join(map(repr, TOOLS))}")
    sessions = find_sessions(tool, most=1 << 30, environ=environ, home=home)
    if not sessions:
        raise UnreadableTranscript(name, f"no session of {tool!r} was found on this machine; name a file")
    if which in ("", "latest"):
        return sessions[0]
    if which.isdecimal() and 0 < int(which) <= len(sessions) and len(which) < 6:
        return sessions[int(which) - 1]
    fitting = [session for session in sessions if session.name.partition(":")[2].startswith(which)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(session.name for session in fitting[:5])
        raise UnreadableTranscript(name, f"{len(fitting)} sessions begin so: {names}; give more of the name")
    raise UnreadableTranscript(name, f"no session of {tool!r} is called so; the newest is {sessions[0].name!r}")


def _each(
    paths: Callable[[Mapping[str, str], Path], Iterator[Path]], environ: Mapping[str, str], home: Path
) -> Iterator[Path]:
    try:
        yield from paths(environ, home)
    except OSError:
        # A folder that we may not look into holds nothing for us.
        return


def _sessions(tool: str, path: Path) -> Iterator[Session]:
    try:
        found = path.stat()
    except OSError:
        return
    if tool != "opencode":
        yield Session(tool=tool, path=path, at=found.st_mtime, bytes=found.st_size)
        return
    from sash.transcripts.opencode import sessions_in

    for part in sessions_in(path):
        yield Session(
            tool=tool,
            path=path,
            at=part.at if part.at is not None else found.st_mtime,
            bytes=found.st_size,
            part=part.name,
            title=part.title,
        )


def _id_of(path: Path) -> str:
    """The id in a file's name: what comes after the time that some tools put before it."""
    name = path.name.removesuffix(".zst").rpartition(".")[0]
    if name.startswith("rollout-"):
        return name[len("rollout-2026-01-01T00-00-00-") :]
    if name.startswith("session-"):
        return name.rpartition("-")[2]
    return name.partition("_")[2] or name
