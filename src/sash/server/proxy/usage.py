"""What a provider says of a request while its answer passes: tokens read, and errors that come after a 200."""

from __future__ import annotations

from typing import Any

import msgspec

from sash.server.proxy.frames import payload

_USAGE, _ERROR = b'"usage"', b"error"


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, as the provider counted them; None where it did not say."""

    context: int | None = None
    """All that it read, cached or not."""
    cached: int = 0
    """Of it, found in its cache."""
    output: int | None = None


class _Told(msgspec.Struct):
    """The fields that any of the wires has, and nothing else of what may be megabytes."""

    usage: dict[str, Any] | None = None
    message: _Message | None = None
    response: _Message | None = None


class _Message(msgspec.Struct):
    usage: dict[str, Any] | None = None


_told = msgspec.json.Decoder(_Told)


class UsageReader:
    """Picks usage out of an answer in passing. What it cannot read it lets pass: it never stands in the way."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.told: dict[str, Any] = {}
        """The same in the provider's own words."""

    def see_frame(self, frame: bytes) -> None:
        """A whole frame of a stream."""
        if _USAGE in frame:
            self.see_body(payload(frame)[1])

    def see_body(self, body: bytes) -> None:
        """The JSON of an answer, or of one event of it."""
        try:
            told = _told.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        for holder in (told.message, told.response, told):
            if holder is not None and holder.usage is not None:
                self._take(holder.usage)

    def _take(self, said: dict[str, Any]) -> None:
        self.told |= {name: value for name, value in said.items() if value is not None}
        # The last word counts: Anthropic's deltas repeat what they know better by then.
        read = _first(said, "prompt_tokens", "input_tokens")
        cached, context = self.usage.cached, self.usage.context
        if read is not None:
            details = said.get("prompt_tokens_details") or said.get("input_tokens_details")
            within = _first(details, "cached_tokens") if isinstance(details, dict) else None
            found, written = _first(said, "cache_read_input_tokens"), _first(said, "cache_creation_input_tokens")
            # OpenAI counts what it found in its cache among the tokens read, Anthropic beside them.
            cached = within if within is not None else found or 0
            context = read + (found or 0) + (written or 0)
        output = _first(said, "completion_tokens", "output_tokens")
        self.usage = Usage(context=context, cached=cached, output=self.usage.output if output is None else output)


def error_in(frame: bytes) -> bytes | None:
    """The JSON of an error that comes as a frame of a stream; None where the frame is none."""
    if _ERROR not in frame:
        return None
    name, data = payload(frame)
    try:
        told = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    failed = told.get("response")
    held = failed.get("error") if isinstance(failed, dict) and told.get("type") == "response.failed" else None
    return data if name == "error" or told.get("error") or told.get("type") == "error" or held else None


def _first(said: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = said.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
