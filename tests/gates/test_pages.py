"""Pages that cannot go stale: what they show runs, what they link to is there, what is public is on them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import sash
from sash.cli.group import COMMANDS
from sash.core.budget import Row
from tests.gates import tree
from tools import command_pages

FENCE = re.compile(r"^```python\n(.*?)^```(?:\n+```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


class Snippet(NamedTuple):
    """A python block of a page, and the text block right after it, which is what it prints."""

    page: Path
    line: int
    code: str
    printed: str | None


def snippets() -> list[Snippet]:
    found = []
    for page in tree.pages():
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Snippet(page, line, match[1], match[2]))
    return found


def words_of_the_docs() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in tree.pages() if "docs" in page.parts)


@pytest.mark.parametrize("snippet", snippets(), ids=lambda snippet: f"{tree.name(snippet.page)}:{snippet.line}")
def test_a_snippet_runs_and_prints_what_the_page_says(snippet: Snippet, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet.code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if snippet.printed is not None:
        assert done.stdout == snippet.printed


def test_the_readme_shows_an_example() -> None:
    assert [snippet for snippet in snippets() if snippet.page == tree.ROOT / "README.md"]


@pytest.mark.parametrize("name", sash.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert re.search(rf"`(?:sash\.)?{re.escape(name)}\b", words_of_the_docs())


VALUES = (
    sash.Policy,
    sash.Budget,
    sash.Allotment,
    sash.Prices,
    sash.Source,
    sash.Report,
    sash.Difference,
    sash.Explanation,
    Row,
)
"""What users state, and what they are told, field by field."""


@pytest.mark.parametrize("field", [*{field: None for value in VALUES for field in value.__struct_fields__}])
def test_every_field_that_users_state_or_are_told_is_documented(field: str) -> None:
    assert re.search(rf"`{field}`", words_of_the_docs())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"`sash {name}" in words_of_the_docs()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_is_its_own_help(name: str) -> None:
    page = command_pages.PAGES / f"{name}.md"
    assert page.exists(), "run `make docs`"
    assert page.read_text("utf-8") == command_pages.page(name), "run `make docs`"


def test_every_setting_is_on_its_page() -> None:
    page = command_pages.PAGES.parent / "settings.md"
    assert page.read_text("utf-8") == command_pages.settings_page(), "run `make docs`"


def test_no_page_is_left_of_a_command_that_is_gone() -> None:
    assert {page.stem for page in command_pages.PAGES.glob("*.md")} == set(COMMANDS), "run `make docs`"


@pytest.mark.parametrize("page", tree.pages(), ids=tree.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = [link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert not [target for target in targets if target and not (page.parent / target).exists()]


def test_the_readme_names_only_targets_that_make_knows() -> None:
    known = set(re.findall(r"^([a-z-]+):", (tree.ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for page in tree.pages() for name in re.findall(r"\bmake ([a-z-]+)`", page.read_text("utf-8"))}
    assert named
    assert named <= known


def test_the_changelog_has_the_current_version() -> None:
    changelog = (tree.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(sash.__version__)}\b", changelog, re.MULTILINE)


def test_the_picture_in_the_readme_is_what_the_command_draws() -> None:
    readme = (tree.ROOT / "README.md").read_text(encoding="utf-8")
    line = next(line for line in readme.splitlines() if line.startswith("sash show examples/"))
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-m", *line.split()],
        capture_output=True,
        text=True,
        check=True,
        cwd=tree.ROOT,
        env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80"},
    )
    assert " context " in shown.stdout
    assert shown.stdout in readme
