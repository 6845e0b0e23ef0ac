"""Where the gates look: the files of the project, and nothing that was made from them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sash"
MADE = {".git", ".venv", ".venv-peers", "__pycache__", "dist", "build", "htmlcov", ".hypothesis", ".coverage"}


@cache
def files() -> tuple[Path, ...]:
    """Every file that belongs to the project: as git sees it, or all but what is made where there is no git."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = [ROOT / name for name in listed.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not _made(path.relative_to(ROOT))]
    return tuple(sorted(path for path in found if path.is_file()))


def modules() -> list[Path]:
    """Every module of the product."""
    return [path for path in files() if path.suffix == ".py" and path.is_relative_to(SOURCE)]


def pages() -> list[Path]:
    """Every page that users read."""
    return [path for path in files() if path.suffix == ".md"]


def name(path: Path) -> str:
    """How a failing gate names a file."""
    return path.relative_to(ROOT).as_posix()


def _made(path: Path) -> bool:
    return any(
        part in MADE or part.endswith(("_cache", ".egg-info")) or part.startswith(".coverage") for part in path.parts
    )
