"""What a transcript says about itself, filled while it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sash.core.message import Message
from sash.errors import NotFound
from sash.transcripts.entry import Damage, Part
from sash.wire import Tool

NAMED = 8
"""So many parts are named one by one."""
DAMAGE_LISTED = 1_000
"""So many places are told one by one; a file that is all damage is counted from there on."""


class About:
    """What a transcript says about itself; what the file tells late is complete when all was read."""

    def __init__(self) -> None:
        self.id = ""
        self.title = ""
        self.cwd = ""
        self.model = ""
        """The model that spoke last."""
        self.started: float | None = None
        self.system: Message | None = None
        """The system prompt, where the file keeps it apart from the messages."""
        self.tools: tuple[Tool, ...] = ()
        self.asked: Mapping[str, bytes] = {}
        """Of a request's body: all its fields, those that hold the conversation empty."""
        self.parts: tuple[Part, ...] = ()
        """The conversations in the file, when there are several."""
        self.damage: list[Damage] = []
        """What could not be read, by line, in the order it was met."""
        self.damaged = 0
        """How many places there are; only the first thousand are listed."""
        self.skipped: Counter[str] = Counter()
        """Records that hold nothing said, by their type: known ones and new ones alike."""

    def lacks(self, part: str) -> NotFound:
        """What to say when this part was asked for and the file has none of that name."""
        if not self.parts:
            return NotFound("part", part, "the file holds one conversation")
        names = [each.name for each in self.parts]
        told = ", ".join(names) if len(names) <= NAMED else f"{names[0]}, {names[1]}, ... {names[-1]}"
        return NotFound("part", part, f"the file has {told}")

    def hurt(self, line: int, why: str) -> None:
        """Take note of something that could not be read."""
        self.damaged += 1
        if len(self.damage) < DAMAGE_LISTED:
            self.damage.append(Damage(line=line, why=why))
