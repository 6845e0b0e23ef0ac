"""
The estimate of `sash context` beside what the tools' providers reported, for every transcript that has it.

A transcript holds neither the system prompt nor the tools of the program, so what they took is read off the first
report of a session and added to the estimates after it; a logged request holds all of it, and is compared whole. Where
the program compacted, the estimate starts anew from what the program's model saw then. `grown` is what the context grew
by between two reports, summed up; the error is of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec

from bench.report import Report
from bench.transcripts import DATA
from sash.core.message import Message
from sash.core.tokens import Counter
from sash.counters import counter_for
from sash.errors import UnknownTranscript
from sash.transcripts import Transcript, open_transcript


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One session: what its provider counted, and what we did."""

    name: str
    model: str
    requests: int
    outside: int
    """Tokens of system prompt and tools, which the file does not hold."""
    largest: int
    """The largest context that was reported."""
    estimate: int
    """Ours of the same request."""
    grown: int
    estimated: int

    @property
    def error(self) -> float:
        """Of what the context grew by."""
        return (self.estimated - self.grown) / self.grown if self.grown else 0.0


def run(report: Report) -> None:
    """One table, a row for each session."""
    found = [compared for path in _files() if (compared := _compare(path)) is not None]
    if not found:
        report.table("Context, estimated and reported", ["left out"], [["no real data at SASH_DATA or ../shared/data"]])
        return
    found.sort(key=lambda each: -each.largest)
    rows = [
        [
            each.name[-40:], each.model, f"{each.requests:,}", f"{each.outside:,}", f"{each.largest:,}",
            f"~{each.estimate:,}", f"{each.grown:,}", f"{each.error:+.1%}",
        ]
        for each in found
    ]  # fmt: skip
    grown, estimated = sum(each.grown for each in found), sum(each.estimated for each in found)
    misses = [abs(each.error) for each in found if each.grown]
    rows.append(
        [
            "all",
            "",
            f"{sum(each.requests for each in found):,}",
            "",
            "",
            "",
            f"{grown:,}",
            f"{estimated / grown - 1:+.1%}",
        ]
    )
    report.table(
        "Context, estimated and reported",
        ["session", "model", "requests", "outside", "largest", "estimate", "grown", "error"],
        rows,
        note=f"median error of a session: {median(misses):.1%}" if misses else "",
    )


def _files() -> Iterator[Path]:
    for path in sorted(DATA.rglob("*.json*")):
        # Fixtures of formats tell numbers that nobody counted.
        if path.parent.name != "format-fixtures":
            yield path


def _compare(path: Path) -> Compared | None:
    try:
        transcript = open_transcript(path)
    except UnknownTranscript:
        return None
    reports = list(_reports(transcript))
    if not reports:
        return None
    model = transcript.model
    counter = counter_for(model).counter
    tools = counter.tools([tool.source for tool in transcript.tools]).value if transcript.tools else 0
    outside = tools or max(reports[0].context - reports[0].counted(counter), 0)
    grown = reports[0].context if tools else 0
    estimated = reports[0].counted(counter) + tools if tools else 0
    largest = estimate = 0
    last: _Asked | None = None
    for asked in reports:
        ours = asked.counted(counter)
        if asked.context > largest:
            largest, estimate = asked.context, ours + outside
        if last is not None and last.window == asked.window and asked.context > last.context:
            grown += asked.context - last.context
            estimated += ours - last.counted(counter)
        last = asked
    return Compared(
        name=path.stem, model=model, requests=len(reports), outside=outside, largest=largest, estimate=estimate,
        grown=grown, estimated=estimated,
    )  # fmt: skip


class _Asked:
    """One request, as far as the transcript tells."""

    def __init__(self, context: int, said: list[Message], upto: int, window: int) -> None:
        self.context, self.window = context, window
        self._said, self._upto = said, upto
        self._counted: int | None = None

    def counted(self, counter: Counter) -> int:
        """Our estimate of its messages."""
        if self._counted is None:
            self._counted = sum(_tokens(message, counter) for message in self._said[: self._upto])
        return self._counted


def _reports(transcript: Transcript) -> Iterator[_Asked]:
    said: list[Message] = []
    asked = window = 0
    for entry in transcript.messages():
        if entry.usage is not None:
            upto = asked if entry.kind == "note" else len(said)
            yield _Asked(entry.usage.context, said, upto, window)
        if entry.kind == "compaction":
            said, window = list(entry.stands), window + 1
        elif entry.message.role != "meta":
            said.append(entry.message)
        if entry.message.role != "assistant" and entry.kind != "note":
            asked = len(said)


_COUNTS: dict[tuple[str, bytes], int] = {}


def _tokens(message: Message, counter: Counter) -> int:
    key = (counter.id, message.source)
    if key not in _COUNTS:
        _COUNTS[key] = sum(counter.block(block).value for block in message.blocks) + counter.around(message).value
    return _COUNTS[key]
