"""The installed command, started as users start it: in a pipe, or on a terminal of some width."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from sash.cli.main import main

SASH = Path(sys.executable).parent / "sash"
PATIENCE = 60
"""Seconds after which a command is taken for stuck."""
WIPED = re.compile(r"(?:\r[^\r\n]*)*\r")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it printed."""
        return self.out.splitlines()

    @property
    def words(self) -> str:
        """What it printed, wherever its lines were broken."""
        return " ".join(self.out.split())

    def json(self) -> Any:
        """The one object that it printed."""
        return json.loads(self.out)


def environment(home: Path, **more: str) -> dict[str, str]:
    """A user's environment: nothing of ours, and nothing of this machine's sessions."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(home), "LANG": "en_US.UTF-8", "TERM": "xterm-256color", **more}


def piped(
    *words: str | Path, home: Path, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ran:
    """With its output in a pipe."""
    done = subprocess.run(
        [SASH, *words],
        input=stdin,
        capture_output=True,
        cwd=cwd or home,
        env=environment(home, **(env or {})),
        check=False,
        timeout=PATIENCE,
    )
    return Ran(done.returncode, done.stdout.decode("utf-8", "backslashreplace"), done.stderr.decode())


def here(
    *words: str | Path, home: Path, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ran:
    """The same without a process of its own: where many small things are looked at."""
    out, err = _stream(), _stream()
    with (
        mock.patch.dict(os.environ, environment(home, **(env or {})), clear=True),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        chdir(cwd or home),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main([str(word) for word in words])
    return Ran(code, _printed(out), _printed(err))


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def _printed(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8", "backslashreplace")


def on_terminal(
    *words: str | Path,
    home: Path,
    width: int = 80,
    typed: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Ran:
    """The installed command on a terminal; what it prints to stderr is shown there too."""
    with _Terminal(width, typed) as terminal:
        process = subprocess.Popen(
            [SASH, *words],
            stdin=terminal.theirs,
            stdout=terminal.theirs,
            stderr=terminal.theirs,
            cwd=cwd or home,
            env=environment(home, **(env or {})),
            start_new_session=True,
        )
        code = process.wait(PATIENCE)
    return Ran(code, terminal.shown(), "")


def here_on_terminal(
    *words: str | Path, home: Path, width: int = 80, typed: bytes = b"", env: Mapping[str, str] | None = None
) -> Ran:
    """The same terminal without a process of its own: where many commands are looked at."""
    with (
        _Terminal(width, typed) as terminal,
        mock.patch.dict(os.environ, environment(home, **(env or {})), clear=True),
        mock.patch.object(sys, "stdin", os.fdopen(os.dup(terminal.theirs), "r")) as stdin,
        os.fdopen(os.dup(terminal.theirs), "w") as out,
        os.fdopen(os.dup(terminal.theirs), "w") as err,
        chdir(home),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main([str(word) for word in words])
        stdin.close()
    return Ran(code, terminal.shown(), "")


class _Terminal:
    """A pseudo-terminal of some width, and somebody who looks at it."""

    def __init__(self, width: int, typed: bytes) -> None:
        self._ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        if typed:
            os.write(self._ours, typed)
        self._shown = bytearray()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Terminal:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.theirs)
        self._looking.join(PATIENCE)
        os.close(self._ours)

    def _look(self) -> None:
        while True:
            try:
                piece = os.read(self._ours, 1 << 16)
            except OSError:
                # Linux says that the other side is gone by an error.
                return
            if not piece:
                return
            self._shown += piece

    def shown(self) -> str:
        """All that stays on it: progress is drawn on a busy machine, and wiped."""
        return WIPED.sub("", self._shown.decode("utf-8", "backslashreplace").replace("\r\n", "\n"))


def plain(text: str) -> str:
    """What a terminal shows, without its colours."""
    return COLOUR.sub("", text)
