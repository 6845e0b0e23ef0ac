"""
Where each public name lives: it is imported when it is first asked for.

Importing all of it takes a tenth of a second, which a status line, a hook or `sash --version`
would feel and has no use for.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_HOMES = {
    "sash.core.budget": ("Allotment", "Budget"),
    "sash.core.cost": ("Prices",),
    "sash.core.difference": ("Difference",),
    "sash.core.explanation": ("Explanation",),
    "sash.core.facts": ("Fact",),
    "sash.core.frame": ("Frame",),
    "sash.core.model_limits": ("ModelLimits",),
    "sash.core.policy": ("Policy",),
    "sash.core.pressure": ("Pressure",),
    "sash.core.sources": ("Source",),
    "sash.core.summary": ("Summary",),
    "sash.core.tokens": ("TokenCount",),
    "sash.counting": ("count_tokens",),
    "sash.fitting": ("Fitted", "fit"),
    "sash.store": ("Found",),
    "sash.summarize": ("Summarizer",),
    "sash.thread": ("Appended", "Mark", "Thread", "Verification", "open", "tools"),
    "sash.transcripts": ("Entry", "Heading", "Transcript", "open_transcript", "write_transcript"),
    "sash.window": ("Context", "Prepared", "Report"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name of `sash`, imported now and kept there."""
    if name not in _HOME:
        raise AttributeError(f"module 'sash' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    setattr(sys.modules["sash"], name, value)
    return value
