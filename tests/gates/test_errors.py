"""Errors of ours: one file, one tree, all of them public."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import sash
from sash import errors
from tests.gates import tree

ERRORS = sorted(name for name, value in vars(errors).items() if inspect.isclass(value))


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_public_and_drawn_in_the_tree(name: str) -> None:
    assert issubclass(getattr(errors, name), sash.SashError)
    assert name in sash.__all__
    assert f"{name} " in (errors.__doc__ or "").replace("\n", " ")


@pytest.mark.parametrize("path", [path for path in tree.modules() if path.name != "errors.py"], ids=tree.name)
def test_no_error_of_ours_is_defined_elsewhere(path: Path) -> None:
    classes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)]
    bases = {(node.name, ast.unparse(base).rpartition(".")[2]) for node in classes for base in node.bases}
    assert not [name for name, base in bases if base in ERRORS]
