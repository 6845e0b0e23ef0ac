"""The types that users see."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates import tree, typed_usage

USAGE = Path(typed_usage.__file__)


def mypy(path: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cache, check=False)


def test_the_package_says_that_it_is_typed() -> None:
    assert (tree.SOURCE / "py.typed").exists()


def test_a_checker_accepts_what_users_write_and_refuses_a_wrong_type(tmp_path: Path) -> None:
    """As a user's project would see it: the installed package, none of our configuration."""
    good, bad = tmp_path / "usage.py", tmp_path / "wrong.py"
    good.write_text(USAGE.read_text(encoding="utf-8"), encoding="utf-8")
    wrong = "number: int = sash.__version__", "sash.Policy(histroy=1)", "sash.Policy.chat(keep_share='half')"
    bad.write_text("\n".join(("import sash", *wrong)), encoding="utf-8")

    accepted = mypy(good, tmp_path)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr

    refused = mypy(bad, tmp_path)
    assert refused.returncode == 1
    assert "Incompatible types in assignment" in refused.stdout
    assert 'Unexpected keyword argument "histroy" for "Policy"' in refused.stdout
    assert 'Argument "keep_share" to "chat" of "Policy" has incompatible type' in refused.stdout


@pytest.mark.parametrize("name", [name for name, _ in inspect.getmembers(typed_usage, inspect.isfunction)
                                  if name != "assert_type"])  # fmt: skip
def test_typed_usage_runs(name: str) -> None:
    getattr(typed_usage, name)()
