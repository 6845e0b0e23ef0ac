"""What a summary has lost from generation to generation, told by one that was built anew."""

from __future__ import annotations

from sash.summarize.evidence import plain
from sash.summarize.sections import parsed
from sash.summarize.verify import names_of

MOST = 50


def lost_names(before: str, rebuilt: str, *, end: int) -> tuple[str, ...]:
    """
    Names, paths, numbers and wishes that a rebuilt summary holds and the merged one had lost.

    Of turns before `end`: what the merged one did not cover yet it could not lose.
    """
    told = plain(before)
    old = [line for line in parsed(rebuilt).lines if min(line.turns, default=end) < end]
    lost = [name for line in old for name in names_of(line.words) if name not in told]
    return tuple(dict.fromkeys(lost))[:MOST]
