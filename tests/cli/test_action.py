"""The GitHub Action: its own steps, run by bash, against an API that writes down what it is asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.front_door import SASH
from tests.cli.sessions import long_session
from tests.gates import tree

ISSUE = "/repos/somebody/something/issues/42/comments"
COMMENT = "/repos/somebody/something/issues/comments"


class GitHub(ThreadingHTTPServer):
    """As much of GitHub's API as comments take, two to a page."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.comments: dict[int, str] = {1: "I have a question.", 2: "> quoted\n>\n> <!-- sash:pressure:0 -->", 3: ""}
        self.asked: list[str] = []
        self.refuses = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answering(BaseHTTPRequestHandler):
    server: GitHub

    def _answer(self, told: object, *, status: int = 200, link: str = "") -> None:
        content = json.dumps(told).encode()
        self.send_response(status)
        if link:
            self.send_header("Link", link)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _said(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def do_GET(self) -> None:
        address, _, query = self.path.partition("?")
        assert address == ISSUE
        assert self.headers["Authorization"] == "Bearer a-token"
        page = int(match[1]) if (match := re.search(r"\bpage=(\d+)", query)) else 1
        if self.server.refuses:
            self._answer({}, status=403)
            return
        self.server.asked.append(f"GET {page}")
        found = list(self.server.comments.items())[2 * page - 2 : 2 * page]
        more = len(self.server.comments) > 2 * page
        link = f'<{self.server.address}{ISSUE}?per_page=100&page={page + 1}>; rel="next"' if more else ""
        self._answer([{"id": number, "body": body or None} for number, body in found], link=link)

    def do_POST(self) -> None:
        assert self.path == ISSUE
        number = max(self.server.comments) + 1
        self.server.comments[number] = self._said()
        self.server.asked.append("POST")
        self._answer({"id": number}, status=201)

    def do_PATCH(self) -> None:
        address, _, number = self.path.rpartition("/")
        assert address == COMMENT
        self.server.comments[int(number)] = self._said()
        self.server.asked.append(f"PATCH {number}")
        self._answer({"id": int(number)})

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def github() -> Iterator[GitHub]:
    with GitHub() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return long_session(tmp_path / "session; echo owned.jsonl", turns=8)


def step(name: str) -> str:
    """What a step of the action runs: of these, the last line that begins so."""
    text = (tree.ROOT / "action.yml").read_text("utf-8")
    found = re.findall(rf"^ *run: (.*{re.escape(name)}.*)$", text, re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


def footer(folder: Path, session: Path, github: GitHub, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        # The runner's python3 has nothing of ours: only the command that was installed does.
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ACTION": str(tree.ROOT),
        "SASH": str(SASH),
        "SESSION": str(session),
        "ISSUE": "42",
        "TOKEN": "a-token",
        "GITHUB_API_URL": github.address,
        "GITHUB_REPOSITORY": "somebody/something",
        "GITHUB_OUTPUT": str(folder / "output"),
        **more,
    }
    command = ["bash", "-e", "-o", "pipefail", "-c", step("footer.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder)


def test_the_footer_is_posted_once_and_then_updated(session: Path, tmp_path: Path, github: GitHub) -> None:
    ran = footer(tmp_path, session, github, SASH_WINDOW="8000", SASH_POLICY="")
    assert (ran.returncode, ran.stdout) == (0, "posted comment 4\n"), ran.stdout + ran.stderr
    assert github.asked == ["GET 1", "GET 2", "POST"]
    posted = github.comments[4]
    assert posted.startswith("<sub>📊 Context: ")
    assert re.fullmatch(r"<!-- sash:pressure:[0-9a-f]{16} -->", posted.splitlines()[-1])
    assert re.fullmatch(r"percent=\d+\nlevel=\w+\n", (tmp_path / "output").read_text())

    github.asked.clear()
    long_session(session, turns=12)
    ran = footer(tmp_path, session, github, SASH_WINDOW="6000", WHOLE="true")
    assert (ran.returncode, ran.stdout) == (0, "updated comment 4\n"), ran.stdout + ran.stderr
    assert github.asked == ["GET 1", "GET 2", "PATCH 4"]
    updated = github.comments[4]
    assert updated != posted

    # Nothing to show by now, but what was posted must not stay as it was.
    assert footer(tmp_path, session, github, SASH_WINDOW="900000").returncode == 0
    assert github.comments[4] not in (posted, updated)
    assert len(github.comments) == 4


def test_nothing_is_posted_while_little_is_used(session: Path, tmp_path: Path, github: GitHub) -> None:
    ran = footer(tmp_path, session, github, SASH_WINDOW="900000")
    assert ran.returncode == 0
    assert "nothing to post" in ran.stdout
    assert github.asked == ["GET 1", "GET 2"]


def test_what_is_missing_fails_the_step_and_says_so(session: Path, tmp_path: Path, github: GitHub) -> None:
    ran = footer(tmp_path, session, github, ISSUE="1; rm x")
    assert (ran.returncode, ran.stdout) == (1, "::error::no issue number, but '1; rm x': give the input 'issue'\n")
    assert "input 'session' is empty" in footer(tmp_path, session, github, SESSION="").stdout
    nowhere = footer(tmp_path, tmp_path / "nowhere.jsonl", github)
    assert nowhere.returncode == 1
    assert nowhere.stdout.startswith("::error::sash: there is no file")
    github.refuses = True
    assert "permissions: issues: write" in footer(tmp_path, session, github).stdout
    assert len(github.comments) == 3


def test_the_action_hands_inputs_over_as_variables() -> None:
    text = (tree.ROOT / "action.yml").read_text("utf-8")
    steps = text[text.index("steps:") :]
    scripts = [line for line in steps.splitlines() if "${{" in line]
    assert scripts
    assert all(line.strip().split(":")[0].isupper() for line in scripts)


def test_the_action_installs_the_checkout_that_it_stands_in() -> None:
    text = (tree.ROOT / "action.yml").read_text("utf-8")
    assert "ACTION: ${{ github.action_path }}" in text
    assert re.search(r'pip install .*"\$ACTION"$', text, re.MULTILINE)


def test_the_script_imports_only_what_every_python_has() -> None:
    code = "import runpy, sys; sys.argv[0] = 'x'; runpy.run_path('action/footer.py', run_name='looked_at')"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
