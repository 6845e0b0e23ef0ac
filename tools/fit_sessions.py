"""
What providers reported for real sessions: by how much the context grew between two requests, and what was said between.

A compact reader of pi and Claude Code session files, for the fit and the benchmark only: it keeps what was sent to the
model, with the provider's count, and throws the rest away.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from sash.counters.estimate import Family, estimate_text

UNTOLD_TOOLS = ("plan", "todo", "task", "skill", "websearch", "question", "agent")
"""Tools whose use brings text into the context that the transcript does not hold."""


class Said(msgspec.Struct):
    """What was added to a conversation between two requests."""

    texts: list[str] = []
    signatures: list[int] = []
    """Characters of the signature of each thinking block."""
    users: int = 0
    assistants: int = 0
    calls: int = 0
    parameters: int = 0
    results: int = 0
    pictures: int = 0
    steps: int = 0
    """Assistant messages that call tools."""


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """Two consecutive requests of a session: the reported context of the second, and what came since the first."""

    session: str
    reported: int
    """Context of the second request."""
    grown: int
    """By how much it is larger than the first's."""
    said: Said
    follows: bool
    """The second request is the first plus what was said: no compaction, other model or failure in between."""
    clean: bool
    """And all that was added is in the transcript."""


class _Answer(msgspec.Struct):
    """An assistant message, gathered from the lines that it is spread over."""

    id: str
    model: str
    context: int
    said: Said = msgspec.field(default_factory=Said)
    broken: bool = False
    untold: bool = False


def growths(path: Path) -> list[Growth]:
    """Every pair of consecutive requests in a session file."""
    answers = list(_of_pi(path) if path.parent.name == "pi" else _of_claude_code(path))
    found = []
    for before, after in pairwise(answers):
        grown = after.context - before.context
        follows = (
            not before.broken
            and min(before.context, after.context) > 0
            and before.model == after.model
            and before.model.startswith("claude")
            and grown > 0
        )
        said = before.said
        clean = follows and said.calls == said.results and not said.pictures and not before.untold
        found.append(
            Growth(session=path.name, reported=after.context, grown=grown, said=said, follows=follows, clean=clean)
        )
    return found


def sessions(data: Path, tool: str, *, at_least: int = 4) -> dict[str, list[Growth]]:
    """The growths of every session file of a tool (`pi` or `claude-code`) that has enough of them to judge by."""
    found = {path.name: growths(path) for path in sorted((data / tool).glob("*.jsonl"))}
    return {name: pairs for name, pairs in found.items() if sum(pair.clean for pair in pairs) >= at_least}


def session_held_out(name: str) -> bool:
    """Whether a session is kept from the fit, to judge by."""
    return crc32(name.encode()) % 3 == 0


def estimate_growth(growth: Growth, weights: Family) -> int:
    """What was said between two requests, with its framing."""
    said, framing = growth.said, weights.framing
    around = said.users * framing.user + said.assistants * framing.assistant
    around += said.steps * framing.first_call + said.calls * framing.call + said.parameters * framing.parameter
    around += said.results * framing.further_result
    words = sum(estimate_text(text, weights) for text in said.texts)
    return math.ceil(around) + words + sum(framing.thought("x" * length) for length in said.signatures)


def error_of_sum(estimates: Sequence[float], pairs: Sequence[Growth], chosen: Sequence[bool]) -> float:
    """By how many percent the estimates of the chosen growths, added up, are off what was reported."""
    counted = [(estimate, pair.grown) for estimate, pair, good in zip(estimates, pairs, chosen, strict=True) if good]
    return 100 * (sum(estimate for estimate, _ in counted) / sum(grown for _, grown in counted) - 1)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def _of_claude_code(path: Path) -> Iterator[_Answer]:
    answer: _Answer | None = None
    for line in _lines(path):
        message = line.get("message") or {}
        if line.get("isSidechain"):
            continue
        if line.get("subtype") == "compact_boundary" or line.get("isCompactSummary"):
            if answer:
                answer.broken = True
        elif line.get("type") == "assistant":
            usage = message.get("usage") or {}
            context = sum(
                usage.get(field) or 0
                for field in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            )
            # Results stand between the lines of one message, so it ends only where another id begins.
            if answer is None or answer.id != message.get("id"):
                if answer:
                    yield answer
                answer = _Answer(id=message.get("id", ""), model=message.get("model", ""), context=context)
                answer.said.assistants = 1
            answer.broken |= message.get("model") == "<synthetic>" or bool(line.get("isApiErrorMessage"))
            _add(answer, message.get("content"), written=False)
        elif line.get("type") == "user" and answer:
            _add(answer, message.get("content"), written=True)
    if answer:
        yield answer


def _of_pi(path: Path) -> Iterator[_Answer]:
    answer: _Answer | None = None
    for entry in _branch(list(_lines(path))):
        message = entry.get("message") or {}
        role = message.get("role")
        if entry.get("type") in {"compaction", "branch_summary"} and answer:
            answer.broken = True
        elif role == "assistant":
            if answer:
                yield answer
            usage = message.get("usage") or {}
            context = sum(usage.get(field) or 0 for field in ("input", "cacheRead", "cacheWrite"))
            answer = _Answer(id="", model=message.get("model", ""), context=context)
            answer.said.assistants = 1
            answer.broken = message.get("stopReason") not in {"stop", "toolUse"}
            _add(answer, message.get("content"), written=False)
        elif role == "toolResult" and answer:
            answer.said.results += 1
            _add_result(answer.said, message.get("content"))
        elif role == "user" and answer:
            _add(answer, message.get("content"), written=True)
        elif role and answer:
            answer.broken = True
    if answer:
        yield answer


def _branch(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries from the root to the newest leaf; of a file without ids, all of them."""
    by_id = {entry["id"]: entry for entry in entries if entry.get("id") and entry.get("type") != "session"}
    if not by_id:
        return entries
    path = []
    here = entries[-1] if entries[-1].get("id") else None
    while here is not None:
        path.append(here)
        here = by_id.get(here.get("parentId") or "")
    return path[::-1]


def _add(answer: _Answer, content: Any, *, written: bool) -> None:
    said, words = answer.said, False
    for block in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
        match block.get("type"):
            case "text":
                said.texts.append(block.get("text") or "")
                words = True
            case "thinking" | "redacted_thinking":
                said.signatures.append(len(block.get("signature") or block.get("thinkingSignature") or ""))
            case "tool_use" | "toolCall":
                arguments: Any = block.get("input") or block.get("arguments") or {}
                said.steps += not said.calls
                said.calls += 1
                said.parameters += len(arguments)
                written_out = (part for pair in arguments.items() for part in _written(pair))
                said.texts.append("\n".join([block["name"], *written_out]))
                answer.untold |= any(tool in block["name"].lower() for tool in UNTOLD_TOOLS)
            case "tool_result":
                said.results += 1
                _add_result(said, block.get("content"))
            case "image" | "document":
                said.pictures += 1
    said.users += written and words


def _written(argument: tuple[str, Any]) -> tuple[str, str]:
    name, value = argument
    return name, value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _add_result(said: Said, content: Any) -> None:
    for block in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
        if block.get("type") == "text":
            said.texts.append(block.get("text") or "")
        else:
            said.pictures += 1
