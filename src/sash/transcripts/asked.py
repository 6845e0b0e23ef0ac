"""How a transcript is to be read: which of its conversations, and all of it or what its model saw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from sash.transcripts.entry import Entry


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a reader."""

    part: str = ""
    as_sent: bool = False


def sent(entries: Iterable[Entry]) -> Iterator[Entry]:
    """What the program's model saw last: from the newest compaction on, with what stands for the rest."""
    window: list[Entry] = []
    for entry in entries:
        if entry.kind == "compaction":
            stands = [msgspec.structs.replace(entry, message=message, stands=(), kept=()) for message in entry.stands]
            window = [*stands, *_kept(window, entry.kept)]
        elif entry.kind != "note":
            window.append(entry)
    yield from window


def _kept(window: list[Entry], keys: tuple[str, ...]) -> list[Entry]:
    """What a compaction left in place: entries by their keys, or `first, ..., last`."""
    if keys[1:2] == ("...",):
        places = [place for place, entry in enumerate(window) if entry.key in (keys[0], keys[2])]
        return window[places[0] : places[-1] + 1] if places else []
    wanted = set(keys)
    return [entry for entry in window if entry.key in wanted]
