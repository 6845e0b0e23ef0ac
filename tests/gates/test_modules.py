"""How the product's modules are built: small, pure where they say so, and with a reason beside each exception."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.gates import tree

LONGEST = 600
EMPTY_NAMES = {"common", "data", "handler", "handlers", "helper", "helpers", "info", "manager", "misc", "util", "utils"}
IMPURE_CALLS = {"breakpoint", "eval", "exec", "input", "open", "print", "__import__"}
LOCKS = {"Lock", "RLock"}
SUPPRESSION = re.compile(r"[#]\s*(?:noqa|type:\s*ignore|pragma:\s*no\s)")
REASONED = re.compile(
    # mypy takes no reason but a second comment.
    r"[#]\s*(?:(?:noqa:\s*[A-Z0-9, ]+|pragma:\s*no \w+)\s*[#(-]|type:\s*ignore\[[a-z-, ]+\]\s*[#])\s*\w+"
)

every_module = pytest.mark.parametrize("path", tree.modules(), ids=tree.name)
every_pure_module = pytest.mark.parametrize(
    "path",
    [path for path in tree.modules() if {"core", "wire"} & set(path.relative_to(tree.SOURCE).parts[:1])],
    ids=tree.name,
)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@every_module
def test_no_module_is_longer_than_one_can_hold_in_mind(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@every_module
def test_a_module_is_named_after_what_it_holds(path: Path) -> None:
    assert path.stem not in EMPTY_NAMES


@every_module
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path))


@every_module
def test_no_module_keeps_state_in_globals(path: Path) -> None:
    assert not [node.lineno for node in ast.walk(parsed(path)) if isinstance(node, ast.Global)]


@pytest.mark.parametrize("path", [path for path in tree.modules() if path.name == "__init__.py"], ids=tree.name)
def test_a_package_only_lists_names(path: Path) -> None:
    code = [node for node in parsed(path).body if not (is_docstring(node) or is_import(node) or is_export_list(node))]
    assert not [node.lineno for node in code]


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_import(node: ast.stmt) -> bool:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        # Names that are imported when they are asked for, and for type checkers at once.
        return all(map(is_import, (*node.body, *node.orelse)))
    return isinstance(node, ast.Import | ast.ImportFrom)


def is_export_list(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]


@every_pure_module
def test_a_pure_module_touches_nothing_outside(path: Path) -> None:
    """Imports of I/O, clocks and chance are the import contract's business; the builtins are this test's."""
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    assert not [
        (call.lineno, call.func.id)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in IMPURE_CALLS
    ]


@every_pure_module
def test_a_pure_module_takes_only_locks_from_threading(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            assert "threading" not in [alias.name for alias in node.names], "write `from threading import Lock`"
        if isinstance(node, ast.ImportFrom) and node.module == "threading":
            assert {alias.name for alias in node.names} <= LOCKS


@pytest.mark.parametrize("path", [path for path in tree.files() if path.suffix == ".py"], ids=tree.name)
def test_each_suppressed_warning_has_its_reason_beside_it(path: Path) -> None:
    """On its line, or as a comment on the line above where there is no room."""
    lines = ["", *path.read_text(encoding="utf-8").splitlines()]
    assert not [
        number
        for number, (above, line) in enumerate(pairwise(lines), 1)
        if SUPPRESSION.search(line) and not REASONED.search(line) and not above.lstrip().startswith("# ")
    ]
