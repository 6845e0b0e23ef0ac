"""
Real sessions as OpenAI chat messages, for replays: files of pi, Claude Code, SWE-agent, OpenHands and tau-bench.

What was said in the main conversation, in the order it was said, without thinking, pictures and the tools' own
compactions: what is replayed is the whole log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from bench.histories import Said
from sash.core.message import Message, Text, ToolCall, ToolResult
from sash.transcripts import open_transcript

SPEAK = ("user", "assistant", "tool")
DATA = Path(os.environ.get("SASH_DATA", Path(__file__).parents[2] / "shared" / "data"))


def sessions() -> dict[str, list[Said]]:
    """Every session of pi and Claude Code at hand, by file name; empty where there is no data."""
    paths = [*sorted((DATA / "pi").glob("*.jsonl")), *sorted((DATA / "claude-code").glob("*.jsonl"))]
    found = {path.stem: _settled(_messages(path)) for path in paths}
    return {name: said for name, said in found.items() if said}


def agents() -> dict[str, list[Said]]:
    """Sessions of all agents at hand: those above, and SWE-agent's, OpenHands' and tau-bench's."""
    found = sessions()
    for path in [*sorted((DATA / "swe-agent").glob("*.traj")), *sorted((DATA / "openhands-llm-logs").glob("*.json"))]:
        found[path.stem] = _settled(_messages(path))
    for path in sorted((DATA / "openai").glob("*.json")):
        whole = open_transcript(path)
        list(whole.messages())
        for part in whole.parts:
            found[f"{path.stem}-{part.name}"] = _settled(_messages(path, part.name))
    return found


def _messages(path: Path, part: str = "") -> list[Message]:
    entries = open_transcript(path, part=part).messages()
    return [entry.message for entry in entries if entry.kind in ("message", "injected") and entry.message.role in SPEAK]


def _settled(messages: Iterable[Message]) -> list[Said]:
    """
    Steps in the order in which a provider takes them.

    Each call is followed by its result, and what was left without its other half, or without
    words, is left out: the peers do not repair, and this compares costs.
    """
    said = list(messages)
    results = {
        block.call_id: {"role": "tool", "tool_call_id": block.call_id, "content": _words(block.content)}
        for message in said
        for block in message.blocks
        if type(block) is ToolResult
    }
    settled: list[Said] = []
    for message in said:
        words = _words(message.blocks)
        calls = [block for block in message.blocks if type(block) is ToolCall and block.id in results]
        if not calls and not words:
            continue
        plain: Said = {"role": message.role, "content": words}
        if calls:
            plain["tool_calls"] = [_call(call) for call in calls]
        settled.append(plain)
        settled += [results.pop(call.id) for call in calls if call.id in results]
    return settled


def _words(blocks: Iterable[object]) -> str:
    return "\n".join(block.text for block in blocks if type(block) is Text)


def _call(call: ToolCall) -> dict[str, object]:
    arguments = call.arguments
    with suppress(msgspec.MsgspecError):  # A model may have left them invalid.
        arguments = msgspec.json.encode(msgspec.json.decode(arguments)).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
