"""What a provider says a request took, or that it took too much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sash.core.calibration import Report
from sash.core.refusal import Refusal, lesson_of
from sash.errors import InvalidMessage, RequestTooLong
from sash.providers import overflow_of
from sash.thread.acts import Overflowed, event_of
from sash.thread.replay import Replay
from sash.thread.tail import Draft, drafted
from sash.window import Window
from sash.wire import wire_named
from sash.wire.json_text import as_json

_READ: Mapping[str, tuple[str, ...]] = {
    # Anthropic counts what came from its cache, and what went into it, apart.
    "anthropic": ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "openai-chat": ("prompt_tokens",),
    "openai-responses": ("input_tokens",),
    "flat": ("prompt_tokens", "input_tokens"),
}


def tokens_read(usage: object, wire: str) -> int:
    """
    The tokens that the model read, cached ones among them.

    Takes the `usage` of a response as a mapping, as JSON or as the SDK's object; a whole
    response will do too. What the model wrote is no part of it. What does not say what was
    read is refused: nothing could be learned from it, and nobody would notice.
    """
    fields = _READ[wire_named(wire).NAME]
    try:
        said: Any = msgspec.json.decode(as_json(usage))
    except msgspec.DecodeError:
        said = None
    if isinstance(said, dict) and isinstance(said.get("usage"), dict):
        said = said["usage"]
    if not isinstance(said, dict):
        raise InvalidMessage(
            f"{usage!r} is no usage; send what the provider's response has under `usage`", field="usage"
        )
    parts = [said.get(name) for name in fields]
    known = [part for part in parts if isinstance(part, int) and not isinstance(part, bool) and part >= 0]
    if known:
        return sum(known)
    whose = f"no usage of {wire}, whose field is {' + '.join(fields)}"
    if wrong := {name: said[name] for name in fields if said.get(name) is not None}:
        raise InvalidMessage(f"must be a whole number from 0, and {wrong} is none", field="usage")
    if any(name in said for names in _READ.values() for name in names):
        raise InvalidMessage(f"{usage!r} is {whose}; name the `wire` it is of", field="usage")
    raise InvalidMessage(
        f"{usage!r} is {whose}; send what the provider's response has under `usage`, or leave it", field="usage"
    )


def report_of(window: Window, read: int) -> Report:
    """What a provider read of the last request, beside our estimate of it."""
    fold, ledger = window.fold, window.context().ledger
    beside = sum(row.used.value for row in ledger.rows if row.source not in ("history", "reserve"))
    return Report(
        context=read,
        messages=fold.asked,
        fixed=beside,
        model=window.choice.model.name,
        frame=fold.frame.number,
    )


def refusal_in(complaint: object) -> Refusal:
    """The numbers in an error, or in its words; none where it tells none."""
    told = complaint if isinstance(complaint, RequestTooLong) else overflow_of(str(complaint))
    return Refusal() if told is None else Refusal(tokens=told.tokens, limit=told.limit, answer=told.answer)


def overflowed(replay: Replay, seq: int, refusal: Refusal) -> Draft:
    """A draft of what a refused request teaches, and of the slide that it leads to."""
    window = replay.window
    limits = window.fold.limits
    # A request that was to take more than this has given way by itself.
    sent = min(window.context().used.value, limits.room)
    # A window learned from a refusal may have been a guess: where it was told, it is told again.
    known = limits.window_known and not window.setup.told_window
    lesson = lesson_of(refusal, sent=sent, window=limits.window, known=known)
    report = None if lesson.context is None else report_of(window, lesson.context)
    return drafted(replay, event_of("overflow", Overflowed(lesson=lesson, report=report), seq=seq + 1))
