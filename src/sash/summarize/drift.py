"""What a summary has lost from generation to generation, told by one that was built anew."""

from __future__ import annotations

from sash.summarize.evidence import plain
from sash.summarize.sections import parsed
from sash.summarize.verify import names_of

MOST = 50


def lost_names(before: str, rebuilt: str) -> tuple[str, ...]:
    """Names, paths, numbers and wishes that a rebuilt summary holds and the merged one had lost."""
    told = plain(before)
    lost = [name for line in parsed(rebuilt).lines for name in names_of(line.words) if name not in told]
    return tuple(dict.fromkeys(lost))[:MOST]
