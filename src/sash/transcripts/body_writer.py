"""A history as a request's body: what a provider takes, or a fixture for a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from sash.core.message import Message
from sash.transcripts.carrying import carried
from sash.transcripts.entry import Entry
from sash.transcripts.heading import Heading
from sash.wire import Repair, carry_over, carry_tools, json_text, write_fields

USAGE = "usage"
"""What `Repair` calls usage that is not written."""


def write(entries: Iterable[Entry], heading: Heading, lost: list[Repair], *, wire: str) -> Iterator[bytes]:
    """The body, on one line."""
    system = carry_over(() if heading.system is None else (heading.system,), wire)
    said: list[Message] = []
    reported = 0
    newest: Entry | None = None
    for message, entry in carried(entries, wire, lost):
        said.append(message)
        # Of what is said in one go a wire may make several messages.
        reported += entry.usage is not None and entry is not newest
        newest = entry
    if reported:
        why = f"the usage that was reported with {reported:,} of the answers has no place in a body"
        lost.append(Repair(what=USAGE, message=-1, why=why))
    tools, missing = carry_tools(heading.tools, wire)
    lost += [*system.lost, *missing]
    model = {"model": msgspec.json.encode(heading.model)} if heading.model else {}
    yield json_text.object_of(model | write_fields((*system.messages, *said), tools, wire)) + b"\n"
