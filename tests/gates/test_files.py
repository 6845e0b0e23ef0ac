"""What no file of the project may hold: a registry's address, a place on somebody's machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gates import tree

REGISTRY = re.compile(
    r"https?://[^\s\"'`)]*(?:pypi|pythonhosted|npmjs|registry\.|/simple\b|debian\.org)", re.IGNORECASE
)
INDEX_OPTION = re.compile(r"^\s*(?:--)?(?:extra-)?index-(?:url|strategy)\b|^\s*(?:--)?find-links\b", re.MULTILINE)
SOMEBODYS_PLACE = re.compile(r"(?<![\w.])/(?:root|home|Users|work|opt)/\w")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("path", tree.files(), ids=tree.name)
def test_no_file_names_a_package_registry(path: Path) -> None:
    assert not REGISTRY.search(text_of(path))
    assert not INDEX_OPTION.search(text_of(path))


@pytest.mark.parametrize(
    "path", [path for path in tree.files() if not path.is_relative_to(tree.ROOT / "tests")], ids=tree.name
)
def test_no_file_names_a_place_on_somebodys_machine(path: Path) -> None:
    assert not SOMEBODYS_PLACE.search(text_of(path))


@pytest.mark.parametrize("path", sorted(tree.ROOT.glob("requirements*.lock")), ids=tree.name)
def test_every_locked_package_has_its_hashes(path: Path) -> None:
    entries = re.split(r"^(?=[a-z0-9])", text_of(path), flags=re.MULTILINE | re.IGNORECASE)[1:]
    assert entries
    assert not [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry]


def test_the_gate_would_see_an_address() -> None:
    # Put together here, so that this file passes its own gate.
    assert REGISTRY.search("https://files." + "pythonhosted.org/packages/x.whl")
    assert INDEX_OPTION.search("--index-url https://example.org/")
    assert SOMEBODYS_PLACE.search("see " + "/home" + "/somebody/notes")
