"""`sash statusline` and `sash completion` through the front door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.front_door import here, on_terminal, piped

STATUS = {
    "model": {"id": "claude-opus-5", "display_name": "Opus 5"},
    "workspace": {"current_dir": "/somewhere"},
    "cost": {"total_cost_usd": 0.314},
    "context_window": {
        "context_window_size": 200_000,
        "current_usage": {"input_tokens": 4_000, "cache_read_input_tokens": 92_000, "output_tokens": 900},
    },
}


def line(home: Path, status: object, *words: str, **env: str) -> str:
    ran = here("statusline", *words, home=home, stdin=json.dumps(status).encode(), env=env)
    assert (ran.code, ran.err) == (0, "")
    (shown,) = ran.lines
    return shown


def test_one_line_tells_how_full_the_window_is(tmp_path: Path) -> None:
    ran = piped("statusline", home=tmp_path, stdin=json.dumps(STATUS).encode())
    assert ran == (0, "Opus 5 · █████░░░░░ 48 % · 96k / 200k · cache 95 % · $0.31\n", "")
    assert line(tmp_path, STATUS) == "Opus 5 · █████░░░░░ 48 % · 96k / 200k · cache 95 % · $0.31"
    assert line(tmp_path, STATUS, LC_ALL="C") == "Opus 5 - #####..... 48 % - 96k / 200k - cache 95 % - $0.31"
    assert "\x1b[32m" in line(tmp_path, STATUS, "--color")
    assert "\x1b[" not in line(tmp_path, STATUS, "--color", NO_COLOR="1")


def test_what_is_not_told_is_looked_up_in_the_transcript(tmp_path: Path) -> None:
    said = [
        {"type": "assistant", "message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 9}}},
        {"type": "assistant", "message": {"usage": {"input_tokens": 20_000, "cache_read_input_tokens": 80_000}}},
        {"type": "assistant", "isSidechain": True, "message": {"usage": {"input_tokens": 7}}},
        {"type": "user", "message": {"content": "more"}},
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, said)) + '\n{"torn', "utf-8")
    status = {"model": {"id": "claude-opus-4-1"}, "transcript_path": str(path)}
    assert line(tmp_path, status) == "claude-opus-4-1 · █████░░░░░ 50 % · 100k / 200k · cache 80 %"
    assert line(tmp_path, {"context_window": {"used_percentage": 12.4}}) == "█░░░░░░░░░ 12 %"
    assert line(tmp_path, {"transcript_path": "nowhere"}) == "sash"


def test_a_name_cannot_command_the_terminal(tmp_path: Path) -> None:
    assert line(tmp_path, {"model": {"id": "a\x1b]0;b\x07"}}) == "a\\x1b]0;b\\x07"


@pytest.mark.parametrize("stdin", [b"", b"[]", b"\xff", b"{", b"[" * 10_000])
def test_something_else_on_standard_input_fails(tmp_path: Path, stdin: bytes) -> None:
    ran = here("statusline", home=tmp_path, stdin=stdin)
    assert (ran.code, ran.out) == (1, "")
    assert "Claude Code's status" in ran.err


def test_a_person_is_told_what_it_is_for(tmp_path: Path) -> None:
    ran = on_terminal("statusline", home=tmp_path)
    assert ran.code == 2
    assert "expected on standard input" in ran.out


def test_a_shell_gets_its_script(tmp_path: Path) -> None:
    told = {shell: here("completion", shell, home=tmp_path) for shell in ("bash", "zsh", "fish")}
    assert {ran.code for ran in told.values()} == {0}
    assert all("_SASH_COMPLETE" in ran.out for ran in told.values())
    assert on_terminal("completion", "fish", home=tmp_path).out == told["fish"].out
    assert piped("completion", "fish", home=tmp_path) == told["fish"]


def test_commands_and_options_are_completed(tmp_path: Path) -> None:
    asked = {"_SASH_COMPLETE": "bash_complete", "COMP_WORDS": "sash co", "COMP_CWORD": "1"}
    assert "plain,config" in here(home=tmp_path, env=asked).lines
    asked = {"_SASH_COMPLETE": "bash_complete", "COMP_WORDS": "sash config --his", "COMP_CWORD": "2"}
    assert here(home=tmp_path, env=asked).lines == ["plain,--history-tokens"]
