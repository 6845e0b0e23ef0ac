"""What `import sash` gives: exactly the listed names, each with its explanation, at little cost."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from types import ModuleType

import pytest

import sash

HEAVY = {
    "anthropic", "apsw", "asyncio", "click", "fastapi", "httpx", "httpx2", "openai", "psycopg", "pydantic", "requests",
    "rich", "splintr", "starlette", "textual", "tiktoken", "tokenizers", "urllib.request", "uvicorn",
}  # fmt: skip


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has after running this code."""
    program = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_list_is_what_is_exported() -> None:
    assert all(hasattr(sash, name) for name in sash.__all__)
    exported = {
        name
        for name, value in vars(sash).items()
        if name == "__version__"
        or not (name.startswith("_") or name == "TYPE_CHECKING" or isinstance(value, ModuleType))
    }
    assert sorted(exported) == sorted(sash.__all__)
    with pytest.raises(AttributeError, match="'fitt'"):
        sash.fitt  # type: ignore[attr-defined]  # noqa: B018  (it must fail for both of them)


def test_little_is_imported_before_it_is_asked_for() -> None:
    assert not {name for name in loaded_after("import sash") if name.startswith(("msgspec", "sash.core", "sash.wire"))}
    assert "sash.fitting.door" in loaded_after("import sash; sash.fit")


def test_no_name_is_listed_twice() -> None:
    assert len(sash.__all__) == len(set(sash.__all__))


@pytest.mark.parametrize("name", sash.__all__)
def test_every_exported_name_explains_itself(name: str) -> None:
    value = getattr(sash, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        # Its own, not one inherited from Exception or Struct.
        assert value.__doc__
        assert not inspect.isclass(value) or "__doc__" in vars(value)


def test_importing_sash_brings_no_sdk_no_server_and_no_face() -> None:
    assert not loaded_after("import sash") & HEAVY


def test_the_version_is_answered_before_the_command_line_is_built() -> None:
    answered = loaded_after("from sash.cli.main import main; assert main(['--version']) == 0")
    assert not answered & HEAVY


def test_the_import_gate_sees_a_heavy_import() -> None:
    assert loaded_after("import click") & HEAVY == {"click"}
