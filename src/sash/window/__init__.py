"""A window on a conversation: a fold with its setup, and all that can be asked of it. Nothing is stored."""

from sash.window.announcing import OnFrame, announce
from sash.window.context import Context
from sash.window.excerpt import excerpt, text_of
from sash.window.parts import parts_of, parts_said
from sash.window.prepared import Prepared
from sash.window.report import Report
from sash.window.seal import Seal, Unseal, checksum
from sash.window.setup import Setup, system_prompt
from sash.window.window import Window

__all__ = [
    "Context",
    "OnFrame",
    "Prepared",
    "Report",
    "Seal",
    "Setup",
    "Unseal",
    "Window",
    "announce",
    "checksum",
    "excerpt",
    "parts_of",
    "parts_said",
    "system_prompt",
    "text_of",
]
