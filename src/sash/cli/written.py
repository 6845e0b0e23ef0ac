"""What a session file that we write says about itself."""

from __future__ import annotations

from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from sash.core.message import Message
from sash.transcripts import Heading, Transcript
from sash.window import Setup


def heading_for(name: str, setup: Setup, transcript: Transcript | None) -> Heading:
    """
    The heading of a session.

    Its id is made of what it was made from: written again it is the same session, and never the
    original, which a tool would otherwise take it for.
    """
    origin = transcript.id if transcript is not None else ""
    system: Message | None = setup.system[0] if setup.system else None
    return Heading(
        id=str(uuid5(NAMESPACE_URL, f"sash:{origin or name}")),
        cwd=(transcript.cwd if transcript is not None else "") or str(Path.cwd()),
        model=setup.model,
        at=transcript.started if transcript is not None else None,
        system=system,
        tools=setup.tools,
    )
