"""Who has a model: one verb for all of them, and errors of ours."""

from sash.providers.anthropic import Anthropic
from sash.providers.echo import Echo
from sash.providers.events import Event, Finished, Stop, TextDelta, ThinkingDelta, ToolCalled, Usage
from sash.providers.local import Local, LocalServer
from sash.providers.openai import OpenAI
from sash.providers.overflow import Overflow, overflow_of
from sash.providers.patience import Patience, asked_pause
from sash.providers.protocol import Provider
from sash.providers.registry import NAMES, provider_named
from sash.providers.whole import Answer, answer

__all__ = [
    "NAMES",
    "Answer",
    "Anthropic",
    "Echo",
    "Event",
    "Finished",
    "Local",
    "LocalServer",
    "OpenAI",
    "Overflow",
    "Patience",
    "Provider",
    "Stop",
    "TextDelta",
    "ThinkingDelta",
    "ToolCalled",
    "Usage",
    "answer",
    "asked_pause",
    "overflow_of",
    "provider_named",
]
