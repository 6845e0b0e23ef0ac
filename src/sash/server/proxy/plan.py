"""What is done to a request before it goes on: nothing, or as much as keeps it inside its window."""

from __future__ import annotations

from typing import Any

import msgspec

from sash.core.calibration import Report
from sash.errors import InvalidMessage
from sash.fitting import Fitted, KeptSummaries, fit
from sash.server.proxy.headers import Raw
from sash.server.proxy.learned import NOTHING, Lesson
from sash.server.proxy.setup import Kind, ProxySetup
from sash.wire import json_text, wire_named
from sash.wire.openai_responses import continues

MOST_REPAIRS = 20
"""Repairs that a header names; of more it says only how many."""


class Sketch(msgspec.Struct, frozen=True, kw_only=True):
    """The few fields of a body by which it is decided what to do with it."""

    model: Any = None
    stream: Any = None
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None
    prompt_cache_key: Any = None
    session_id: Any = None
    metadata: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    messages: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()
    system: msgspec.Raw = msgspec.Raw()

    @property
    def name(self) -> str:
        """The model's."""
        return self.model if isinstance(self.model, str) else ""

    @property
    def streams(self) -> bool:
        """Whether the answer is to come as a stream."""
        return self.stream is True

    @property
    def continues_upstream(self) -> bool:
        """Whether the provider keeps what is said, a prompt or a history, so that there is none here to fit."""
        return continues(
            previous_response_id=self.previous_response_id,
            conversation=self.conversation,
            prompt=self.prompt,
            listed=bytes(self.input),
        )

    @property
    def answer(self) -> int:
        """The largest answer that is asked for; 0 where none is stated."""
        for asked in (self.max_tokens, self.max_completion_tokens, self.max_output_tokens):
            if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0:
                return asked
        return 0


_RAW = ("messages", "input", "system")
_DECIDING = [name for name in Sketch.__struct_fields__ if name not in _RAW]
_sketch = msgspec.json.Decoder(Sketch)


def sketch_of(body: bytes) -> Sketch:
    """The sketch of a body; `InvalidMessage` where it is no JSON object."""
    try:
        return _sketch.decode(body)
    except (msgspec.DecodeError, RecursionError):
        # With a lone surrogate in it, or numbers that no machine can hold; or no JSON at all, which is said here.
        fields = _fields(body)
        known = {name: _value(bytes(fields[name])) for name in _DECIDING if name in fields}
        return Sketch(**known, **{name: fields[name] for name in _RAW if name in fields})


def _fields(body: bytes) -> dict[str, msgspec.Raw]:
    try:
        return json_text.fields_as_given(json_text.as_json(body))[0]
    except InvalidMessage as error:
        raise InvalidMessage(f"the body {error.problem}", field=error.field) from None


def _value(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(json_text.mend_surrogates(raw))
    except (msgspec.DecodeError, RecursionError):
        return None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it goes on, and what is said of it."""

    wire: str
    body: bytes
    sketch: Sketch = Sketch()
    label: str
    """The frame's number, or why there is none: `bypass`, `upstream`, `passed`."""
    fitted: Fitted | None = None
    changed: bool = False
    factor: float = 1.0

    @property
    def kind(self) -> Kind:
        """Whose API the wire belongs to."""
        return "anthropic" if self.wire == "anthropic" else "openai"

    def headers(self) -> list[Raw]:
        """What every answer says of it."""
        told = {"x-sash-frame": self.label}
        if self.fitted is not None:
            report, tokens = self.fitted.report, self.fitted.tokens
            told["x-sash-tokens"] = f"{'' if tokens.exact else '~'}{tokens.value}"
            told["x-sash-turns"] = f"{len(report.turns_in)}/{len(report.turns_in) + len(report.turns_out)}"
            if report.repairs:
                named = [f"{made.what}@{made.message}" for made in report.repairs[:MOST_REPAIRS]]
                more = len(report.repairs) - MOST_REPAIRS
                told["x-sash-repairs"] = ", ".join([*named, *([f"+{more}"] if more > 0 else [])])
            if (summary := self.fitted.fold.summary) is not None:
                told["x-sash-summary"] = f"{summary.first}-{summary.end - 1}"
        return [(name.encode(), value.encode("latin-1", "replace")) for name, value in told.items()]

    def report(self, context: int | None) -> Report | None:
        """What a provider's count says about our estimate; None where there is none."""
        if self.fitted is None:
            return None
        ledger = self.fitted.report.ledger
        fixed = ledger.row("system").used.value + ledger.row("tools").used.value
        messages = max(0, self.fitted.tokens.value - fixed)
        return Report(
            context=context,
            messages=round(messages / self.factor),
            fixed=round(fixed / self.factor),
            model=self.sketch.name,
        )

    @property
    def estimate(self) -> int:
        """What we took the request for, before any correction."""
        return 0 if self.fitted is None else round(self.fitted.tokens.value / self.factor)


def counted_as(tokens: int, wire: str) -> dict[str, Any]:
    """How the wire's provider says what a request takes."""
    named = {"object": "response.input_tokens"} if wire == "openai-responses" else {}
    return {**named, "input_tokens": tokens}


def untouched(body: bytes, wire: str, label: str, sketch: Sketch | None = None) -> Plan:
    """The request as it came."""
    return Plan(wire=wire, body=body, sketch=sketch or Sketch(), label=label)


def planned(
    body: bytes,
    wire: str,
    sketch: Sketch,
    setup: ProxySetup,
    lesson: Lesson = NOTHING,
    *,
    summaries: KeptSummaries | None = None,
) -> Plan:
    """The request fitted into its window: the very bytes that came, where nothing had to change."""
    field = wire_named(wire).MESSAGES
    if not getattr(sketch, field):
        raise InvalidMessage(f"a body of {wire!r} has a field {field!r}", field=field)
    try:
        fitted = fit(
            body,
            wire=wire,
            model=sketch.name,
            policy=lesson.policy(setup.policy),
            calibration=lesson.factor.value,
            # A window that was learned is a small server's, which ends an answer where its window ends.
            max_tokens=min(sketch.answer, lesson.window // 4) if lesson.window and sketch.answer else None,
            summaries=summaries,
        )
    except InvalidMessage as error:
        if error.wire:
            # Some clients send another wire's blocks to a gateway that takes them.
            return untouched(body, wire, "passed", sketch)
        raise
    out = fitted.body
    return Plan(
        wire=wire,
        body=out,
        sketch=sketch,
        label=str(fitted.report.frame.number),
        fitted=fitted,
        changed=out != body,
        factor=lesson.factor.value,
    )
