"""Real sessions as histories, where they are at hand."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from sash.transcripts import open_transcript
from tests.real import DATA

SOAK = bool(int(os.environ.get("SASH_SOAK", "0")))
"""Every request of every session, not a sample."""

History = list[dict[str, Any]]


def history(path: Path, part: str = "") -> History:
    """What was said in a session file, as the JSON of its wire."""
    entries = open_transcript(path, part=part).messages()
    said = (entry.message for entry in entries if entry.kind in ("message", "injected") and entry.message.blocks)
    return [json.loads(message.source) for message in said if message.role in ("user", "assistant", "tool")]


def tau_bench(every: int = 1) -> list[History]:
    """Customers and an agent with tools, in OpenAI's chat format."""
    (path,) = (DATA / "openai").glob("tau-bench*.json")
    return [history(path, str(run)) for run in range(0, 100, every)]


def swe_agent() -> list[History]:
    """Agents at work on a repository; some call tools, some write commands as text."""
    return [history(path) for path in sorted((DATA / "swe-agent").glob("*.traj"))]


def openhands() -> list[History]:
    """The messages of an agent's raw requests, each with its answer."""
    return [history(path) for path in sorted((DATA / "openhands-llm-logs").glob("*logs*.json"))]


@cache
def coding_agents() -> list[History]:
    """
    Sessions of pi and of Claude Code, as Anthropic's messages.

    Long ones, with thinking, with an orphan result and with a torn tail; in a soak all there are.
    """
    paths = [*sorted((DATA / "pi").glob("*.jsonl")), *sorted((DATA / "claude-code").glob("*.jsonl"))]
    telling = ("pi-mono-large", "entire-17", "entire-37", "entire-54", "entire-5c", "drmaciver-python")
    return [history(path) for path in paths if SOAK or path.name.startswith(telling)]
