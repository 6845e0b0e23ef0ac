"""Histories that nobody here wrote: read, grouped, prepared, written and checked on every wire."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from sash.core.turn import group
from sash.wire import prepare, read, wire_named, write, write_fields
from tests.real import DATA, needs_data
from tests.wire.strategies import FIELDS, WIRES

pytestmark = needs_data


def tau_bench() -> Iterator[list[dict[str, Any]]]:
    for path in sorted((DATA / "openai").glob("*.json")):
        yield from (run["traj"] for run in json.loads(path.read_bytes()))


def openhands() -> Iterator[list[dict[str, Any]]]:
    for path in sorted((DATA / "openhands-llm-logs").glob("*.json")):
        log = json.loads(path.read_bytes())
        yield log if isinstance(log, list) else log["messages"]


def swe_agent() -> Iterator[list[dict[str, Any]]]:
    for path in sorted((DATA / "swe-agent").glob("*.traj")):
        history = json.loads(path.read_bytes())["history"]
        # SWE-agent names the answered call in a list of its own.
        yield [{**m, "tool_call_id": m["tool_call_ids"][0]} if m["role"] == "tool" else m for m in history]


REPAIRED = {"renamed-id", "sorted-results", "missing-result", "moved", "empty-list"}
"""What such histories really need; OpenHands writes `"content": []` beside calls."""


@pytest.mark.parametrize("histories", [tau_bench, openhands, swe_agent])
def test_real_histories_are_valid_on_every_wire(histories: Any) -> None:
    seen = 0
    for history in histories():
        source = json.dumps(history).encode()
        conversation = read(source, "openai-chat")
        assert write(conversation) == source
        turns = group(conversation.messages)
        assert [turn.number for turn in turns if turn.number] == list(range(1, len([t for t in turns if t.number]) + 1))
        for wire in WIRES:
            sent = prepare(conversation.messages, wire)
            assert {made.what for made in sent.repairs} <= REPAIRED
            fields = write_fields(sent.messages, (), wire)
            again = read(fields[FIELDS[wire]], wire).messages
            assert wire_named(wire).problems(again) == ()
        seen += 1
    assert seen


def test_tau_bench_really_uses_ids_twice() -> None:
    def ids(history: list[dict[str, Any]]) -> Counter[str]:
        return Counter(call["id"] for message in history for call in message.get("tool_calls") or ())

    twice = [history for history in tau_bench() if any(count > 1 for count in ids(history).values())]
    assert len(twice) == 24
    for history in twice:
        sent = prepare(read(history, "openai-chat").messages, "openai-chat")
        calls = [name for message in sent.messages for name in message.opened()]
        assert len(calls) == len(set(calls)) == sum(ids(history).values())
