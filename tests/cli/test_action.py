"""The GitHub Action: its script against a `gh` that writes down what it is asked."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.front_door import SASH
from tests.cli.sessions import long_session
from tests.gates import tree

FAKE_GH = """#!/usr/bin/env python3
import json, os, pathlib, sys
place = pathlib.Path(os.environ["COMMENTS"])
comments = json.loads(place.read_text()) if place.exists() else {}
words = sys.argv[1:]
assert words[0] == "api", words
if "--method" not in words:
    mark = words[words.index("--jq") + 1].split('contains("')[1].split('")')[0]
    assert "--paginate" in words
    print("\\n".join(key for key, body in comments.items() if mark in body))
else:
    method, address = words[words.index("--method") + 1], words[words.index("--method") + 2]
    body = words[words.index("--raw-field") + 1].removeprefix("body=")
    key = address.rsplit("/", 1)[1] if method == "PATCH" else str(100 + len(comments))
    assert method in ("PATCH", "POST")
    comments[key] = body
    place.write_text(json.dumps(comments))
"""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return long_session(tmp_path / "session; echo owned.jsonl", turns=8)


def footer(folder: Path, session: Path, **more: str) -> subprocess.CompletedProcess[str]:
    gh = folder / "gh"
    gh.write_text(FAKE_GH)
    gh.chmod(0o755)
    environment = {
        "PATH": f"{folder}:{Path(SASH).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "SASH": str(SASH),
        "SESSION": str(session),
        "ISSUE": "42",
        "GITHUB_REPOSITORY": "somebody/something",
        "GITHUB_OUTPUT": str(folder / "output"),
        "COMMENTS": str(folder / "comments.json"),
        **more,
    }
    script = tree.ROOT / "action" / "footer"
    return subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=False, cwd=folder)


def comments(folder: Path) -> dict[str, str]:
    place = folder / "comments.json"
    found: dict[str, str] = json.loads(place.read_text()) if place.exists() else {}
    return found


def test_the_footer_is_posted_once_and_then_updated(session: Path, tmp_path: Path) -> None:
    ran = footer(tmp_path, session, SASH_WINDOW="8000", SASH_POLICY="")
    assert (ran.returncode, ran.stdout) == (0, "posted\n"), ran.stderr
    (posted,) = comments(tmp_path).values()
    assert posted.startswith("<sub>📊 Context: ")
    assert "<!-- sash:pressure:" in posted
    assert "level=" in (tmp_path / "output").read_text()

    long_session(session, turns=12)
    ran = footer(tmp_path, session, SASH_WINDOW="6000", WHOLE="true")
    assert (ran.returncode, ran.stdout) == (0, "updated comment 100\n"), ran.stderr
    (updated,) = comments(tmp_path).values()
    assert updated != posted

    # Nothing to show by now, but what was posted must not stay as it was.
    assert footer(tmp_path, session, SASH_WINDOW="900000").returncode == 0
    (quiet,) = comments(tmp_path).values()
    assert quiet not in (posted, updated)


def test_nothing_is_posted_while_little_is_used(session: Path, tmp_path: Path) -> None:
    ran = footer(tmp_path, session, SASH_WINDOW="900000")
    assert ran.returncode == 0
    assert "nothing to post" in ran.stdout
    assert comments(tmp_path) == {}


def test_what_is_missing_fails_the_step(session: Path, tmp_path: Path) -> None:
    assert "give the input 'issue'" in footer(tmp_path, session, ISSUE="").stdout
    assert footer(tmp_path, session, ISSUE="1; rm x").returncode == 2
    assert footer(tmp_path, tmp_path / "nowhere.jsonl").returncode == 1


def test_the_action_hands_inputs_over_as_variables() -> None:
    text = (tree.ROOT / "action.yml").read_text("utf-8")
    steps = text[text.index("steps:") :]
    scripts = [line for line in steps.splitlines() if "${{" in line]
    assert scripts
    assert all(line.strip().split(":")[0].isupper() for line in scripts)
