"""Session files of other tools: read in any of their formats, told by content, damage and all."""

from sash.transcripts.entry import Damage, Entry, Part, Usage
from sash.transcripts.heading import Heading
from sash.transcripts.places import Session, find_sessions, session_named
from sash.transcripts.registry import FORMATS
from sash.transcripts.transcript import Transcript, open_transcript
from sash.transcripts.write import WRITERS, Wrote, write_transcript

__all__ = [
    "FORMATS",
    "WRITERS",
    "Damage",
    "Entry",
    "Heading",
    "Part",
    "Session",
    "Transcript",
    "Usage",
    "Wrote",
    "find_sessions",
    "open_transcript",
    "session_named",
    "write_transcript",
]
