"""How `sash` behaves as a program: what it says, where it says it, and the code it ends with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sash
from sash.cli import group
from sash.cli.group import OF_A_WINDOW
from sash.cli.main import main
from tests.cli.front_door import here

Act = Callable[[str], int]


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Act:
    """Runs `sash act`, a command of the table that does what the test says."""

    def run(code: str) -> int:
        module = f"act_{abs(hash(code))}"
        text = f"import click\nfrom sash.errors import SashError\n@click.command()\ndef act():\n    {code}\n"
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(group.COMMANDS, "act", f"{module}:act")
        return main(["act"])

    return run


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of shell in which `sash` is this sash."""
    prologue = f"sash() {{ '{sys.executable}' -m sash \"$@\"; }}\n"
    return subprocess.run(["bash", "-c", prologue + line], capture_output=True, text=True, check=False)


def test_the_version_is_one_line_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"sash {sash.__version__}\n", "")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in group.COMMANDS if name not in shown] == []


@pytest.mark.parametrize("name", group.COMMANDS)
def test_every_command_of_the_table_can_be_asked_for_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: sash {name}" in capsys.readouterr().out


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fly"]) == 2
    assert "No such command 'fly'" in capsys.readouterr().err
    assert main(["shwo"]) == 2
    assert "Did you mean 'show'?" in capsys.readouterr().err


def test_a_command_that_ends_well_ends_with_0(act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    assert act("click.echo('done')") == 0
    assert capsys.readouterr() == ("done\n", "")


def test_a_command_may_choose_its_exit_code(act: Act) -> None:
    assert act("click.get_current_context().exit(1)") == 1


def test_a_command_is_imported_only_when_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(group.COMMANDS, "broken", "there.is.no.such.module:command")
    assert main(["--version"]) == 0
    with pytest.raises(ModuleNotFoundError):
        main(["broken"])


def test_an_error_of_ours_is_one_line_on_stderr(act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    assert act("raise SashError('the window is full;\\nraise `window`')") == 1
    assert capsys.readouterr() == ("", "sash: the window is full; raise `window`\n")


def test_a_missing_file_is_one_line_that_names_it(act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    assert act("open('no-such-file')") == 1
    assert capsys.readouterr().err == "sash: 'no-such-file': No such file or directory\n"


def test_what_was_printed_before_a_failure_is_kept(act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    assert act("click.echo('first'); open('no-such-file')") == 1
    assert capsys.readouterr().out == "first\n"


def test_a_bug_is_not_dressed_up(act: Act) -> None:
    with pytest.raises(ZeroDivisionError):
        act("1 / 0")


@pytest.mark.parametrize("code", ["raise KeyboardInterrupt", "raise click.Abort"])
def test_an_interrupted_command_ends_with_130(act: Act, capsys: pytest.CaptureFixture[str], code: str) -> None:
    assert act(code) == 130
    assert capsys.readouterr().err.strip() == "sash: interrupted"


def test_half_a_character_is_shown_as_its_escape(act: Act, capsys: pytest.CaptureFixture[str]) -> None:
    assert act("print(chr(0xD83D))") == 0
    assert capsys.readouterr().out == "\\ud83d\n"


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_a_reader_that_leaves_early_causes_no_traceback(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "sash", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_told_in_one_line() -> None:
    done = shell("sash --version >/dev/full")
    assert done.returncode == 1
    assert done.stderr == "sash: No space left on device\n"


def test_a_closed_output_is_no_crash() -> None:
    done = shell("sash --version >&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_ascii_terminal_gets_help_too() -> None:
    command = [sys.executable, "-m", "sash", "--help"]
    plain = os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, env=plain, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--config", "mine.json"), "--config goes before the command: `sash --config ... show`."),
        (("--no-color",), "--no-color goes before the command: `sash --no-color show`."),
        (("--nothing",), "No such option '--nothing'."),
    ],
)
def test_an_option_of_all_commands_after_one_is_told_its_place(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "session.jsonl", *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("option", OF_A_WINDOW)
def test_what_only_a_window_has_is_told_where_everything_is_counted(option: str, tmp_path: Path) -> None:
    ran = here("count", "session.jsonl", option, "8k", home=tmp_path)
    assert ran.code == 2
    assert f"count takes all that was said, so there is no {option}: `sash context`" in " ".join(ran.err.split())


def test_a_name_that_is_nothing_is_told_with_where_to_look(tmp_path: Path) -> None:
    ran = here("show", "nothing", home=tmp_path)
    assert ran.code == 1
    assert "no stored thread 'nothing'; `sash threads` lists threads, `sash show` without a name lists" in ran.err
