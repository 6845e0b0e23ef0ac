"""Where `sash` starts: answers, and turns every way to fail into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from sash.cli.characters import clean, speaks_ascii
from sash.errors import InvalidPolicy, InvalidSetting, SashError
from sash.version import __version__

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells count."""
READER_GONE = 141
"""128 + SIGPIPE: `sash ... | head` is no failure of ours, but its output was cut."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code: 0, 1 failure, 2 usage, 130 interrupted, 141 reader gone."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _escape_what_cannot_be_shown()
    try:
        code = _run(words)
    except BrokenPipeError:
        code = READER_GONE
    except KeyboardInterrupt:
        _say("interrupted")
        code = INTERRUPTED
    except (InvalidSetting, InvalidPolicy) as error:
        _say(str(error))
        code = USAGE
    except SashError as error:
        _say(str(error))
        code = FAILURE
    except OSError as error:
        _say(_cause(error))
        code = FAILURE
    return _flush(code)


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        # Before click is imported: prompts and status lines ask for it often.
        print(f"sash {__version__}")
        return 0

    import click

    from sash.cli.group import misplaced, sash

    if asked := os.environ.get("_SASH_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(sash, {}, "sash", "_SASH_COMPLETE", asked)
    # Not `sash.main(words)`: that takes a reader that is gone for a failure, and ends the process itself.
    try:
        with sash.make_context("sash", words) as context:
            sash.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.UsageError as error:
        (misplaced(error) or error).show()
        return error.exit_code
    except click.ClickException as error:
        _say(error.format_message())
        return error.exit_code
    return 0


def _flush(code: int) -> int:
    """The exit code once all output has left us. At the interpreter's exit it would be too late to see it fail."""
    # Started with its output closed, a program has no stdout at all.
    if not isinstance(sys.stdout, io.TextIOBase):
        return code
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return READER_GONE
    except OSError as error:
        _drop_output()
        _say(_cause(error))
        return FAILURE
    return code


def _drop_output() -> None:
    """Send what is still buffered nowhere, or the interpreter would fail on it once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _escape_what_cannot_be_shown() -> None:
    """Let a character that the terminal cannot show, or half of one, come out as its escape and not as a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # In a bare locale Python would write UTF-8 all the same.
            encoding = "ascii" if speaks_ascii(stream, os.environ) else stream.encoding
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _cause(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return error.strerror or str(error)
    return f"{error.filename!r}: {error.strerror}"


def _say(sentence: str) -> None:
    """One line on stderr, however many the error has."""
    print("sash:", clean(" ".join(sentence.split())), file=sys.stderr)
