"""`sash wrap`: a tool with the proxy beside it, for as long as the tool runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import click

from sash.cli.options import from_settings, settings_of
from sash.errors import MissingExtra

NAMES = ("policy", "history_tokens", "upstream_openai", "upstream_anthropic", "bypass")
TOOLS = ("claude", "codex", "aider", "opencode", "pi")
START_SECONDS = 30.0
END_SECONDS = 10.0


@click.command(context_settings={"allow_interspersed_args": False})
@from_settings(*NAMES)
@click.argument("tool", type=click.Choice(TOOLS))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def wrap(tool: str, arguments: tuple[str, ...], **options: Any) -> None:
    """
    Start TOOL with `sash serve` beside it, on a free port, and end both together.

    What follows TOOL (or `--`) is the tool's own. Its exit code is this command's.
    """
    settings_of(dict(options), *NAMES)
    own = arguments[1:] if arguments[:1] == ("--",) else arguments
    found = shutil.which(tool)
    if found is None:
        raise click.UsageError(f"there is no {tool!r} on the path; install it, or see `sash serve --print-env`")
    try:
        from sash.server.proxy.clients import LAUNCHES
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "httpx2"):
            raise
        raise MissingExtra("`sash wrap`", extra="server", package="starlette, uvicorn and httpx2") from None
    with tempfile.TemporaryDirectory(prefix="sash-") as folder:
        server, url = _serving(_flags(options))
        try:
            launch = LAUNCHES[tool](url, Path(folder))
            code = _run([found, *launch.arguments, *own], {**os.environ, **launch.variables})
        finally:
            _end(server)
    raise SystemExit(code)


def _flags(options: dict[str, Any]) -> list[str]:
    """The same settings, as flags of the server's."""
    flags: list[str] = []
    for name in NAMES:
        value = options.get(name)
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            flags.append(flag if value else f"--no-{flag[2:]}")
        elif value is not None:
            flags += [flag, str(value)]
    for pair in options.get("also", ()):
        flags += ["--set", pair]
    return flags


def _serving(flags: Sequence[str]) -> tuple[subprocess.Popen[str], str]:
    """A server in a process of its own, and its address once it answers."""
    command = [sys.executable, "-m", "sash", "serve", "--port", "0", "--log-level", "error", *flags]
    server = subprocess.Popen(  # noqa: S603  (our own program)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Not in the terminal's own group: Ctrl-C is the tool's to answer.
        start_new_session=True,
    )
    said: list[str] = []
    addressed = threading.Event()
    assert server.stderr is not None
    threading.Thread(target=_listen, args=(server.stderr, said, addressed), daemon=True).start()
    addressed.wait(START_SECONDS)
    for line in said:
        if line.startswith("sash serves "):
            return server, line.split()[-1]
    _end(server)
    raise click.ClickException("the server did not start: " + (" ".join(said)[-500:] or "it said nothing"))


def _listen(stream: IO[str], said: list[str], addressed: threading.Event) -> None:
    """Read on to the end, so that the server never waits for us; its errors are shown when it cannot start."""
    for line in stream:
        if not addressed.is_set():
            said.append(line.strip())
            if line.startswith("sash serves "):
                addressed.set()
    addressed.set()


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    """The tool, with the terminal as its own; its exit code as a shell would tell it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # The tool would inherit that we ignore Ctrl-C.
        done = subprocess.run(command, env=environment, check=False, preexec_fn=_hear_interrupts)  # noqa: S603  (the tool that was asked for; no thread of ours holds a lock here)
    finally:
        signal.signal(signal.SIGINT, before)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(server: subprocess.Popen[str]) -> None:
    server.terminate()
    try:
        server.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
