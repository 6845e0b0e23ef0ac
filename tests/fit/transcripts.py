"""Real sessions as histories: a compact reader for the tests, where they are at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

DATA = Path(os.environ.get("SASH_DATA") or Path(__file__).parents[3] / "shared" / "data")

SOAK = bool(int(os.environ.get("SASH_SOAK", "0")))
"""Every request of every session, not a sample."""

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no transcripts at $SASH_DATA or ../shared/data")

History = list[dict[str, Any]]


def tau_bench() -> list[History]:
    """Customers and an agent with tools, in OpenAI's chat format."""
    sessions = json.loads((DATA / "openai" / "tau-bench-airline-000-099.json").read_text())
    return [session["traj"] for session in sessions]


def swe_agent() -> list[History]:
    """Agents at work on a repository; some call tools, some write commands as text."""
    found = []
    for path in sorted((DATA / "swe-agent").glob("*.traj")):
        history: History = []
        for said in json.loads(path.read_text())["history"]:
            if said["role"] == "tool":
                history.append({"role": "tool", "tool_call_id": said["tool_call_ids"][0], "content": said["content"]})
            else:
                calls = {"tool_calls": said["tool_calls"]} if said.get("tool_calls") else {}
                history.append({"role": said["role"], "content": said["content"], **calls})
        found.append(history)
    return found


def openhands() -> list[History]:
    """The messages of an agent's raw requests."""
    found = []
    for path in sorted((DATA / "openhands-llm-logs").glob("*.json")):
        logged = json.loads(path.read_text())
        if isinstance(logged, dict) and isinstance(logged.get("messages"), list):
            found.append([_plain(said) for said in logged["messages"]])
    return found


def _plain(said: dict[str, Any]) -> dict[str, Any]:
    known = ("role", "content", "tool_calls", "tool_call_id", "name")
    return {name: said[name] for name in known if said.get(name) is not None or name == "content"}


@cache
def coding_agents() -> list[History]:
    """
    Sessions of pi and of Claude Code, as Anthropic's messages.

    Long ones, with thinking, with an orphan result and with a torn tail; in a soak all there are.
    """
    paths = [*sorted((DATA / "pi").glob("*.jsonl")), *sorted((DATA / "claude-code").glob("*.jsonl"))]
    telling = ("pi-mono-large", "entire-17", "entire-37", "entire-54", "entire-5c", "drmaciver-python")
    return [_anthropic(_records(path)) for path in paths if SOAK or path.name.startswith(telling)]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            # A torn tail.
            continue
        if isinstance(record.get("message"), dict) and not record.get("isSidechain"):
            yield record["message"]


def _anthropic(records: Iterator[dict[str, Any]]) -> History:
    history: History = []
    last_id = None
    for said in records:
        role, blocks = said.get("role"), said.get("content")
        if role == "toolResult":
            result = {"type": "tool_result", "tool_use_id": said["toolCallId"], "content": _blocks(blocks)}
            history.append({"role": "user", "content": [result]})
        elif role == "user" and blocks:
            history.append({"role": "user", "content": blocks if isinstance(blocks, str) else _blocks(blocks)})
        elif role == "assistant" and (content := _blocks(blocks)):
            if said.get("id") and said["id"] == last_id and history[-1]["role"] == "assistant":
                history[-1] = {"role": "assistant", "content": history[-1]["content"] + content}
            else:
                history.append({"role": "assistant", "content": content})
        last_id = said.get("id") if role == "assistant" else None
    return history


def _blocks(blocks: Any) -> list[dict[str, Any]]:
    if isinstance(blocks, str):
        return [{"type": "text", "text": blocks}] if blocks.strip() else []
    return [known for block in blocks or () if (known := _block(block)) is not None]


def _block(block: dict[str, Any]) -> dict[str, Any] | None:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block["text"]} if block["text"].strip() else None
        case "toolCall":
            return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["arguments"]}
        case "tool_use":
            return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["input"]}
        case "thinking":
            proof = block.get("thinkingSignature") or block.get("signature") or ""
            return {"type": "thinking", "thinking": block["thinking"], "signature": proof}
        case "image" if "mimeType" in block:
            source = {"type": "base64", "media_type": block["mimeType"], "data": block["data"]}
            return {"type": "image", "source": source}
        case "tool_result" | "image":
            return block
    return None
