"""Every session file at hand, read and held against a count made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sash.core.message import ToolCall, ToolResult
from sash.core.turn import group
from sash.errors import UnknownTranscript
from sash.transcripts import Transcript, open_transcript
from tests.real import DATA, needs_data
from tests.transcripts import golden
from tests.transcripts.golden import Golden, Tally

pytestmark = needs_data

COUNTED: dict[str, tuple[str, Callable[[Path], Golden]]] = {
    "claude-code/*.jsonl": ("claude-code", golden.claude_code),
    "pi/*.jsonl": ("pi", golden.pi),
    "gemini/*.json": ("gemini", golden.gemini),
    "swe-agent/*.traj": ("swe-agent", golden.swe_agent),
    "openhands-llm-logs/*.json": ("openai-chat", golden.openhands),
    "format-fixtures/*claude*": ("claude-code", golden.claude_code),
    "format-fixtures/*codex*": ("codex", golden.codex),
    "format-fixtures/session_*": ("codex", golden.codex),
    "format-fixtures/*droid*": ("droid", golden.droid),
    "format-fixtures/*gemini*": ("gemini", golden.gemini),
    "format-fixtures/*pi__*": ("pi", golden.pi),
}


def files() -> Iterator[Any]:
    for pattern, (name, count) in COUNTED.items():
        for path in sorted(DATA.glob(pattern)):
            yield pytest.param(path, name, count, id=path.relative_to(DATA).as_posix())


def counted(transcript: Transcript) -> Golden:
    tally = Tally()
    entries = list(transcript.messages())
    messages = [entry.message for entry in entries if entry.kind == "message"]
    blocks = [block for message in messages for block in message.blocks]
    tally.messages = len(messages)
    tally.turns = sum(turn.number > 0 for turn in group(messages))
    tally.calls = [block.id for block in blocks if type(block) is ToolCall]
    tally.results = [block.call_id for block in blocks if type(block) is ToolResult]
    tally.compactions = sum(entry.kind == "compaction" for entry in entries)
    tally.damaged = len({damage.line for damage in transcript.damage})
    return tally.golden()


@pytest.mark.parametrize(("path", "name", "count"), list(files()))
def test_a_session_file_holds_what_a_count_by_hand_finds(
    path: Path, name: str, count: Callable[[Path], Golden]
) -> None:
    transcript = open_transcript(path)
    assert transcript.format == name
    assert counted(transcript) == count(path)


@pytest.mark.parametrize(
    ("pattern", "count"), [("openai/tau-bench*.json", golden.tau_bench), ("locomo/*.json", golden.locomo)]
)
def test_every_run_of_a_file_with_many_is_read_as_a_part(pattern: str, count: Callable[[Path], list[Golden]]) -> None:
    (path,) = DATA.glob(pattern)
    transcript = open_transcript(path)
    list(transcript.messages())
    found = [counted(open_transcript(path, part=part.name)) for part in transcript.parts]
    assert found == count(path)


def test_every_file_at_hand_is_counted_or_is_no_session() -> None:
    known = {path for pattern in (*COUNTED, "openai/*.json", "locomo/*.json") for path in DATA.glob(pattern)}
    for path in sorted(DATA.rglob("*")):
        if path.is_file() and path not in known:
            with pytest.raises(UnknownTranscript):
                open_transcript(path)
