"""Session files as Claude Code writes them, made for a test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MODEL = "claude-sonnet-4-5"
STARTED = 1_700_000_000

Line = dict[str, Any]


def exchange(number: int, request: str, *, result: str = "", answer: str = "Done.") -> list[Line]:
    """One turn: a request, a file read for it where there is a result, an answer."""
    said = [_line(number, 0, "user", {"role": "user", "content": request})]
    if result:
        call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": f"src/{number}.py"}}
        said.append(_spoken(number, 1, [call]))
        block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        said.append(_line(number, 2, "user", {"role": "user", "content": [block]}))
    said.append(_spoken(number, 3, [{"type": "text", "text": answer}]))
    return said


def _spoken(number: int, place: int, content: list[Any]) -> Line:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90 * number, "output_tokens": 5}
    message = {"id": f"m{number}.{place}", "role": "assistant", "model": MODEL, "content": content, "usage": usage}
    return _line(number, place, "assistant", message)


def _line(number: int, place: int, kind: str, message: Line) -> Line:
    at = STARTED + 60 * number + place
    stamp = f"2023-11-{14 + at // 86_400 % 10:02}T{at // 3_600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}.000Z"
    return {
        "type": kind,
        "uuid": f"u{number}.{place}",
        "parentUuid": f"u{number}.{place - 1}" if place else None,
        "sessionId": "s1",
        "timestamp": stamp,
        "message": message,
    }


def written(path: Path, lines: Sequence[Line], tail: str = "") -> Path:
    """The lines as a file."""
    path.write_text("\n".join(map(json.dumps, lines)) + "\n" + tail, "utf-8")
    return path


def long_session(path: Path, turns: int = 30, words: int = 400) -> Path:
    """A session that outgrows a small budget: each turn reads a file of some hundred words."""
    lines: list[Line] = []
    for number in range(1, turns + 1):
        result = "\n".join(f"{line} what stands in line {line} of file {number}" for line in range(words // 8))
        lines += exchange(number, f"Request number {number}", result=result, answer=f"Answer {number}.")
    return written(path, lines)
