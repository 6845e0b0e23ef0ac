"""Sessions are found where their tools keep them, and called by short names."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from sash.errors import UnreadableTranscript
from sash.transcripts import find_sessions, open_transcript, session_named


def put(path: Path, at: int, content: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (at, at))
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    put(tmp_path / ".claude/projects/-tmp-a/aaaa1111.jsonl", 100)
    put(tmp_path / ".claude/projects/-tmp-b/bbbb2222.jsonl", 300)
    put(tmp_path / ".claude/projects/-tmp-b/bbbb2222/subagents/agent-1.jsonl", 900)
    put(tmp_path / ".config/claude/projects/-tmp-c/bbcc3333.jsonl", 200)
    put(tmp_path / ".codex/sessions/2026/08/03/rollout-2026-08-03T10-48-56-019fc8be.jsonl", 400)
    put(tmp_path / ".codex/archived_sessions/rollout-2026-08-01T10-48-56-018aaaaa.jsonl.zst", 50)
    put(tmp_path / ".pi/agent/sessions/--tmp--/2026-02-20T12-31-00-428Z_0a39b144.jsonl", 500)
    put(tmp_path / ".gemini/tmp/ff00/chats/session-2026-04-29T21-39-12345678.json", 600)
    put(tmp_path / ".factory/sessions/x/droid.jsonl", 70)
    return tmp_path


def names(home: Path, tool: str = "", **environ: str) -> list[str]:
    return [session.name for session in find_sessions(tool, environ=environ, home=home)]


def test_the_newest_sessions_of_every_tool_come_first(home: Path) -> None:
    assert names(home) == [
        "gemini:12345678", "pi:0a39b144", "codex:019fc8be", "claude:bbbb2222", "claude:bbcc3333", "claude:aaaa1111",
        "droid:droid", "codex:018aaaaa",
    ]  # fmt: skip
    assert names(home, "claude-code") == ["claude:bbbb2222", "claude:bbcc3333", "claude:aaaa1111"]
    assert len(find_sessions(most=2, environ={}, home=home)) == 2


def test_folders_that_the_environment_names_are_looked_into_instead(home: Path) -> None:
    put(home / "mine/projects/p/cccc.jsonl", 1)
    put(home / "yours/projects/p/dddd.jsonl", 2)
    assert names(home, "claude", CLAUDE_CONFIG_DIR=f"{home}/mine,{home}/yours") == ["claude:dddd", "claude:cccc"]
    assert names(home, "codex", CODEX_HOME=f"{home}/nowhere") == []
    assert names(home, "pi", PI_CODING_AGENT_DIR=f"{home}/.pi/agent") == ["pi:0a39b144"]


def test_a_session_is_called_by_its_age_or_by_how_its_id_begins(home: Path) -> None:
    def called(name: str) -> str:
        return session_named(name, environ={}, home=home).path.stem

    assert called("claude:latest") == called("claude:") == called("claude:1") == "bbbb2222"
    assert called("claude:2") == "bbcc3333"
    assert called("claude:aa") == "aaaa1111"
    for name, problem in {
        "claude:bb": "2 sessions begin so: claude:bbbb2222, claude:bbcc3333",
        "claude:zz": "the newest is 'claude:bbbb2222'",
        "cursor:latest": "there are 'claude', 'codex'",
        "opencode:latest": "no session of 'opencode' was found",
    }.items():
        with pytest.raises(UnreadableTranscript, match=problem):
            called(name)


def test_sessions_of_a_database_are_found_by_themselves(home: Path) -> None:
    place = home / ".local/share/opencode/opencode.db"
    place.parent.mkdir(parents=True)
    with apsw.Connection(str(place)) as database:
        database.execute("CREATE TABLE session (id, title, parent_id, time_updated)")
        database.execute("INSERT INTO session VALUES ('ses_1', 'one', NULL, 700000), ('ses_2', 'two', NULL, 800000)")
    found = find_sessions("opencode", environ={}, home=home)
    assert [(session.name, session.title) for session in found] == [
        ("opencode:ses_2", "two"),
        ("opencode:ses_1", "one"),
    ]
    transcript = open_transcript(found[1].path, part=found[1].part)
    assert list(transcript.messages()) == []
    assert transcript.title == "one"
