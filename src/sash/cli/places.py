"""Paths as people say them."""

from __future__ import annotations

from pathlib import Path


def near(path: str) -> str:
    """A path from here, or from home, where that is shorter; anything else as it is."""
    if not path.startswith("/"):
        return path
    for base, name in ((Path.cwd(), ""), (Path.home(), "~/")):
        if base != Path("/") and path.startswith(f"{base}/"):
            return name + path[len(str(base)) + 1 :]
    return path
