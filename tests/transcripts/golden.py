"""
What a session file holds, counted by hand: a few lines of plain Python for each format, and none of sash.

It takes the formats at their word and the files as they are, so it can be held against the readers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]


class Golden(NamedTuple):
    """The line that a reader has to reproduce."""

    messages: int
    turns: int
    calls: int
    results: int
    orphans: int
    """Calls that nobody answered and answers that nobody asked for."""
    compactions: int
    damaged_lines: int


class Tally:
    def __init__(self) -> None:
        self.messages = self.turns = self.compactions = self.damaged = self.nameless = 0
        self.calls: list[Any] = []
        self.results: list[Any] = []

    def golden(self) -> Golden:
        calls, results = list(self.calls), list(self.results)
        orphans = 0
        for answered in results:
            if answered in calls:
                calls.remove(answered)
            else:
                orphans += 1
        return Golden(
            self.messages, self.turns, len(self.calls), len(self.results), orphans + len(calls), self.compactions,
            self.damaged,
        )  # fmt: skip


def lines(path: Path, tally: Tally) -> Iterator[Json]:
    for line in path.read_bytes().split(b"\n"):
        text = line.decode("utf-8", "replace").strip("\0 \t\r")
        found, damaged = [], b"\0" in line
        while text:
            try:
                record, end = json.JSONDecoder().raw_decode(text)
            except ValueError:
                damaged = True
                break
            found.append(record)
            text = text[end:].lstrip()
        tally.damaged += damaged or len(found) > 1
        yield from (record for record in found if isinstance(record, dict))


def claude_code(path: Path) -> Golden:
    tally = Tally()
    ids: set[Any] = set()
    records = list(lines(path, tally))
    for record in records:
        queued = record.get("attachment") or {}
        if queued.get("type") == "queued_command" and queued.get("commandMode") == "prompt":
            record |= {"type": "user", "message": {"content": queued["prompt"]}}
    said = [record for record in records if isinstance(record.get("message"), dict)]
    side = all(record.get("isSidechain") for record in said)
    for record in records:
        tally.compactions += record.get("subtype") == "compact_boundary"
        if record.get("type") in ("tool_use", "tool_result"):
            (tally.calls if record["type"] == "tool_use" else tally.results).append(None)
            tally.messages += 1
            tally.damaged += 1
    for record in records:
        if record.get("subtype") == "compact_boundary":
            ids.clear()
        if not isinstance(record.get("message"), dict):
            continue
        if bool(record.get("isSidechain")) != side or record.get("isCompactSummary"):
            continue
        message = record["message"]
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        results = [block for block in blocks if block["type"] == "tool_result"]
        if record["type"] == "assistant" and not record.get("isApiErrorMessage"):
            tally.messages += message.get("id") is None or message["id"] not in ids
            ids.add(message.get("id"))
        elif record["type"] == "user" and not results and said_by_program(content):
            ids.clear()
        elif record["type"] == "user" and (results or not record.get("isMeta")):
            tally.messages += 1
            tally.turns += not results
            if not results:
                ids.clear()
        tally.calls += [block.get("id") for block in blocks if block["type"] == "tool_use"]
        tally.results += [block.get("tool_use_id") for block in results]
        tally.damaged += any("id" not in block for block in blocks if block["type"] == "tool_use")
        tally.damaged += any("tool_use_id" not in block for block in results)
        parts = [part for block in results if isinstance(block.get("content"), list) for part in block["content"]]
        tally.damaged += any(isinstance(part.get("source"), str) for part in parts)
    return tally.golden()


def said_by_program(content: Any) -> bool:
    """Whether Claude Code itself wrote a user's line: what it did, or what a command printed."""
    texts = [content] if isinstance(content, str) else [block.get("text") or "" for block in content]
    begins = ("[Request interrupted by user", "<local-command-stdout>", "<bash-stdout>", "Caveat: The messages below")
    return all(text.startswith(begins) for text in texts)


