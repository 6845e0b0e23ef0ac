"""Real transcripts and texts, where they are at hand; they are never copied here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("SASH_DATA") or Path(__file__).parents[2] / "shared" / "data")

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no real transcripts at $SASH_DATA or ../shared/data")
