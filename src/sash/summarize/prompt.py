"""The prompts, as files with a version: which one wrote a summary is kept with it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

VERSION = "summary-1"
WORDS_PER_TOKEN = 0.6
"""Of English; asked for a little less than there is room for, since models write a little more."""


def system_prompt(*, cap_tokens: int) -> str:
    """What the model is told it is to do."""
    return _file("").replace("{words}", f"{max(60, int(cap_tokens * WORDS_PER_TOKEN)):,}")


def question(*, turns: str, first: int, last: int, previous: str = "") -> str:
    """What the model is given: the turns, and the summary so far where there is one."""
    told = f"<summary>\n{quoted(previous)}\n</summary>\n\n" if previous else ""
    merging = f"{_file('.merge')}\n" if previous else ""
    asked = _file(".ask")
    # The turns last: their own text is not searched for places to fill in.
    for name, value in (("{previous}", told), ("{merging}", merging), ("{first}", str(first)), ("{last}", str(last))):
        asked = asked.replace(name, value.replace("{turns}", "{ turns}") if name == "{previous}" else value)
    return asked.replace("{turns}", turns, 1)


def quoted(text: str) -> str:
    """A text as data: no line of it can be taken for ours."""
    return "\n".join(f"| {line}" for line in text.splitlines() or [""])


@cache
def _file(part: str) -> str:
    return files("sash.summarize").joinpath("prompts", f"{VERSION}{part}.md").read_text("utf-8")
