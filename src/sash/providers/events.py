"""What a model says while it answers: deltas as they come, and one last event that holds all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Stop = Literal["end", "length", "calls", "refused", "paused"]
"""Why a model stopped: it was done, was cut off, waits for results, would not, or wants to be asked to go on."""


class TextDelta(msgspec.Struct, frozen=True, tag="text"):
    """More words of the answer."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, tag="thinking"):
    """More of the model's reasoning."""

    text: str


class ToolCalled(msgspec.Struct, frozen=True, tag="tool_call"):
    """The model asks for a tool to be run. Said once, when the call is whole."""

    id: str
    name: str
    arguments: str = "{}"
    """JSON text as the model wrote it, which may not be valid."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider says an answer took. Believable numbers only: what is missing or impossible is no usage."""

    input_tokens: int
    """Read and neither found in the cache nor written to it."""
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reported: Mapping[str, Any] = {}
    """As the provider wrote it, for `thread.record_usage`."""

    @property
    def context_tokens(self) -> int:
        """All that the model read."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag="finished"):
    """The last event: the answer is whole."""

    stop: Stop
    message: Mapping[str, Any]
    """The assistant's message in the provider's own wire, ready for `thread.append`."""
    usage: Usage | None = None
    """None where the provider told nothing that can be believed."""
    model: str = ""
    """The model that answered, as the provider names it."""
    id: str = ""
    """The provider's own name for the answer."""


Event = TextDelta | ThinkingDelta | ToolCalled | Finished


def counted(number: object) -> int | None:
    """A number of tokens, None for what cannot be one."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MOST_TOKENS:
        return None
    return number


_MOST_TOKENS = 1_000_000_000
"""No request is larger: a provider that says so is not believed."""
