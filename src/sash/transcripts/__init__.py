"""Session files of other tools: read in any of their formats, told by content, damage and all."""

from sash.transcripts.entry import Damage, Entry, Part, Usage
from sash.transcripts.registry import FORMATS
from sash.transcripts.transcript import Transcript, open_transcript

__all__ = ["FORMATS", "Damage", "Entry", "Part", "Transcript", "Usage", "open_transcript"]
