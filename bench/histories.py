"""
Generated histories in the shape of an agent's work, as OpenAI chat messages.

The same seed gives the same history. A turn has 7.5 messages and makes 3.6 requests, each of which adds about 850
tokens (chars / 4); 10,000 messages are 17 MB of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

import msgspec

Said = dict[str, Any]
"""One message of the OpenAI chat wire."""

FIXED_TOKENS = 8_000
FILES = 60
_POOL_LINES = 6_000


def _pool(seed: int) -> str:
    draw = Random(seed)
    nouns = "window frame boundary turn step digest slide log request budget source handle policy mark".split()
    verbs = "opens closes reads keeps moves counts folds shows leaves carries".split()
    lines = []
    for number in range(_POOL_LINES):
        noun, verb, other = draw.choice(nouns), draw.choice(verbs), draw.choice(nouns)
        lines.append(
            f"{number:5d}  src/{noun}_{draw.randrange(90)}.py: the {noun} {verb} the {other} {draw.random():.6f}"
        )
    return "\n".join(lines)


_TEXT = _pool(7)

SYSTEM: Said = {"role": "system", "content": f"You are a careful engineer.\n{_TEXT[: FIXED_TOKENS * 4 - 28]}"}
"""System prompt and tools in one: the part of a request that is always there."""


def turns(seed: int = 1) -> Iterator[list[Said]]:
    """Turns without end: the user asks, the assistant calls tools a few times and answers."""
    draw = Random(seed)
    for number in count(1):
        turn: list[Said] = [{"role": "user", "content": f"Turn {number}: {_words(draw, 60, 1_200)}"}]
        for step in range(_tool_steps(draw)):
            calls = [_call(draw, f"call_{seed}_{number}_{step}_{place}") for place in range(1 + (draw.random() < 0.1))]
            turn.append({"role": "assistant", "content": _words(draw, 40, 500), "tool_calls": calls})
            turn += [
                {"role": "tool", "tool_call_id": call["id"], "content": _words(draw, 60, 21_000)} for call in calls
            ]
        turn.append({"role": "assistant", "content": _words(draw, 120, 2_400)})
        yield turn


def turns_of(messages: int, seed: int = 1) -> list[list[Said]]:
    """Whole turns of at least so many messages in all."""
    made: list[list[Said]] = []
    size = 0
    for turn in turns(seed):
        if size >= messages:
            return made
        made.append(turn)
        size += len(turn)
    raise AssertionError  # pragma: no cover  # there is always another turn


def json_list(history: list[Said]) -> bytes:
    """The messages as a client would send them."""
    return msgspec.json.encode(history)


def _tool_steps(draw: Random) -> int:
    steps = 0
    while steps < 12 and draw.random() < 0.72:
        steps += 1
    return steps


def _call(draw: Random, call_id: str) -> Said:
    path = f"src/module_{int(draw.random() ** 2 * FILES)}.py"
    name = draw.choice(("read_file", "read_file", "run_command", "edit_file"))
    if name == "run_command":
        arguments: dict[str, Any] = {"command": f"python -m pytest -q {path}"}
    elif name == "edit_file":
        arguments = {"path": path, "old": _words(draw, 40, 900), "new": _words(draw, 40, 900)}
    else:
        arguments = {"path": path}
    text = msgspec.json.encode(arguments).decode()
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _words(draw: Random, least: int, most: int) -> str:
    """Some lines: mostly short, sometimes long."""
    length = int(least * (most / least) ** draw.random())
    start = draw.randrange(len(_TEXT) - most)
    return _TEXT[start : start + length]
