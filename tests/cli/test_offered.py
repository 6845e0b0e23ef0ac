"""Sessions that are found without being told where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sash.cli.characters import columns_of
from tests.cli.front_door import here, on_terminal, piped, plain
from tests.cli.sessions import exchange, written


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Somebody who uses Claude Code: an older session and a newer one."""
    folder = tmp_path / ".claude" / "projects" / "-srv-app"
    folder.mkdir(parents=True)
    for number, (name, words) in enumerate([("1111aaaa", "The older one"), ("2222bbbb", "The newer one")]):
        path = written(folder / f"{name}-0000.jsonl", exchange(1, words))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return tmp_path


def test_a_session_is_named_by_its_tool(home: Path) -> None:
    for name, words in (
        ("claude:latest", "newer"),
        ("claude:1", "newer"),
        ("claude:2", "older"),
        ("claude:1111", "older"),
        ("claude:", "newer"),
    ):
        assert f"The {words} one" in here("show", name, home=home).out
    for name in ("claude:3", "claude:xyz", "codex:latest"):
        ran = here("show", name, home=home)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.count("\n") == 1
    assert here("context", "claude:latest", home=home).code == 0
    assert here("import", "claude:latest", home=home).code == 0


def test_without_a_name_the_newest_are_listed(home: Path) -> None:
    ran = piped("show", home=home)
    assert ran.code == 0
    assert [line.split()[1] for line in ran.lines[1:3]] == ["claude:2222bbbb", "claude:1111aaaa"]
    assert "srv-app: The newer one" in ran.out
    assert "sash show claude:latest" in ran.out


@pytest.mark.parametrize("width", [80, 20])
def test_a_person_is_asked_which_one(home: Path, width: int) -> None:
    ran = on_terminal("show", home=home, typed=b"2\n", width=width)
    assert ran.code == 0
    assert "Which one" in ran.out
    shown = plain(ran.out)
    assert "The older" in " ".join(shown.split()) or width == 20
    assert max(columns_of(line) for line in shown.splitlines() if "Which one" not in line) <= width


def test_where_nothing_is_found_a_file_is_asked_for(tmp_path: Path) -> None:
    ran = piped("show", home=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "name a session file" in ran.err
    assert "claude, codex, pi" in " ".join(ran.err.split())


def test_sessions_are_completed(home: Path) -> None:
    asked = {"_SASH_COMPLETE": "bash_complete", "COMP_WORDS": "sash show cl", "COMP_CWORD": "2"}
    completed = here(home=home, env=asked).lines
    assert completed[:2] == ["plain,claude:latest", "plain,claude:2222bbbb-0000"]
    asked = {"_SASH_COMPLETE": "bash_complete", "COMP_WORDS": "sash show some", "COMP_CWORD": "2"}
    assert here(home=home, env=asked).lines == ["file,some"]


def test_a_list_tells_what_each_session_is_about(home: Path) -> None:
    folder = home / ".codex" / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True)
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Mend the lamp"}]}
    around = {"type": "input_text", "text": "<environment_context>here</environment_context>"}
    lines = [
        {"type": "session_meta", "payload": {"id": "0198", "cwd": "/srv/lighthouse"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [around]}},
        {"type": "response_item", "payload": asked},
        {"type": "response_item", "payload": asked | {"content": [{"type": "input_text", "text": "x" * 400_000}]}},
    ]
    written(folder / "rollout-2026-01-02T03-04-05-0198aaaa.jsonl", lines)
    (folder / "rollout-2026-01-02T03-04-06-0198bbbb.jsonl").write_text("no session at all")
    shown = here("show", home=home).out
    assert "lighthouse: Mend the lamp" in shown
    assert "codex:0198bbbb" in shown
    assert "(nothing was said)" in shown
    assert here("show", "claude-code:latest", home=home).code == 0
