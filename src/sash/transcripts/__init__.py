"""Session files of other tools: read in any of their formats, told by content, damage and all."""

from sash.transcripts.entry import Damage, Entry, Part, Usage
from sash.transcripts.places import Session, find_sessions, session_named
from sash.transcripts.registry import FORMATS
from sash.transcripts.transcript import Transcript, open_transcript

__all__ = [
    "FORMATS",
    "Damage",
    "Entry",
    "Part",
    "Session",
    "Transcript",
    "Usage",
    "find_sessions",
    "open_transcript",
    "session_named",
]
