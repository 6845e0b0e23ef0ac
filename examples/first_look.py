"""A conversation that outgrows its budget, fitted request by request: what `make run` shows."""

from __future__ import annotations

import json
from typing import Any

import sash

BUDGET = 4_000

REQUESTS = [
    ("Refactor the auth module", "src/auth.py", 60),
    ("Which tests cover the login?", "tests/test_login.py", 40),
    ("Always use type hints from now on", "", 0),
    ("Fix the failing session test", "tests/test_session.py", 50),
    ("Add rate limiting to the API", "src/api.py", 45),
    ("Document the new settings", "docs/settings.md", 30),
    ("Why does the build take so long?", "build.log", 400),
    ("Make the cache smaller", "src/cache.py", 55),
    ("Now release 1.4", "CHANGELOG.md", 20),
]


def conversation() -> list[dict[str, Any]]:
    """What an agent and its user said: requests, a file read for each, an answer."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "You are a careful programmer."}]
    for number, (request, path, lines) in enumerate(REQUESTS):
        said.append({"role": "user", "content": request})
        if path:
            function = {"name": "read_file", "arguments": json.dumps({"path": path})}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            said.append({"role": "assistant", "tool_calls": [call]})
            text = "\n".join(f"{line:4}  what stands in line {line} of {path}" for line in range(1, lines + 1))
            said.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
        said.append({"role": "assistant", "content": f"Done: {request.lower()}."})
    return said


def picture(fitted: sash.Fitted, width: int = 78) -> str:
    """The turns of a conversation: the model sees what stands below the divider."""
    explained = fitted.explain()
    lines: list[str] = []
    for turn in explained.turns:
        if turn.number == explained.boundary and lines:
            lines.append(" context ".center(width, "─"))
        size = f"{turn.tokens} of {turn.whole}" if turn.tokens != turn.whole else str(turn.whole)
        bar = "█" * round(turn.tokens.value / 100) + "░" * round((turn.whole.value - turn.tokens.value) / 100)
        lines.append(f"{turn.number:2}  {turn.title:34} {turn.state:8} {size:>14}  {bar}"[:width].rstrip())
    return "\n".join(lines)


def main() -> None:
    """Fits the growing conversation and shows where it stands after each request."""
    said = conversation()
    policy = sash.Policy(history_tokens=BUDGET)
    ends = [end for end, message in enumerate(said, 1) if message["role"] == "user"]
    requests = [sash.fit(said[:end], model="claude-sonnet-4-5", policy=policy) for end in ends]
    frame = 0
    for end, fitted in zip(ends, requests, strict=True):
        report = fitted.report
        moved = f"  <- slide: {report.frame.reason}" if report.frame.number != frame else ""
        frame = report.frame.number
        print(f"{end:2} messages: {report.before:>5} said, {report.after:>5} of it sent{moved}")
    fitted = requests[-1]
    print(f"\n{picture(fitted)}\n\nWhat stands at the head of the request for the turns that left:\n")
    print(fitted.messages[1]["content"])


if __name__ == "__main__":
    main()
