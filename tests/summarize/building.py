"""Turns to summarize, and a model that summarizes well."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sash.core.message import Message
from sash.summarize import Asked, Evidence, SaidTurn, Words
from tests.builders import Call, assistant, result, user

STORY: tuple[tuple[Message, ...], ...] = (
    (
        user("Build me a parser for INI files in src/ini.py. Always write tests first, and never use regex."),
        assistant("I will begin with tests.", Call("c1", '{"path": "tests/test_ini.py"}', "write")),
        result("c1", "wrote 40 lines"),
        assistant("The tests are in tests/test_ini.py: 12 cases."),
    ),
    (
        user("Now the parser itself, please."),
        assistant("", Call("c2", '{"command": "pytest -q tests/test_ini.py"}', "bash")),
        result("c2", "FAILED test_nested - KeyError: 'section'\n1 failed, 11 passed", error=True),
        assistant(
            "One of them fails because nested sections are split at the first bracket; I decided to scan by hand."
        ),
    ),
    (
        user("Use port 8421 for the demo server, and keep the token in DEMO_TOKEN."),
        assistant("Done: the demo listens on port 8421 and reads DEMO_TOKEN."),
    ),
)

GOOD = """## Task
- "Build me a parser for INI files in src/ini.py." [t1]

## Instructions
- "Always write tests first, and never use regex." [t1]

## Decisions
- Nested sections are split at the first bracket, so the parser scans by hand [t2]

## Files
- tests/test_ini.py: the tests, 12 cases [t1]

## Commands
- `pytest -q tests/test_ini.py` gave 1 failed, 11 passed [t2]

## Problems
- test_nested fails with KeyError: 'section' [t2]

## Names
- The demo server listens on port 8421 and the token is in DEMO_TOKEN [t3]"""


def turns(story: Sequence[Sequence[Message]] = STORY, *, first: int = 1, tokens: int = 2_000) -> list[SaidTurn]:
    return [SaidTurn(number=n, messages=tuple(said), tokens=tokens) for n, said in enumerate(story, first)]


def evidence_of(given: Sequence[SaidTurn]) -> Evidence:
    words = {turn.number: Words(turn) for turn in given}
    return words.get


def asked(given: Sequence[SaidTurn] | None = None, *, previous: str = "", cap: int = 1_000) -> Asked:
    said = turns() if given is None else given
    return Asked(turns=said, previous=previous, cap_tokens=cap, replaced_tokens=sum(turn.tokens for turn in said))


def chatty(number: int) -> tuple[Message, ...]:
    """A turn with something to remember in it."""
    return (
        user(f"Please set value_{number} to {1000 + number} in conf/part{number}.toml."),
        assistant(f"value_{number} is {1000 + number} now, in conf/part{number}.toml."),
    )


_turn = re.compile(r"^\[t(\d+)\]$", re.MULTILINE)
_old = re.compile(r"^\| - (.*)$", re.MULTILINE)


def faithful(question: str) -> str:
    """What a good model answers: every old line, and one for each turn that is shown."""
    old = list(_old.findall(question.partition("</summary>")[0])) if "<summary>" in question else []
    new = [f"value_{n} is {1000 + int(n)}, in conf/part{n}.toml [t{n}]" for n in _turn.findall(question) if int(n) > 0]
    return "## Names\n" + "\n".join(f"- {line}" for line in dict.fromkeys([*old, *new]))