def pi(path: Path) -> Golden:
    tally = Tally()
    entries = [entry for entry in lines(path, tally) if entry.get("type") != "session"]
    by_id = {entry["id"]: entry for entry in entries if "id" in entry}
    branch = entries
    if by_id:
        branch, here = [], entries[-1:]
        while here:
            branch += here
            here = [by_id[name] for name in [here[0].get("parentId")] if name in by_id]
    for entry in branch:
        tally.compactions += entry["type"] == "compaction"
        message = entry.get("message") or {}
        if entry["type"] != "message":
            continue
        tally.messages += 1
        tally.turns += message["role"] == "user"
        if message["role"] == "toolResult":
            tally.results.append(message["toolCallId"])
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block["type"] == "toolCall":
                tally.calls.append(block["id"])
    return tally.golden()


def codex(path: Path) -> Golden:
    tally = Tally()
    records = list(lines(path, tally))
    for record in records:
        tally.compactions += record.get("type") == "compacted"
        item = record.get("payload") if record.get("type") == "response_item" else None
        if item is None and ("role" in record or record.get("type") in OLD_ITEMS):
            item = record
        if item is None or item.get("type") == "ghost_snapshot":
            continue
        kind, role = item.get("type", "message"), item.get("role")
        text = json.dumps(item)
        if role == "developer" or (role == "user" and "<environment_context>" in text):
            continue
        tally.messages += 1
        tally.turns += role == "user"
        if kind in ("function_call", "custom_tool_call", "tool_call"):
            tally.calls.append(item.get("call_id"))
            tally.damaged += "call_id" not in item
        elif kind in ("function_call_output", "custom_tool_call_output", "tool_result", "function_result"):
            tally.results.append(item.get("call_id"))
            tally.damaged += "call_id" not in item
    return tally.golden()


OLD_ITEMS = ("tool_call", "tool_result", "function_call", "function_result")


def gemini(path: Path) -> Golden:
    tally = Tally()
    try:
        records = json.loads(path.read_text())["messages"]
    except ValueError:
        records = [record for record in lines(path, tally) if "type" in record]
    for record in records:
        calls = record.get("toolCalls") or []
        tally.messages += 1 + bool(calls)
        tally.turns += record["type"] == "user"
        tally.calls += [call["id"] for call in calls]
        tally.results += [call["id"] for call in calls if call.get("result")]
    return tally.golden()


def droid(path: Path) -> Golden:
    tally = Tally()
    for record in lines(path, tally):
        if record["type"] != "message":
            continue
        tally.messages += 1
        kinds = [block["type"] for block in record["message"]["content"]]
        tally.turns += record["message"]["role"] == "user" and "tool_result" not in kinds
        for block in record["message"]["content"]:
            if block["type"] == "tool_use":
                tally.calls.append(block["id"])
            elif block["type"] == "tool_result":
                tally.results.append(block["tool_use_id"])
    return tally.golden()


def chat(messages: list[Json]) -> Golden:
    tally = Tally()
    for message in messages:
        tally.messages += 1
        tally.turns += message["role"] == "user"
        tally.calls += [call["id"] for call in message.get("tool_calls") or ()]
        if message["role"] == "tool":
            tally.results.append(message.get("tool_call_id") or message["tool_call_ids"][0])
    return tally.golden()


def swe_agent(path: Path) -> Golden:
    return chat(json.loads(path.read_bytes())["history"])


def openhands(path: Path) -> Golden:
    log = json.loads(path.read_bytes())
    if isinstance(log, list):
        return chat(log)
    return chat([*log["messages"], log["response"]["choices"][0]["message"]])


def tau_bench(path: Path) -> list[Golden]:
    return [chat(run["traj"]) for run in json.loads(path.read_bytes())]


def locomo(path: Path) -> list[Golden]:
    found = []
    for talk in json.loads(path.read_bytes()):
        said = [
            message
            for name, session in talk["conversation"].items()
            if name.startswith("session_") and isinstance(session, list)
            for message in session
        ]
        turns = sum(message["speaker"] == talk["conversation"]["speaker_a"] for message in said)
        found.append(Golden(len(said), turns, 0, 0, 0, 0, 0))
    return found
