"""A history as a request's body: what a provider takes, or a fixture for a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from sash.transcripts.carrying import carried
from sash.transcripts.entry import Entry
from sash.transcripts.heading import Heading
from sash.wire import Repair, carry_over, carry_tools, json_text, write_fields


def write(entries: Iterable[Entry], heading: Heading, lost: list[Repair], *, wire: str) -> Iterator[bytes]:
    """The body, on one line."""
    system = carry_over(() if heading.system is None else (heading.system,), wire)
    said = [message for message, _ in carried(entries, wire, lost)]
    tools, missing = carry_tools(heading.tools, wire)
    lost += [*system.lost, *missing]
    model = {"model": msgspec.json.encode(heading.model)} if heading.model else {}
    yield json_text.object_of(model | write_fields((*system.messages, *said), tools, wire)) + b"\n"
